from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.audit import Actor
from accounts.models import AuditEntry, OAuthConnection, OAuthGrant, OAuthRefreshToken, Role, User
from accounts.scoping import account_scope
from accounts.services import change_role
from accounts.snippets import hints_for
from finops.lib import clock
from tests.accounts.oauth.flow import OAuthClient, Tokens, mcp_status
from tests.cast import Cast, signed_in

LIST = "/a/acme/settings/connected-apps/"
WEB = "https://assistant.example/callback"


def connect(user: User, *, name: str = "Test client", web: bool = False, access: str = "read") -> Tokens:
    options = {"redirect_uri": WEB} if web else {}
    return OAuthClient(**options, client_name=name).connect(user, access=access)


def only_connection(cast: Cast) -> OAuthConnection:
    with account_scope(cast.account):
        return OAuthConnection.objects.get()


def end_url(connection: OAuthConnection) -> str:
    return f"{LIST}{connection.pk}/disconnect/"


def page_for(user: User, **query: str) -> str:
    return signed_in(user).get(LIST, query).content.decode()


def test_an_app_is_listed_by_its_host_with_its_own_name_quoted(cast: Cast) -> None:
    connect(cast.member, name="Claude", web=True, access="read_write")

    page = page_for(cast.member)

    assert "assistant.example" in page
    assert "“Claude”" in page
    assert "Read/write" in page
    assert "Never" in page


def test_a_program_on_a_device_has_no_host_to_go_by(cast: Cast) -> None:
    connect(cast.member, name="Claude Code")

    assert "A program on a device" in page_for(cast.member)


def test_last_use_and_its_client_show(cast: Cast) -> None:
    tokens = connect(cast.member)

    assert mcp_status(tokens.access) == 200

    assert "just now" in page_for(cast.member)


def test_everybody_sees_his_own_and_an_admin_all(cast: Cast) -> None:
    for person in ("viewer", "member", "owner"):
        connect(cast.person(person), name=f"App of the {person}")

    clients_by_person = {
        person: [each for each in ("viewer", "member", "owner") if f"App of the {each}" in page]
        for person in ("viewer", "member", "admin", "owner")
        for page in [page_for(cast.person(person))]
    }

    everybody = ["viewer", "member", "owner"]
    assert clients_by_person == {
        "viewer": ["viewer"],
        "member": ["member"],
        "admin": everybody,
        "owner": everybody,
    }


def test_the_connections_to_another_account_are_not_there(cast: Cast) -> None:
    OAuthClient(client_name="Of elsewhere").connect(cast.both, "elsewhere")
    OAuthClient(client_name="Of Acme").connect(cast.both, "acme")

    here, there = (
        page_for(cast.both),
        signed_in(cast.both).get(LIST.replace("acme", "elsewhere")).content.decode(),
    )

    assert ("Of Acme" in here, "Of elsewhere" in here) == (True, False)
    assert ("Of Acme" in there, "Of elsewhere" in there) == (False, True)


def test_disconnecting_ends_access_and_refresh_at_once(cast: Cast) -> None:
    client = OAuthClient()
    tokens = client.connect(cast.viewer)
    assert mcp_status(tokens.access) == 200

    answer = signed_in(cast.viewer).post(end_url(only_connection(cast)), follow=True)

    assert "App disconnected." in answer.content.decode()
    assert mcp_status(tokens.access) == 401
    refusal = client.refresh(tokens.refresh)
    assert (refusal.status_code, b"invalid_grant" in refusal.content) == (400, True)


def test_an_unredeemed_code_ends_with_its_connection(cast: Cast) -> None:
    client = OAuthClient()
    code = client.code(cast.member)

    signed_in(cast.member).post(end_url(only_connection(cast)))

    assert client.exchange(code).status_code == 400


@pytest.mark.parametrize(
    ("who", "status"), [("viewer", 403), ("member", 403), ("admin", 302), ("owner", 302), ("stranger", 404)]
)
def test_only_an_admin_ends_what_another_person_connected(cast: Cast, who: str, status: int) -> None:
    tokens = connect(cast.both)

    assert signed_in(cast.person(who)).post(end_url(only_connection(cast))).status_code == status

    assert mcp_status(tokens.access) == (401 if status == 302 else 200)


def test_a_connection_of_another_account_is_not_found(cast: Cast) -> None:
    tokens = connect(cast.member)
    elsewhere = end_url(only_connection(cast)).replace("acme", "elsewhere")

    assert signed_in(cast.stranger).post(elsewhere).status_code == 404

    assert mcp_status(tokens.access) == 200


def test_connecting_and_disconnecting_are_in_the_audit_log(cast: Cast) -> None:
    connect(cast.member, name="Claude")
    signed_in(cast.admin).post(end_url(only_connection(cast)))

    with account_scope(cast.account):
        entries = AuditEntry.objects.filter(action__startswith="connected_app.").order_by("pk")
        actions = [(entry.action, entry.actor_label, entry.detail["of"]) for entry in entries]

    assert actions == [
        ("connected_app.connect", "member@example.com", "member@example.com"),
        ("connected_app.disconnect", "admin@example.com", "member@example.com"),
    ]


def test_an_app_that_never_fetched_its_token_is_not_finished(cast: Cast) -> None:
    OAuthClient().code(cast.member)

    assert "Not finished" in page_for(cast.member)


def test_an_app_that_was_not_used_for_30_days_has_expired(cast: Cast) -> None:
    connect(cast.member)
    long_ago = clock.now() - timedelta(days=31)
    OAuthRefreshToken.objects.update(created=long_ago)
    OAuthRefreshToken.objects.get().access_token.__class__.objects.update(expires=long_ago)

    page = page_for(cast.member)

    assert "Expired" in page
    assert OAuthGrant.objects.get().used_at is not None


def test_the_list_says_what_a_demoted_person_can_no_longer_give(cast: Cast) -> None:
    connect(cast.member, access="read_write")
    change_role(membership=cast.member.memberships.get(), role=Role.VIEWER, actor=Actor.of_user(cast.owner))

    assert "Read only: the role is now Viewer" in page_for(cast.owner)


def test_the_list_sorts_searches_and_exports(cast: Cast) -> None:
    for name in ("beta", "=cmd()", "Alpha"):
        connect(cast.member, name=name)
    client = signed_in(cast.owner)

    page = page_for(cast.owner, sort="name")
    listing_page = page_for(cast.owner, q="alp")
    exported = b"".join(client.get(LIST, {"sort": "name", "format": "csv"})).decode()

    assert page.index("“Alpha”") < page.index("“beta”")
    assert "“Alpha”" in listing_page
    assert "“beta”" not in listing_page
    assert [line.split(",")[1] for line in exported.splitlines()] == [
        "Unverified name",
        "'=cmd()",
        "Alpha",
        "beta",
    ]
    assert [line.split(",")[2] for line in exported.splitlines()] == ["Account", "Acme", "Acme", "Acme"]


def test_without_an_app_the_page_says_how_to_connect_one(cast: Cast) -> None:
    page = page_for(cast.viewer)

    assert "Connect your assistant" in page
    assert "http://127.0.0.1:8000/api/mcp" in page
    for hint in hints_for("http://127.0.0.1:8000/api/mcp"):
        assert hint.title in page


def test_the_page_of_keys_leads_to_connecting_without_one(cast: Cast) -> None:
    assert LIST in signed_in(cast.member).get("/a/acme/settings/mcp-keys/").content.decode()


def test_every_hint_holds_the_address_and_no_secret() -> None:
    for hint in hints_for("https://console.example/api/mcp"):
        assert "https://console.example/api/mcp" in hint.text
        assert "Bearer" not in hint.text
