from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from django.core import serializers
from django.test import Client

from accounts.credentials import authenticate_bearer
from accounts.keys import mint_mcp_key
from accounts.models import MCPKey, Session
from accounts.scoping import account_scope
from accounts.services import remove_member
from accounts.snippets import snippets_for
from finops.lib import clock
from tests.cast import Cast, reauthenticated, signed_in

LIST = "/a/acme/settings/mcp-keys/"
NEW = "/a/acme/settings/mcp-keys/new/"
KEY = re.compile(r"fmcp_[0-9A-Za-z]{48}")


def form_of(client: Client, **fields: str) -> dict[str, str]:
    page = client.get(NEW).content.decode()
    match = re.search(r'name="form_token" value="([^"]+)"', page)
    assert match
    return {"name": "Cursor", "scope": "read", "form_token": match.group(1), **fields}


def keys_of(cast: Cast) -> list[MCPKey]:
    with account_scope(cast.account):
        return list(MCPKey.objects.all())


def test_a_member_mints_a_key_that_works_and_is_shown_once(cast: Cast) -> None:
    client = reauthenticated(signed_in(cast.member), cast.member)

    answer = client.post(NEW, form_of(client, name="Cursor on Ana's laptop", scope="read_write"))

    shown = set(KEY.findall(answer.content.decode()))
    assert len(shown) == 1
    assert "no-store" in answer.headers["Cache-Control"]
    credential = authenticate_bearer(shown.pop())
    assert credential is not None
    assert credential.account == cast.account
    assert credential.may_write
    assert not KEY.search(client.get(LIST).content.decode())


def test_a_new_key_reads_only_unless_requested_otherwise(cast: Cast) -> None:
    page = signed_in(cast.member).get(NEW).content.decode()

    assert re.search(r'value="read"\s+id="id_scope_0"\s+checked', page)


def test_the_plaintext_stays_in_no_session_and_no_row(cast: Cast) -> None:
    client = signed_in(cast.member)

    answer = client.post(NEW, form_of(client))

    secret = KEY.search(answer.content.decode())
    assert secret
    sessions = " ".join(str(session.get_decoded()) for session in Session.objects.all())
    rows = serializers.serialize("json", MCPKey.objects.unscoped())
    assert secret.group() not in sessions + rows + str(answer.headers) + str(answer.cookies)


def test_sending_the_form_again_makes_no_second_key(cast: Cast) -> None:
    client = signed_in(cast.member)
    form = form_of(client)

    client.post(NEW, form)
    again = client.post(NEW, form, follow=True)

    assert len(keys_of(cast)) == 1
    assert not KEY.search(again.content.decode())
    assert "a key is shown only once" in again.content.decode()


def test_a_form_that_was_refused_can_be_mended_and_sent_again(cast: Cast) -> None:
    client = signed_in(cast.member)
    form = form_of(client, name="")

    refusal = client.post(NEW, form)
    answer = client.post(NEW, {**form, "name": "Cursor"})

    assert refusal.status_code == 422
    assert "Enter a name." in refusal.content.decode()
    assert KEY.search(answer.content.decode())


def test_the_last_day_of_a_key_is_inside(cast: Cast) -> None:
    client = signed_in(cast.member)
    today = clock.today()

    client.post(NEW, form_of(client, expires_on=today.isoformat()))

    (key,) = keys_of(cast)
    assert key.expires_at is not None
    assert key.expires_at.date() == today + timedelta(days=1)
    assert key.state == "active"


@pytest.mark.parametrize(
    "fields", [{"expires_on": date(2020, 1, 1).isoformat()}, {"scope": "admin"}, {"name": "x" * 101}]
)
def test_a_form_with_a_bad_field_makes_no_key(cast: Cast, fields: dict[str, str]) -> None:
    client = signed_in(cast.member)

    assert client.post(NEW, form_of(client, **fields)).status_code == 422

    assert keys_of(cast) == []


def test_a_viewer_sees_the_list_without_buttons_and_may_not_post(cast: Cast) -> None:
    key, _secret = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    client = signed_in(cast.viewer)

    page = client.get(LIST).content.decode()

    assert "Claude" in page
    assert "New key" not in page
    assert "Revoke" not in page
    assert client.get(NEW).status_code == 403
    assert client.post(NEW, {"name": "x", "scope": "read", "form_token": "t"}).status_code == 403
    assert client.post(f"{LIST}{key.pk}/revoke/").status_code == 403
    assert [each.state for each in keys_of(cast)] == ["active"]


def test_the_list_says_who_when_and_with_what(cast: Cast) -> None:
    _key, secret = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    client = signed_in(cast.viewer)

    before = client.get(LIST).content.decode()
    authenticate_bearer(secret, client="claude-code/2.1")
    after = client.get(LIST).content.decode()

    assert "Never" in before
    assert cast.member.email in before
    assert "Never" not in after
    assert "claude-code/2.1" in after
    assert secret not in before + after


def test_the_list_marks_a_key_whose_maker_left(cast: Cast) -> None:
    mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    client = signed_in(cast.owner)
    before = client.get(LIST).content.decode()

    remove_member(membership=cast.member.memberships.get(), actor=cast.actor)

    assert "No longer a member" not in before
    assert "No longer a member" in client.get(LIST).content.decode()


def test_revoking_ends_the_key(cast: Cast) -> None:
    key, secret = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    client = signed_in(cast.member)

    page = client.post(f"{LIST}{key.pk}/revoke/", follow=True).content.decode()

    assert "Key Claude revoked." in page
    assert authenticate_bearer(secret) is None


def test_the_list_sorts_searches_and_exports(cast: Cast) -> None:
    for name in ("beta", "Alpha", "=cmd()"):
        mint_mcp_key(account=cast.account, actor=cast.actor, name=name)
    client = signed_in(cast.viewer)

    page = client.get(LIST, {"sort": "name"}).content.decode()
    listing_page = client.get(LIST, {"q": "alp"}).content.decode()
    exported = b"".join(client.get(LIST, {"sort": "name", "format": "csv"})).decode()

    assert page.index("Alpha") < page.index("beta")
    assert "Alpha" in listing_page
    assert "beta" not in listing_page
    assert [line.split(",")[0] for line in exported.splitlines()] == ["Name", "'=cmd()", "Alpha", "beta"]


def test_every_snippet_holds_the_address_and_the_key() -> None:
    snippets = snippets_for("https://console.example/api/mcp", "fmcp_x")

    assert [snippet.title for snippet in snippets] == ["Claude Code", "Cursor", "VS Code", "curl"]
    for snippet in snippets:
        assert "https://console.example/api/mcp" in snippet.text
        assert "Authorization" in snippet.text
        assert "Bearer fmcp_x" in snippet.text
