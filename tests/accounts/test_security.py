"""People's sign-ins: the security log, audit logs, mails, sessions, second factors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core import mail
from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from accounts.keys import mint_mcp_key
from accounts.models import AuditEntry, MCPKey, Membership, SecurityEvent, Session, User
from accounts.scoping import account_scope
from accounts.security import mfa, services
from finops.lib import clock
from tests.accounts.oauth.flow import OAuthClient, json_of, mcp_status, tokens_of
from tests.cast import PASSWORD, Cast, reauthenticated, signed_in

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1"


@pytest.fixture(autouse=True)
def _limits_begin_anew() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def member(cast: Cast) -> User:
    EmailAddress.objects.create(user=cast.member, email=cast.member.email, verified=True, primary=True)
    return cast.member


def sign_in(
    email: str, password: str = PASSWORD, *, agent: str = FIREFOX, address: str = "192.0.2.7"
) -> Client:
    client = Client(headers={"user-agent": agent}, REMOTE_ADDR=address)
    client.post("/auth/login/", {"login": email, "password": password})
    return client


def audit_entries(cast: Cast, action: str) -> list[AuditEntry]:
    with account_scope(cast.account):
        return list(AuditEntry.objects.filter(action=action))


def kinds(user: User) -> list[str]:
    return list(SecurityEvent.objects.filter(user=user).order_by("id").values_list("kind", flat=True))


def test_a_sign_in_and_a_failure_are_in_both_logs_with_address_and_client(cast: Cast, member: User) -> None:
    sign_in(member.email, "wrong")
    client = sign_in(member.email.upper())

    assert kinds(member) == ["fail_sign_in", "sign_in"]
    (entry,) = audit_entries(cast, "user.sign_in")
    assert entry.actor_user == member
    assert entry.detail == {"address": "192.0.2.7", "client": "Firefox on Linux", "detail": "password"}
    (failure,) = audit_entries(cast, "user.fail_sign_in")
    assert (failure.actor_user, failure.actor_label, failure.target) == (None, "Not signed in", member.email)
    with account_scope(cast.other_account):
        assert not AuditEntry.objects.filter(action__startswith="user.").exists()
    page = client.get("/auth/security-log/").content.decode()
    assert "Sign-in failed" in page
    assert "192.0.2.7" in page
    assert "Firefox on Linux" in page


def test_a_person_of_two_accounts_is_in_both_audit_logs_and_a_stranger_sees_nothing_of_it(cast: Cast) -> None:
    sign_in(cast.both.email)

    for account in (cast.account, cast.other_account):
        with account_scope(account):
            assert AuditEntry.objects.filter(action="user.sign_in", target=cast.both.email).count() == 1
    assert cast.both.email not in signed_in(cast.stranger).get("/auth/security-log/").content.decode()


def test_a_failed_sign_in_costs_the_same_for_every_address_and_keeps_no_address(
    cast: Cast, member: User
) -> None:
    EmailAddress.objects.create(user=cast.both, email=cast.both.email, verified=True, primary=True)
    statements = {}
    for email in ("nobody@example.com", member.email, cast.both.email):
        with CaptureQueriesContext(connection) as queries:
            sign_in(email, "wrong")
        statements[email] = [each["sql"].split()[0] for each in queries]

    nobody, *statements_of_people = statements.values()
    assert nobody.count("INSERT") == 2
    assert statements_of_people == [nobody, nobody]
    event = SecurityEvent.objects.get(user=None)
    assert (event.kind, event.address, event.detail) == ("fail_sign_in", "192.0.2.7", "")
    assert "nobody@example.com" not in _dump("accounts_securityevent") + _dump("accounts_auditentry")


def test_a_sign_in_from_a_new_place_is_reported_by_mail_and_a_known_one_is_not(member: User) -> None:
    sign_in(member.email)
    sign_in(member.email)
    assert mail.outbox == []

    sign_in(member.email, agent=SAFARI, address="198.51.100.3")

    (email,) = mail.outbox
    assert (email.subject, email.to) == ("New sign-in", [member.email])
    assert "198.51.100.3" in email.body


@override_settings(EMAIL_BACKEND="tests.accounts.test_security.NoServer")
def test_an_unavailable_mail_server_prevents_no_sign_in(member: User) -> None:
    sign_in(member.email)

    assert sign_in(member.email, agent=SAFARI).get("/auth/sessions/").status_code == 200


class NoServer:
    def __init__(self, **_options: object) -> None: ...

    def send_messages(self, _messages: object) -> int:
        raise ConnectionRefusedError("no mail server")


def test_a_new_password_is_logged_mailed_and_ends_other_sessions(cast: Cast, member: User) -> None:
    elsewhere, client = sign_in(member.email, agent=SAFARI), sign_in(member.email)
    mail.outbox.clear()

    client.post(
        "/auth/password/change/",
        {"oldpassword": PASSWORD, "password1": "a wholly other horse", "password2": "a wholly other horse"},
    )

    assert kinds(member)[-2:] == ["change_password", "end_session"]
    assert [email.subject for email in mail.outbox] == ["Password changed"]
    assert audit_entries(cast, "user.change_password")
    assert elsewhere.get("/auth/sessions/").status_code == 302
    assert client.get("/auth/sessions/").status_code == 200
    assert Session.objects.filter(user=member).count() == 1


def test_an_address_change_needs_a_recent_password_and_is_logged_and_mailed(cast: Cast, member: User) -> None:
    client = sign_in(member.email)
    mail.outbox.clear()

    refusal = client.post("/auth/email/", {"action_add": "", "email": "mine@example.org"})
    assert refusal.status_code == 302
    assert refusal.headers["Location"].startswith("/auth/reauthenticate/")
    assert not EmailAddress.objects.filter(email="mine@example.org").exists()

    client.post(refusal.headers["Location"], {"password": PASSWORD})

    assert EmailAddress.objects.filter(user=member, email="mine@example.org").exists()
    assert "add_email" in kinds(member)
    (entry,) = audit_entries(cast, "user.add_email")
    assert entry.detail["detail"] == "mine@example.org"
    response = next(email for email in mail.outbox if email.subject == "Email address added")
    assert response.to == [member.email]
    assert "mine@example.org" in response.body


def test_a_second_factor_is_sealed_logged_mailed_and_works(
    cast: Cast, member: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = reauthenticated(sign_in(member.email), member)
    mail.outbox.clear()
    client.get("/auth/2fa/totp/activate/")
    secret = client.session["mfa.totp.secret"]
    assert secret not in _dump("accounts_session")

    monkeypatch.setattr(
        transaction, "on_commit", lambda effect: effect()
    )  # within the request, as a commit is
    client.post("/auth/2fa/totp/activate/", {"code": totp_code(secret)})

    row = Authenticator.objects.get(user=member, type="totp")
    assert secret not in str(row.data)
    assert {"add_second_factor", "generate_recovery_codes"} <= set(kinds(member))
    assert audit_entries(cast, "user.add_second_factor")
    assert "Authenticator app added" in [email.subject for email in mail.outbox]
    cache.clear()
    challenged = Client()
    answer = challenged.post("/auth/login/", {"login": member.email, "password": PASSWORD})
    assert answer.headers["Location"].startswith("/auth/2fa/authenticate/")
    challenged.post("/auth/2fa/authenticate/", {"code": "000000"})
    assert kinds(member)[-1] == "fail_second_factor"
    challenged.post("/auth/2fa/authenticate/", {"code": totp_code(secret)})
    assert SecurityEvent.objects.filter(user=member, detail="password, totp").exists()


def totp_code(secret: str) -> str:
    from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value

    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))


def _dump(table: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT string_agg(t::text, ' ') FROM {table} t")
        return str(cursor.fetchone()[0])


def test_factors_of_an_earlier_key_are_sealed_again_and_still_work(member: User) -> None:
    secret = generate_totp_secret()
    with override_settings(SECRET_KEY="an earlier one"):
        TOTP.activate(member, secret)
        codes = RecoveryCodes.activate(member).get_unused_codes()
    Authenticator.objects.create(user=member, type="webauthn", data={"name": "key"})

    with override_settings(SECRET_KEY_FALLBACKS=["an earlier one"]):
        assert mfa.seal_under_the_current_key() == 2
        assert mfa.seal_under_the_current_key() == 0

    rows = {row.type: row for row in Authenticator.objects.filter(user=member)}
    assert TOTP(rows["totp"]).validate_code(totp_code(secret))
    assert RecoveryCodes(rows["recovery_codes"]).get_unused_codes() == codes
    assert mfa.seal_secrets({"secret": "PLAIN", "used_mask": 3})["used_mask"] == 3


def test_the_database_holds_no_key_and_no_content_of_a_session(member: User) -> None:
    client = signed_in(member)
    stored = client.session
    stored["mark"] = "what-a-session-holds"
    stored.save()

    dump = _dump("accounts_session")

    assert str(stored.session_key) not in dump
    assert "what-a-session-holds" not in dump
    assert client.session["mark"] == "what-a-session-holds"
    copied = Client()
    copied.cookies["finops_session"] = Session.objects.get(user=member).session_key
    assert copied.get("/auth/sessions/").status_code == 302, "what is stored opens nothing"


def test_sessions_are_listed_and_ended_at_once(cast: Cast, member: User) -> None:
    phone, client = sign_in(member.email, agent=SAFARI, address="198.51.100.3"), sign_in(member.email)
    foreign = sign_in(cast.viewer.email)
    page = client.get("/auth/sessions/").content.decode()
    assert "Safari on iPhone" in page
    assert "198.51.100.3" in page
    assert "This browser" in page

    foreign_session = Session.objects.get(user=cast.viewer).session_key
    client.post("/auth/sessions/end/", {"key": foreign_session})
    assert foreign.get("/auth/sessions/").status_code == 200, "another person's is not hers to end"
    client.post("/auth/sessions/end/", {"key": Session.objects.get(user=member, address="198.51.100.3").pk})

    assert phone.get("/auth/sessions/").status_code == 302
    assert kinds(member)[-1] == "end_session"
    (entry,) = audit_entries(cast, "user.end_session")
    assert entry.detail["detail"] == "Safari on iPhone, 198.51.100.3"
    third = sign_in(member.email)
    client.post("/auth/sessions/end/")
    assert third.get("/auth/sessions/").status_code == 302
    assert client.get("/auth/sessions/").status_code == 200


def test_last_use_is_recorded_every_five_minutes_and_the_expired_go(member: User) -> None:
    client = signed_in(member)
    row = Session.objects.get(user=member)
    Session.objects.update(last_seen_at=clock.now() - timedelta(minutes=6))
    client.get("/auth/sessions/", REMOTE_ADDR="203.0.113.9")

    after = Session.objects.get(user=member)

    assert after.last_seen_at >= row.last_seen_at
    assert after.address == "203.0.113.9"
    assert after.created_at == row.created_at
    Session.objects.update(expire_date=clock.now() - timedelta(seconds=1))
    SecurityEvent.objects.create(user=member, kind="sign_in", at=clock.now() - timedelta(days=401))
    assert client.get("/auth/sessions/").status_code == 302
    assert services.sweep() >= 2
    assert not SecurityEvent.objects.exists()


def require_second_factor(cast: Cast) -> None:
    TOTP.activate(cast.owner, generate_totp_secret())
    page = signed_in(cast.owner).post("/a/acme/settings/security/", {"second_factor_required": "on"})
    assert page.status_code == 302


def test_an_account_that_requires_a_second_factor_shows_members_without_one_where_to_set_it_up(
    cast: Cast,
) -> None:
    require_second_factor(cast)
    client = signed_in(cast.member)

    for url in ("/a/acme/", "/a/acme/settings/mcp-keys/", "/a/acme/settings/mcp-keys/new/"):
        answer = client.get(url)
        assert answer.status_code == 403
        assert "/auth/2fa/" in answer.content.decode()
        assert client.post(url).status_code == 403
    assert signed_in(cast.stranger).get("/a/acme/").status_code == 404
    assert signed_in(cast.both).get("/a/elsewhere/").status_code == 200, "the other account demands none"
    RecoveryCodes.activate(cast.member)
    assert client.get("/a/acme/").status_code == 403, "recovery codes alone are no second factor"
    TOTP.activate(cast.member, generate_totp_secret())
    assert client.get("/a/acme/").status_code == 200


def test_an_admin_without_a_second_factor_cannot_require_one_and_a_viewer_never_can(cast: Cast) -> None:
    form = {"second_factor_required": "on"}

    refusal = signed_in(cast.admin).post("/a/acme/settings/security/", form)

    assert refusal.status_code == 422
    assert "Set up your own second factor first, or you would lock yourself out." in refusal.content.decode()
    assert signed_in(cast.member).post("/a/acme/settings/security/", form).status_code == 403
    cast.account.refresh_from_db()
    assert not cast.account.second_factor_required


def test_connections_of_a_member_require_her_second_factor_and_keys_of_the_account_do_not(cast: Cast) -> None:
    client = OAuthClient()
    tokens = client.connect(cast.member)
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="k")
    require_second_factor(cast)

    assert mcp_status(tokens.access) == 401
    refusal = client.refresh(tokens.refresh)
    assert (refusal.status_code, json_of(refusal)["error"]) == (400, "invalid_grant")
    assert mcp_status(plaintext) == 200
    page = client.consent(cast.member)
    assert page.status_code == 422
    assert "requires two-factor sign-in" in page.content.decode()
    TOTP.activate(cast.member, generate_totp_secret())
    assert mcp_status(tokens.access) == 200
    assert mcp_status(tokens_of(client.refresh(tokens.refresh)).access) == 200


def test_a_refreshed_token_says_what_it_may_do_now(cast: Cast) -> None:
    client = OAuthClient()
    first = client.connect(cast.member, access="read_write")
    assert first.scope == "mcp:read mcp:write"
    Membership.objects.filter(user=cast.member).update(role="viewer")

    second = tokens_of(client.refresh(first.refresh))
    again = tokens_of(client.refresh(first.refresh))
    narrowed_tokens = tokens_of(client.refresh(second.refresh, scope="mcp:read mcp:write"))

    assert (second.scope, again.scope, narrowed_tokens.scope) == ("mcp:read",) * 3
    Membership.objects.filter(user=cast.member).update(role="member")
    assert tokens_of(client.refresh(narrowed_tokens.refresh)).scope == "mcp:read mcp:write"


def test_a_key_that_may_write_asks_for_the_password_and_then_is_made_once(cast: Cast, member: User) -> None:
    client = signed_in(member)
    page = client.get("/a/acme/settings/mcp-keys/new/").content.decode()
    token = page.split('name="form_token" value="')[1].split('"')[0]
    form = {"name": "Writer", "scope": "read_write", "form_token": token}

    sent_off = client.post("/a/acme/settings/mcp-keys/new/", form)
    assert sent_off.headers["Location"].startswith("/auth/reauthenticate/")
    assert not MCPKey.objects.unscoped().exists()
    response = client.post(sent_off.headers["Location"], {"password": PASSWORD})

    assert "fmcp_" in response.content.decode()
    assert MCPKey.objects.unscoped().get().scope == "read_write"
    member.refresh_from_db()
    read = {**form, "scope": "read", "form_token": "another"}
    assert signed_in(member).post("/a/acme/settings/mcp-keys/new/", read).status_code == 200


def test_a_password_that_is_hashed_again_at_a_reauthentication_keeps_the_session(cast: Cast) -> None:
    User.objects.filter(pk=cast.member.pk).update(
        password=PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=3)
    )
    browser = signed_in(User.objects.get(pk=cast.member.pk))

    assert (
        browser.post("/auth/reauthenticate/?next=/auth/sessions/", {"password": "wrong"}).status_code == 200
    )
    answer = browser.post("/auth/reauthenticate/?next=/auth/sessions/", {"password": PASSWORD}, follow=True)

    assert "$3$" not in User.objects.get(pk=cast.member.pk).password
    assert answer.redirect_chain == [("/auth/sessions/", 302)]
