from __future__ import annotations

import re
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.core import serializers
from django.test import Client

from accounts.models import OAuthApplication, ServiceAccount, Session
from accounts.oauth.client_keys import ClientKeys
from accounts.oauth.service_accounts import create_service_account
from accounts.scoping import account_scope
from accounts.services import remove_member
from finops.lib import clock
from tests.accounts.oauth.flow import OAuthClient, json_of, mcp_status, token_request
from tests.cast import ACTOR, Cast, reauthenticated, signed_in

LIST = "/a/acme/settings/service-accounts/"
NEW = f"{LIST}new/"
APPS = "/a/acme/settings/connected-apps/"
SECRET = re.compile(r"fsas_[0-9A-Za-z]{48}")


def admin_of(cast: Cast) -> Client:
    return reauthenticated(signed_in(cast.admin), cast.admin)


def form_of(client: Client, **fields: str) -> dict[str, str]:
    match = re.search(r'name="form_token" value="([^"]+)"', client.get(NEW).content.decode())
    assert match
    return {"name": "CI agent", "scope": "read", "form_token": match.group(1), **fields}


def rows_of(cast: Cast) -> list[ServiceAccount]:
    with account_scope(cast.account):
        return list(ServiceAccount.objects.select_related("connection__application"))


def create(cast: Cast, name: str = "CI agent") -> ServiceAccount:
    return create_service_account(account=cast.account, actor=cast.actor, name=name)[0]


def token_with(row: ServiceAccount, secret: str) -> str:
    client_id = row.connection.application.client_id
    form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
    token: str = json_of(token_request(form))["access_token"]
    return token


def secret_on(page: str) -> str:
    shown = set(SECRET.findall(page))
    assert len(shown) == 1
    return str(shown.pop())


def test_an_admin_creates_one_whose_secret_works_and_is_shown_once(cast: Cast) -> None:
    client = admin_of(cast)

    answer = client.post(NEW, form_of(client, scope="read_write"))

    (row,) = rows_of(cast)
    page = answer.content.decode()
    assert "no-store" in answer.headers["Cache-Control"]
    assert row.connection.application.client_id in page
    assert row.connection.access == "read_write"
    assert mcp_status(token_with(row, secret_on(page))) == 200
    listing = client.get(LIST).content.decode()
    assert row.connection.application.client_id in listing
    assert not SECRET.search(listing)


def test_the_secret_stays_in_no_session_and_no_row(cast: Cast) -> None:
    client = admin_of(cast)

    secret = secret_on(client.post(NEW, form_of(client)).content.decode())

    sessions = " ".join(str(session.get_decoded()) for session in Session.objects.all())
    rows = serializers.serialize("json", OAuthApplication.objects.all())
    assert secret not in sessions + rows


def test_access_to_write_is_given_after_a_recent_sign_in(cast: Cast) -> None:
    client = signed_in(cast.admin)

    answer = client.post(NEW, form_of(client, scope="read_write"))

    assert answer.status_code == 302
    assert "/reauthenticate/" in answer["Location"]
    assert rows_of(cast) == []


def test_sending_the_form_again_creates_no_second_one(cast: Cast) -> None:
    client = admin_of(cast)
    form = form_of(client)

    client.post(NEW, form)
    again = client.post(NEW, {**form, "name": "Other"}, follow=True)

    assert len(rows_of(cast)) == 1
    assert "a secret is shown only once" in again.content.decode()


def test_a_taken_name_is_said_at_its_field_and_the_form_can_be_sent_again(cast: Cast) -> None:
    create(cast)
    client = admin_of(cast)
    form = form_of(client, name="ci agent")

    refusal = client.post(NEW, form)

    assert refusal.status_code == 422
    assert "Another service account has this name." in refusal.content.decode()
    secret_on(client.post(NEW, {**form, "name": "Other"}).content.decode())


def test_rotating_shows_another_secret(cast: Cast) -> None:
    client = admin_of(cast)
    before = secret_on(client.post(NEW, form_of(client)).content.decode())
    (row,) = rows_of(cast)

    after = secret_on(client.post(f"{LIST}{row.pk}/rotate/").content.decode())

    assert after != before
    assert mcp_status(token_with(row, after)) == 200
    assert "secret replaced" in client.get(LIST).content.decode()


def test_rotating_asks_for_a_recent_sign_in(cast: Cast) -> None:
    row = create(cast)

    answer = signed_in(cast.admin).post(f"{LIST}{row.pk}/rotate/")

    assert answer.status_code == 302
    assert rows_of(cast)[0].rotated_at is None


def test_deleting_takes_it_off_the_list(cast: Cast) -> None:
    row = create(cast)
    client = admin_of(cast)

    page = client.post(f"{LIST}{row.pk}/delete/", follow=True).content.decode()

    assert "Service account CI agent deleted." in page
    assert rows_of(cast) == []


@pytest.mark.parametrize("name", ["viewer", "member"])
def test_the_other_roles_see_the_list_and_change_nothing(cast: Cast, name: str) -> None:
    row = create(cast)
    client = signed_in(cast.person(name))

    page = client.get(LIST).content.decode()

    assert "CI agent" in page
    assert "Rotate secret" not in page
    assert NEW not in page
    assert client.get(NEW).status_code == 403
    assert [
        client.post(f"{LIST}{path}").status_code
        for path in ("new/", f"{row.pk}/rotate/", f"{row.pk}/delete/")
    ] == [403, 403, 403]
    assert rows_of(cast)[0].rotated_at is None


def test_a_stranger_finds_nothing(cast: Cast) -> None:
    row = create(cast)
    client = reauthenticated(signed_in(cast.stranger), cast.stranger)

    assert [client.get(LIST).status_code, client.get(NEW).status_code] == [404, 404]
    for slug in ("acme", "elsewhere"):
        base = f"/a/{slug}/settings/service-accounts/{row.pk}"
        assert [client.post(f"{base}/{verb}/").status_code for verb in ("rotate", "delete")] == [404, 404]
    assert len(rows_of(cast)) == 1


def test_connected_apps_lists_it_for_admins_with_a_link_to_manage_it(cast: Cast) -> None:
    create(cast, "Nightly check")
    OAuthClient(client_name="Claude").connect(cast.member)

    page = signed_in(cast.admin).get(APPS).content.decode()

    assert "Nightly check" in page
    assert f'href="{LIST}"' in page
    assert 'aria-label="Manage Nightly check"' in page
    assert "Nightly check" not in signed_in(cast.member).get(APPS).content.decode()


def test_a_service_account_whose_creator_left_says_so(cast: Cast) -> None:
    create(cast)
    remove_member(membership=cast.member.memberships.get(account=cast.account), actor=ACTOR)

    assert "No longer a member" in signed_in(cast.viewer).get(LIST).content.decode()


def test_an_expired_one_says_so(cast: Cast) -> None:
    row = create(cast)
    ServiceAccount.objects.unscoped().filter(pk=row.pk).update(expires_at=clock.now() - timedelta(minutes=1))

    assert "Expired" in signed_in(cast.viewer).get(LIST).content.decode()
    assert "Create a new service account." in signed_in(cast.admin).get(APPS).content.decode()


def public_key() -> str:
    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_bytes(serialization.Encoding.PEM, form).decode()


def test_an_admin_creates_one_with_a_public_key_and_no_secret_is_shown(cast: Cast) -> None:
    client = admin_of(cast)

    page = client.post(NEW, form_of(client, key=public_key())).content.decode()

    (row,) = rows_of(cast)
    assert row.has_keys
    assert row.connection.application.client_id in page
    assert "PrivateKeyJWTOAuthProvider" in page
    assert not SECRET.search(page)
    listing = client.get(LIST).content.decode()
    assert 'aria-label="Replace the key of CI agent"' in listing
    assert "Rotate secret" not in listing


def test_a_private_key_is_refused_at_its_field(cast: Cast) -> None:
    client = admin_of(cast)

    page = client.post(NEW, form_of(client, key="-----BEGIN PRIVATE KEY-----"))

    assert page.status_code == 422
    assert "It is a private key, which must stay with your program." in page.content.decode()
    assert rows_of(cast) == []


def test_a_key_takes_the_place_of_the_secret_and_of_another_key(cast: Cast) -> None:
    row = create(cast)
    client = admin_of(cast)
    assert (
        "The client secret and its tokens stop working immediately."
        in client.get(f"{LIST}{row.pk}/key/").content.decode()
    )

    answers = [client.post(f"{LIST}{row.pk}/key/", {"key": public_key()}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    thumbprint = ClientKeys(jwks=rows_of(cast)[0].public_keys, url="").label
    assert thumbprint in client.get(f"{LIST}{row.pk}/key/").content.decode()
    assert "key replaced" in client.get(LIST).content.decode()
    refusal = client.post(f"{LIST}{row.pk}/key/", {"key": "nonsense"})
    assert (refusal.status_code, "The key cannot be read." in refusal.content.decode()) == (422, True)
    assert client.post(f"{LIST}{row.pk}/key/", {"key": ""}).status_code == 422


def test_a_key_is_an_admins_after_a_recent_sign_in(cast: Cast) -> None:
    row = create(cast)

    answer = signed_in(cast.admin).post(f"{LIST}{row.pk}/key/", {"key": public_key()})

    assert (answer.status_code, "/reauthenticate/" in answer["Location"]) == (302, True)
    for name, status in (("member", 403), ("viewer", 403), ("stranger", 404)):
        client = signed_in(cast.person(name))
        assert client.get(f"{LIST}{row.pk}/key/").status_code == status
        assert client.post(f"{LIST}{row.pk}/key/", {"key": public_key()}).status_code == status
    assert not rows_of(cast)[0].has_keys
