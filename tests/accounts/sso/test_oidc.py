"""Sign-in by OpenID Connect, with a real provider."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import AuditEntry, Membership, Role, SecurityEvent, User
from accounts.scoping import account_scope
from accounts.sso.models import GroupMapping, Identity, IdentityProvider
from accounts.sso.oidc import redirect_uri
from tests.accounts.sso.browser import Browser
from tests.accounts.sso.providers import Server, add_oidc
from tests.cast import PASSWORD, Cast, reauthenticated, signed_in

NEW: dict[str, Any] = {"sub": "7", "email": "new@acme.test", "email_verified": True, "name": "New Person"}


def role_of(cast: Cast, user: User) -> str:
    return Membership.objects.get(account=cast.account, user=user).role


def test_a_new_person_becomes_a_member_with_the_default_role(cast: Cast, oidc: Server) -> None:
    provider = add_oidc(cast.account, oidc, "acme.test", default_role=Role.MEMBER)
    oidc.set_next_sign_in(NEW)
    browser = Browser()

    answer = browser.sign_in(email="new@ACME.test")

    assert (answer.status_code, answer["Location"]) == (302, "/a/acme/")
    user = User.objects.get(email="new@acme.test")
    assert (user.name, user.has_usable_password(), role_of(cast, user)) == ("New Person", False, "member")
    assert browser.console.get("/a/acme/").status_code == 200
    assert Identity.objects.get(provider=provider, subject="7").user == user
    assert SecurityEvent.objects.get(user=user, kind="sign_in").detail == "single sign-on Acme OIDC"
    with account_scope(cast.account):
        actions = set(AuditEntry.objects.filter(target=user.email).values_list("action", flat=True))
    assert actions == {"member.add", "user.sign_in"}


def test_a_member_is_linked_by_her_address_and_known_by_her_subject_from_then_on(
    cast: Cast, oidc: Server
) -> None:
    add_oidc(cast.account, oidc, "example.com")
    before = User.objects.count()
    for email in ("viewer@example.com", "renamed@example.com"):
        oidc.set_next_sign_in({"sub": "viewer", "email": email, "email_verified": True})

        answer = Browser().sign_in(email="viewer@example.com")

        assert answer.status_code == 302
    assert Identity.objects.get().user == cast.viewer
    assert (User.objects.count(), role_of(cast, cast.viewer)) == (before, "viewer")


def test_a_password_from_before_an_address_was_verified_opens_nothing(cast: Cast, oidc: Server) -> None:
    """Anybody can sign up with her address and wait."""
    add_oidc(cast.account, oidc, "example.com")
    oidc.set_next_sign_in({"sub": "viewer", "email": "viewer@example.com", "email_verified": True})

    Browser().sign_in(email="viewer@example.com")

    assert not Client().login(email="viewer@example.com", password=PASSWORD)


def test_groups_are_applied_at_each_sign_in(cast: Cast, oidc: Server) -> None:
    add_oidc(cast.account, oidc, "acme.test")
    with account_scope(cast.account):
        GroupMapping.objects.create(account=cast.account, group="finops", role=Role.ADMIN)
    roles = []
    for groups in (["finops", "all"], []):
        oidc.set_next_sign_in({**NEW, "groups": groups})
        Browser().sign_in(email=NEW["email"])
        roles.append(role_of(cast, User.objects.get(email=NEW["email"])))

    assert roles == ["admin", "viewer"]


def test_without_automatic_membership_the_first_sign_in_of_a_stranger_is_refused(
    cast: Cast, oidc: Server
) -> None:
    add_oidc(cast.account, oidc, "acme.test", creates_people=False)
    oidc.set_next_sign_in(NEW)

    answer = Browser().sign_in(email=NEW["email"])

    assert answer.status_code == 403
    assert "invitation" in answer.content.decode()
    assert not User.objects.filter(email=NEW["email"]).exists()


@pytest.mark.parametrize(
    ("person", "text"),
    [
        ({"email": "boss@other.test"}, "other.test is not a verified domain"),
        ({"email": "stranger@example.com"}, "example.com is not a verified domain"),
        ({"email_verified": False}, "has not verified"),
        ({"email": None}, "sent no email"),
        ({"email": "new@acme.test@evil.test"}, "not a verified domain"),
    ],
)
def test_an_address_that_the_provider_does_not_vouch_for_is_refused(
    cast: Cast, oidc: Server, person: dict[str, Any], text: str
) -> None:
    add_oidc(cast.account, oidc, "acme.test")
    oidc.set_next_sign_in({**NEW, **person})
    before = User.objects.count()

    answer = Browser().sign_in(email=NEW["email"])

    assert answer.status_code == 403
    assert text in answer.content.decode()
    assert (User.objects.count(), Identity.objects.count()) == (before, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"claims": {"iss": "https://evil.test"}},
        {"claims": {"aud": "another-client"}},
        {"claims": {"aud": ["console", "another-client"], "azp": "another-client"}},
        {"claims": {"exp": 1_600_000_000}},
        {"claims": {"nonce": "of another sign-in"}},
        {"claims": {"sub": "another"}},
        {"unsigned": True},
        {"hmac": True},
        {"strangeKey": True},
        {"payload": True, "claims": {"groups": ["finops"]}},
    ],
    ids=str,
)
def test_an_id_token_that_fails_a_check_signs_no_person_in(
    cast: Cast, oidc: Server, wrong: dict[str, Any]
) -> None:
    add_oidc(cast.account, oidc, "acme.test")
    oidc.set_next_sign_in(NEW, **wrong)
    browser = Browser()

    answer = browser.sign_in(email=NEW["email"])

    assert answer.status_code == 403, answer.content.decode()
    assert not User.objects.filter(email=NEW["email"]).exists()
    assert browser.console.get("/a/acme/").status_code == 302


def test_an_answer_counts_once_and_in_the_browser_that_asked(cast: Cast, oidc: Server) -> None:
    add_oidc(cast.account, oidc, "acme.test")
    oidc.set_next_sign_in(NEW)
    browser = Browser()
    back = browser.at_provider(browser.start(email=NEW["email"]))
    assert isinstance(back, str)

    stolen = Client().get(back)
    first, again = browser.console.get(back), browser.console.get(back)
    invented = browser.console.get("/auth/sso/callback/?state=invented&code=x")

    codes = [each.status_code for each in (stolen, first, again, invented)]
    assert codes == [403, 302, 403, 403]


def test_an_answer_of_another_issuer_is_refused(cast: Cast, oidc: Server) -> None:
    add_oidc(cast.account, oidc, "acme.test")
    oidc.set_next_sign_in(NEW)
    browser = Browser()
    back = browser.at_provider(browser.start(email=NEW["email"]))
    assert isinstance(back, str)

    answer = browser.console.get(f"{back}&iss=https://evil.test")

    assert answer.status_code == 403


class CodeCollector(BaseHTTPRequestHandler):
    """A provider of an attacker: its discovery document, and a token endpoint that keeps what is sent there."""

    codes: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        issuer = f"http://{self.headers['host']}"
        document = {"issuer": issuer, "jwks_uri": f"{issuer}/keys", "token_endpoint": f"{issuer}/token"}
        self._answer({**document, "authorization_endpoint": f"{issuer}/auth"})

    def do_POST(self) -> None:
        self.codes.append(self.rfile.read(int(self.headers["content-length"])).decode())
        self._answer({})

    def _answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def attacker() -> Iterator[Server]:
    with ThreadingHTTPServer(("127.0.0.1", 0), CodeCollector) as server:
        CodeCollector.codes.clear()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Server(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


def test_a_code_of_a_provider_is_sent_to_no_other_providers_token_endpoint(
    cast: Cast, oidc: Server, attacker: Server
) -> None:
    """RFC 9700, 4.4: the victim begins at the attacker's provider, whose authorization endpoint leads on to hers. The attacker
    would redeem the code in a sign-in of his own, since he chose its nonce and code_challenge."""
    other_provider = add_oidc(cast.account, oidc, "example.com")
    his = add_oidc(cast.other_account, attacker, "evil.test", name="Evil")
    oidc.set_next_sign_in({"sub": "viewer", "email": "viewer@example.com", "email_verified": True})
    mallory, victim = Browser(), Browser()
    begun = mallory.start(other_provider)
    state = parse_qs(urlsplit(victim.start(his)).query)["state"][0]
    query = parse_qs(urlsplit(begun).query) | {"state": [state]}

    back = victim.at_provider(f"{begun.partition('?')[0]}?{urlencode(query, doseq=True)}")
    assert isinstance(back, str)
    fields = parse_qs(urlsplit(back).query)
    # Most providers do not name themselves in the answer (RFC 9207).
    answer = victim.console.get(urlsplit(back).path, {"state": state, "code": fields["code"][0]})

    assert (answer.status_code, CodeCollector.codes) == (403, [])
    assert "from another identity provider" in answer.content.decode()


def test_a_provider_of_before_keeps_the_redirect_uri_that_all_shared_until_its_admin_switches(
    cast: Cast, oidc: Server
) -> None:
    provider = add_oidc(cast.account, oidc, "example.com", has_own_redirect_uri=False)
    oidc.set_next_sign_in({"sub": "viewer", "email": "viewer@example.com", "email_verified": True})
    admin = reauthenticated(signed_in(cast.admin), cast.admin)
    page = f"/a/acme/settings/sign-on/{provider.pk}/"
    form = {"name": "Acme", "issuer": oidc.url, "client_id": "console", "default_role": "viewer"}
    own = f"http://127.0.0.1:8000/auth/sso/callback/{provider.public_id}/"

    offered = admin.get(f"{page}edit/").content.decode()
    shared = Browser().sign_in(email="viewer@example.com")
    admin.post(f"{page}edit/", {**form, "has_own_redirect_uri": "on"})
    browser = Browser()
    begun = browser.start(email="viewer@example.com")

    assert f"Add {own} at the provider first" in offered
    assert shared.status_code == 302
    assert parse_qs(urlsplit(begun).query)["redirect_uri"] == [own]
    assert browser.come_back(browser.at_provider(begun)).status_code == 302
    assert own in admin.get(page).content.decode()
    assert "has_own_redirect_uri" not in admin.get(f"{page}edit/").content.decode()


def test_the_form_shows_the_redirect_uri_that_the_new_provider_has(cast: Cast, oidc: Server) -> None:
    admin = reauthenticated(signed_in(cast.admin), cast.admin)
    page = "/a/acme/settings/sign-on/new/oidc/"
    form = {"name": "Acme", "issuer": oidc.url, "client_id": "console", "default_role": "viewer"}
    page_context = admin.get(page).context

    admin.post(page, {**form, "draft_id": page_context["form"].draft_id})
    admin.post(page, {**form, "name": "Invented", "draft_id": str(uuid4())})

    first, invented = IdentityProvider.objects.order_by("pk")
    assert page_context["redirect_uri"] == redirect_uri(first)
    assert invented.public_id != first.public_id


def test_a_provider_reaches_no_account_but_its_own(cast: Cast, oidc: Server) -> None:
    add_oidc(cast.other_account, oidc, "acme.test")
    oidc.set_next_sign_in(NEW)
    browser = Browser()

    browser.sign_in(email=NEW["email"])

    assert browser.console.get("/a/elsewhere/").status_code == 200
    assert browser.console.get("/a/acme/").status_code == 404


def test_a_person_who_moved_to_another_address_is_not_reached_by_the_former_provider(
    cast: Cast, oidc: Server
) -> None:
    provider = add_oidc(cast.account, oidc, "acme.test")
    Identity.objects.create(provider=provider, subject="7", user=cast.both)
    oidc.set_next_sign_in(NEW)

    answer = Browser().sign_in(email=NEW["email"])

    assert answer.status_code == 403
    assert "both@example.com" in answer.content.decode()


def test_an_operator_does_not_come_by_the_provider_of_an_account(cast: Cast, oidc: Server) -> None:
    add_oidc(cast.account, oidc, "example.com")
    User.objects.filter(pk=cast.admin.pk).update(is_staff=True)
    oidc.set_next_sign_in({"sub": "a", "email": "admin@example.com", "email_verified": True})

    answer = Browser().sign_in(email="admin@example.com")

    assert answer.status_code == 403
    assert "Operators" in answer.content.decode()


def test_a_provider_of_the_whole_service_signs_in_whom_no_domain_binds(cast: Cast, oidc: Server) -> None:
    provider = add_oidc(None, oidc, name="Company")
    oidc.set_next_sign_in({"sub": "m", "email": "member@example.com", "email_verified": True})
    browser = Browser()
    page = browser.console.get("/auth/sso/").content.decode()

    answer = browser.sign_in(provider)

    assert "Continue with Company" in page
    assert answer.status_code == 302
    assert browser.console.get("/a/acme/").status_code == 200


def test_a_provider_of_the_whole_service_without_domains_must_say_that_the_address_is_verified(
    cast: Cast, oidc: Server
) -> None:
    provider = add_oidc(None, oidc, name="Company")
    oidc.set_next_sign_in({"sub": "m", "email": "member@example.com"})

    assert Browser().sign_in(provider).status_code == 403


def test_a_provider_that_is_away_is_said_so(cast: Cast, oidc: Server) -> None:
    provider = add_oidc(cast.account, oidc, "acme.test")
    IdentityProvider.objects.filter(pk=provider.pk).update(issuer="http://127.0.0.1:9")

    answer = Client().post("/auth/sso/", {"email": "new@acme.test"})

    assert answer.status_code == 422
    assert "not allowed" in answer.content.decode()


def test_an_address_in_a_private_network_is_refused(cast: Cast, oidc: Server, settings: Any) -> None:
    add_oidc(cast.account, oidc, "acme.test")
    settings.ALERT_ALLOWED_NETWORKS = []

    answer = Client().post("/auth/sso/", {"email": "new@acme.test"})

    assert "private or reserved network" in answer.content.decode()


def test_next_leads_to_this_console_alone(cast: Cast, oidc: Server) -> None:
    add_oidc(cast.account, oidc, "example.com")
    oidc.set_next_sign_in({"sub": "v", "email": "viewer@example.com", "email_verified": True})

    inside = Browser().sign_in(email="viewer@example.com", next="/a/acme/budgets/")
    outside = Browser().sign_in(email="viewer@example.com", next="https://evil.test/")

    assert [inside["Location"], outside["Location"]] == ["/a/acme/budgets/", "/a/acme/"]


def test_a_signed_in_person_who_comes_back_as_another_is_that_person_alone(cast: Cast, oidc: Server) -> None:
    add_oidc(cast.account, oidc, "acme.test")
    oidc.set_next_sign_in(NEW)
    client = signed_in(cast.stranger)

    Browser(client).sign_in(email=NEW["email"])

    assert client.get("/a/acme/").status_code == 200
    assert client.get("/a/elsewhere/").status_code == 404
