"""An account's requirements for sessions and second factors: age, idle time, days to set one up."""

from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.test import Client

from accounts.audit import Actor
from accounts.models import Account, AuditEntry, Membership, Session, User
from accounts.scoping import account_scope
from accounts.security.policy import session_factors
from accounts.security.services import change_security_policy
from finops.lib import clock
from tests.accounts.oauth.flow import OAuthClient, json_of, mcp_status
from tests.cast import PASSWORD, Cast, signed_in
from tests.pages import csv_rows, text_of

ACME, ELSEWHERE = "/a/acme/", "/a/elsewhere/"


def set_policy(cast: Cast, **policy: int | bool | None) -> None:
    values = {"second_factor_required": False, **policy}
    change_security_policy(account=cast.account, actor=Actor.of_user(cast.owner), **values)  # type: ignore[arg-type]


def require_second_factor(cast: Cast, *, grace_days: int = 0) -> None:
    TOTP.activate(cast.owner, generate_totp_secret())
    set_policy(cast, second_factor_required=True, second_factor_grace_days=grace_days)


def age_sessions(user: User, **age: float) -> None:
    Session.objects.filter(user=user).update(created_at=clock.now() - timedelta(**age))


def idle_for(user: User, **idle: float) -> None:
    Session.objects.filter(user=user).update(last_seen_at=clock.now() - timedelta(**idle))


def test_a_session_older_than_the_account_allows_signs_in_again_for_its_pages_alone(cast: Cast) -> None:
    set_policy(cast, session_max_hours=8)
    client = signed_in(cast.both)
    age_sessions(cast.both, hours=7, minutes=59)
    assert client.get(ACME).status_code == 200
    age_sessions(cast.both, hours=8, minutes=1)

    refusal = client.get("/a/acme/budgets/?q=x")

    assert refusal.status_code == 403
    assert "Sessions end 8 hours after sign-in." in text_of(refusal, status=403)
    assert client.post("/a/acme/settings/account/", {"name": "x"}).status_code == 403
    assert client.get(ELSEWHERE).status_code == 200, "the other account has no limit"


def test_the_page_of_an_old_session_leads_through_sign_in_back_to_where_she_was(cast: Cast) -> None:
    set_policy(cast, session_max_hours=1)
    client = signed_in(cast.member)
    age_sessions(cast.member, hours=2)
    page = client.get("/a/acme/budgets/?q=x").content.decode()
    next_url = page.split('name="next" value="')[1].split('"')[0].replace("&amp;", "&")

    signed_out = client.post("/auth/logout/", {"next": next_url})

    assert signed_out.headers["Location"] == next_url
    back = client.post(next_url, {"login": cast.member.email, "password": PASSWORD})
    assert back.headers["Location"] == "/a/acme/budgets/?q=x"
    assert client.get(back.headers["Location"]).status_code == 200


def test_an_idle_session_stays_ended_for_the_account_after_other_pages_were_opened(cast: Cast) -> None:
    set_policy(cast, session_idle_minutes=30)
    client = signed_in(cast.both)
    idle_for(cast.both, minutes=29)
    assert client.get(ACME).status_code == 200
    idle_for(cast.both, minutes=32)

    assert client.get(ELSEWHERE).status_code == 200
    assert client.get("/auth/profile/").status_code == 200

    refusal = client.get(ACME)
    assert refusal.status_code == 403
    assert "Sessions end after 30 minutes without use." in text_of(refusal, status=403)
    assert client.get(ACME).status_code == 403, "a reload is no sign-in"
    session = client.session
    session["mark"] = 1
    session.save()
    assert client.get(ACME).status_code == 403, "nor is a session that is stored anew"
    client.post("/auth/logout/")
    client.force_login(cast.both)
    assert client.get(ACME).status_code == 200


def test_a_session_too_old_for_the_account_connects_no_client_to_it(cast: Cast) -> None:
    set_policy(cast, session_max_hours=1)
    browser = signed_in(cast.member)
    age_sessions(cast.member, hours=2)
    client = OAuthClient()

    page = client.consent(cast.member, browser=browser)

    assert page.status_code == 422
    assert "Sessions end 1 hour after sign-in. Sign out, then connect again." in text_of(page, status=422)


def test_members_have_the_grace_period_and_see_its_end(cast: Cast) -> None:
    client, apps = signed_in(cast.member), OAuthClient()
    tokens = apps.connect(cast.member)
    require_second_factor(cast, grace_days=7)

    page = client.get(ACME)
    assert page.status_code == 200
    assert "Acme requires two-factor authentication. Set it up before" in text_of(page)
    assert "requires two-factor" not in text_of(signed_in(cast.owner).get(ACME))
    assert mcp_status(tokens.access) == 200
    assert apps.refresh(tokens.refresh).status_code == 200

    _move_requirement(cast, days=8)

    assert client.get(ACME).status_code == 403
    assert mcp_status(tokens.access) == 401
    assert json_of(apps.refresh(tokens.refresh))["error"] == "invalid_grant"
    TOTP.activate(cast.member, generate_totp_secret())
    assert "requires two-factor" not in text_of(client.get(ACME))


def _move_requirement(cast: Cast, *, days: int) -> None:
    """As if it had been made so long ago, and everybody had been there."""
    before = clock.now() - timedelta(days=days)
    Account.objects.filter(pk=cast.account.pk).update(second_factor_required_at=before)
    Membership.objects.filter(account=cast.account).update(created_at=before)


def test_a_later_member_has_the_grace_period_from_that_day_on(cast: Cast) -> None:
    require_second_factor(cast, grace_days=3)
    _move_requirement(cast, days=100)
    assert signed_in(cast.viewer).get(ACME).status_code == 403

    Membership.objects.filter(user=cast.viewer).update(created_at=clock.now() - timedelta(days=2))

    assert signed_in(cast.viewer).get(ACME).status_code == 200


@pytest.fixture
def signed_in_elsewhere() -> object:
    """An identity provider's sign-in, as the app of single sign-on adds it: here, a mark in the session."""

    def accepts(request: HttpRequest, account: Account) -> bool:
        return request.session.get("provider_of") == account.slug

    session_factors.add("test", accepts)
    yield
    session_factors._entries.pop("test")


@pytest.mark.usefixtures("signed_in_elsewhere")
def test_a_session_that_the_account_takes_for_a_second_factor_opens_its_pages_and_connects_clients(
    cast: Cast,
) -> None:
    require_second_factor(cast)
    browser = signed_in(cast.member)
    assert browser.get(ACME).status_code == 403
    session = browser.session
    session["provider_of"] = "acme"
    session.save()

    assert browser.get(ACME).status_code == 200
    tokens = OAuthClient().connect(cast.member, browser=browser)
    assert mcp_status(tokens.access) == 200
    assert signed_in(cast.member).get(ACME).status_code == 403, "another session has no such sign-in"


def test_the_security_page_sets_every_limit_and_the_audit_log_has_it(cast: Cast) -> None:
    TOTP.activate(cast.admin, generate_totp_secret())
    client = signed_in(cast.admin)
    form = {
        "second_factor_required": "on",
        "second_factor_grace_days": "14",
        "session_max_hours": "12",
        "session_idle_minutes": "30",
    }

    assert client.post("/a/acme/settings/security/", form).status_code == 302

    cast.account.refresh_from_db()
    account = cast.account
    assert (account.session_max_hours, account.session_idle_minutes) == (12, 30)
    assert (account.second_factor_required, account.second_factor_grace_days) == (True, 14)
    with account_scope(account):
        entry = AuditEntry.objects.filter(action="account.change").latest("pk")
    assert entry.detail["from"]["session_max_hours"] is None
    assert entry.detail["to"]["session_max_hours"] == 12
    page = text_of(client.get("/a/acme/settings/security/"))
    assert "member@example.com (Member) Due" in page
    for wrong in ({"session_max_hours": "5"}, {"second_factor_grace_days": "91"}):
        assert client.post("/a/acme/settings/security/", form | wrong).status_code == 422
    assert signed_in(cast.member).post("/a/acme/settings/security/", form).status_code == 403


def test_the_database_refuses_limits_that_no_session_could_meet(cast: Cast) -> None:
    for wrong in ({"session_max_hours": 0}, {"session_idle_minutes": 4}, {"second_factor_grace_days": 91}):
        with pytest.raises(ValidationError):
            set_policy(cast, **wrong)


def test_admins_see_on_the_members_page_who_has_no_second_factor(cast: Cast) -> None:
    TOTP.activate(cast.owner, generate_totp_secret())
    admin, viewer = signed_in(cast.admin), signed_in(cast.viewer)

    page = text_of(admin.get("/a/acme/settings/members/?factor=on"))

    assert "owner@example.com" in page
    assert "viewer@example.com" not in page
    assert "Two-factor" in csv_rows(admin.get("/a/acme/settings/members/?format=csv"))[0]
    assert "Any two-factor status" not in text_of(viewer.get("/a/acme/settings/members/"))
    assert "Two-factor" not in csv_rows(viewer.get("/a/acme/settings/members/?format=csv"))[0]


def test_an_operators_visit_has_its_own_hour(cast: Cast) -> None:
    """Covered by its visit; the limits of the account are for members."""
    set_policy(cast, session_max_hours=1)
    User.objects.filter(pk=cast.stranger.pk).update(is_staff=True, is_superuser=True)
    client: Client = signed_in(User.objects.get(pk=cast.stranger.pk))
    session = client.session
    session["operator_visits"] = {str(cast.account.pk): (clock.now() + timedelta(minutes=5)).isoformat()}
    session.save()
    age_sessions(cast.stranger, hours=2)

    assert client.get(ACME).status_code == 200
