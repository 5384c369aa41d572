"""Settings → Cost access: limits, their filters and preview, and who has them."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.keys import digest_of, mint_mcp_key
from accounts.models import (
    Account,
    AuditEntry,
    Invitation,
    Membership,
    OAuthApplication,
    OAuthConnection,
    User,
)
from accounts.oauth.services import open_connection
from accounts.scoping import account_scope
from accounts.services.invitations import accept_invitation, withdraw_invitation
from finops.cost_access.limit_filters import alternatives_from, params_of
from finops.cost_access.models import CostAccessAssignment, CostAccessLimit
from finops.cost_access.services import create_limit, limit_member
from finops.costs.spend_query import CostFilter
from tests.accounts.oauth.flow import OAuthClient
from tests.cast import Cast, signed_in
from tests.examples import examples
from tests.factories.costs import add_source, cost
from tests.factories.days import days
from tests.pages import get_page, text_of

RANGE = (date(2026, 2, 18), date(2026, 3, 19))

PAGE = "/a/acme/settings/cost-access/"


@pytest.fixture
def bill(acme: Account) -> Account:
    lines = []
    for day in days(*RANGE):
        lines += [cost(day, 3, service="EC2", tags={"team": "core"}), cost(day, 1, service="S3")]
    add_source(acme, lines, name="AWS")
    return acme


@pytest.fixture
def admin(cast: Cast) -> Client:
    return signed_in(cast.admin)


def filters(**more: Any) -> dict[str, Any]:
    return {"f0": "service", "f0op": "in", "f0v": ["EC2"], **more}


def limit_of(cast: Cast) -> CostAccessLimit:
    return create_limit(
        account=cast.account,
        actor=cast.actor,
        name="Core",
        alternatives=[[CostFilter(dimension="service", values=["EC2"])]],
    )


def membership(cast: Cast, user: User) -> Membership:
    return Membership.objects.get(account=cast.account, user=user)


def test_an_admin_creates_a_limit_of_alternatives(bill: Account, admin: Client) -> None:
    fields = filters(name="Core", f20="tag:team", f20op="in", f20v=["core"], f21="service", f21v=["S3"])
    text = text_of(admin.post(f"{PAGE}new/", fields, follow=True))
    assert "Core created." in text
    (limit,) = CostAccessLimit.objects.unscoped()
    assert [[(each["dimension"], each["values"]) for each in group] for group in limit.alternatives] == [
        [("service", ["EC2"])],
        [("tag:team", ["core"]), ("service", ["S3"])],
    ]
    assert AuditEntry.objects.get(action="cost_access_limit.create").target == "Core"
    text = get_page(admin, PAGE)
    assert "Service is EC2 or tag:team is core and Service is S3 0" in text


def test_the_preview_says_how_much_of_the_cost_is_visible(bill: Account, admin: Client) -> None:
    assert "Would see 75% of last 30 days' cost: $90.00 of $120.00" in get_page(
        admin, f"{PAGE}preview/", **filters()
    ).replace("\N{NO-BREAK SPACE}", " ")
    assert "100%" in get_page(admin, f"{PAGE}preview/", **filters(f20="service", f20v="S3"))
    assert "No team key is set" in get_page(admin, f"{PAGE}preview/", f0="team", f0v="Nobody")
    assert "Add a filter" in get_page(admin, f"{PAGE}preview/")


def test_the_form_says_what_is_wrong_and_keeps_the_filters(bill: Account, admin: Client) -> None:
    limitless = admin.post(f"{PAGE}new/", {"name": "Core"})
    assert "Add a filter." in text_of(limitless, status=422)
    unknown = admin.post(f"{PAGE}new/", filters(name="Core", f1="tag:nokey", f1v="x"))
    text = text_of(unknown, status=422)
    assert "No cost has" in text
    assert "EC2" in text
    assert not CostAccessLimit.objects.unscoped().exists()


def test_htmx_gets_the_filters_of_the_draft_alone(bill: Account, cast: Cast, admin: Client) -> None:
    limit = limit_of(cast)
    draft = {"draft": "1", "f0": "service", "f0v": "S3"}
    answer = admin.get(f"{PAGE}{limit.pk}/", draft, headers={"hx-request": "true"})
    assert "filter-change" in answer.headers["HX-Trigger-After-Swap"]
    assert "S3" in text_of(answer)
    assert "EC2" not in text_of(answer)
    assert "EC2" in get_page(admin, f"{PAGE}{limit.pk}/")
    # Without its last filter a draft has none, and does not show the stored ones again.
    assert "EC2" not in get_page(admin, f"{PAGE}{limit.pk}/", draft="1")


def test_an_admin_changes_and_deletes_a_limit(bill: Account, cast: Cast, admin: Client) -> None:
    limit = limit_of(cast)
    assert "Other saved." in text_of(
        admin.post(f"{PAGE}{limit.pk}/", filters(name="Other", f0v=["S3"]), follow=True)
    )
    limit_member(membership=membership(cast, cast.viewer), limit=limit, actor=cast.actor)
    text = text_of(admin.post(f"{PAGE}{limit.pk}/delete/", follow=True))
    assert "1 reader has this limit. Give them another one first." in text
    limit_member(membership=membership(cast, cast.viewer), limit=None, actor=cast.actor)
    assert "Other deleted." in text_of(admin.post(f"{PAGE}{limit.pk}/delete/", follow=True))
    assert not CostAccessLimit.objects.unscoped().exists()


def test_an_admin_limits_a_member_and_a_key_and_lifts_the_limit(
    bill: Account, cast: Cast, admin: Client
) -> None:
    limit = limit_of(cast)
    key, _ = mint_mcp_key(account=cast.account, actor=cast.actor, name="CI")
    row = membership(cast, cast.viewer)
    for url, name in (
        (f"{PAGE}members/{row.pk}/", cast.viewer.label),
        (f"{PAGE}keys/{key.pk}/", "CI"),
    ):
        assert f"{name}: limited to Core." in text_of(admin.post(url, {"limit": limit.pk}, follow=True))
    assert "Cost access: Core" in get_page(admin, "/a/acme/settings/members/")
    listing = get_page(admin, f"{PAGE}readers/", access="limited")
    assert "CI" in listing
    assert cast.viewer.email in listing
    assert cast.member.email not in listing
    assert f"{cast.viewer.label}: all cost." in text_of(
        admin.post(f"{PAGE}members/{row.pk}/", {"limit": ""}, follow=True)
    )
    assert "Cost access: Core" in get_page(admin, "/a/acme/settings/mcp-keys/")
    assert [each.key_id for each in CostAccessAssignment.objects.unscoped()] == [key.pk]


def test_an_admin_cannot_be_limited_and_a_limit_must_be_of_the_account(
    bill: Account, cast: Cast, admin: Client
) -> None:
    limit = limit_of(cast)
    own = membership(cast, cast.admin)
    text = text_of(admin.post(f"{PAGE}members/{own.pk}/", {"limit": limit.pk}, follow=True))
    assert "Admins and owners see all cost." in text
    with account_scope(cast.other_account):
        other = CostAccessLimit.objects.create(
            account=cast.other_account, name="Theirs", alternatives=limit.alternatives
        )
    row = membership(cast, cast.viewer)
    for choice in (other.pk, "x", "9" * 30):
        text = text_of(admin.post(f"{PAGE}members/{row.pk}/", {"limit": choice}, follow=True))
        assert "Choose a limit from the list." in text
    assert not CostAccessAssignment.objects.unscoped().exists()


def test_the_form_leads_back_to_pages_of_the_account_alone(bill: Account, cast: Cast, admin: Client) -> None:
    row = membership(cast, cast.viewer)
    for target, expected in (
        ("/a/acme/settings/members/?q=v", "/a/acme/settings/members/?q=v"),
        ("https://evil.example/a/acme/", f"{PAGE}readers/"),
        ("//evil.example", f"{PAGE}readers/"),
        ("/a/other/", f"{PAGE}readers/"),
    ):
        answer = admin.post(f"{PAGE}members/{row.pk}/", {"limit": "", "next": target})
        assert answer.headers["Location"] == expected


@pytest.mark.parametrize("who", ["member", "viewer"])
def test_other_members_see_no_limits(bill: Account, cast: Cast, who: str) -> None:
    limit = limit_of(cast)
    client = signed_in(cast.person(who))
    for page in ("", "new/", "preview/", f"{limit.pk}/", "readers/"):
        assert client.get(f"{PAGE}{page}").status_code == 403
    row = membership(cast, cast.person(who))
    assert client.post(f"{PAGE}members/{row.pk}/", {"limit": ""}).status_code == 403


names = st.sampled_from(["service", "tag:team", "team", "account", "nothing", "tag:\0", ""])
ops = st.sampled_from(["in", "not_in", "contains", "absent", "like", ""])
texts = st.text(max_size=8) | st.sampled_from(["EC2", "\0", "é"])
numbers = st.integers(0, 999)
params = st.dictionaries(
    st.builds(lambda number, end: f"f{number}{end}", numbers, st.sampled_from(["", "op", "v"])),
    st.lists(names | ops | texts, max_size=3),
    max_size=8,
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60), deadline=None
)
@given(params=params, name=texts)
def test_any_form_is_answered(bill: Account, admin: Client, params: dict[str, Any], name: str) -> None:
    assert admin.post(f"{PAGE}new/", {**params, "name": name}).status_code in (302, 400, 422)
    assert admin.get(f"{PAGE}new/", {**params, "draft": "1"}).status_code in (200, 400)
    assert admin.get(f"{PAGE}preview/", params).status_code == 200


alternatives = st.lists(
    st.lists(
        st.builds(
            CostFilter,
            dimension=st.sampled_from(["service", "team"]),
            values=st.lists(st.text(min_size=1), min_size=1),
        ),
        min_size=1,
        max_size=20,
    ),
    max_size=20,
)


@given(alternatives=alternatives)
def test_a_url_says_the_same_filters_again(alternatives: list[list[CostFilter]]) -> None:
    assert alternatives_from(params_of(alternatives)) == alternatives


def test_a_limit_at_the_invitation_is_the_new_members(bill: Account, cast: Cast, admin: Client) -> None:
    limit = limit_of(cast)
    members = "/a/acme/settings/members/"
    fields = {"email": cast.stranger.email, "role": "admin", "limit": limit.pk}
    assert "Choose another role" in text_of(admin.post(f"{members}invite/", fields), status=422)
    admin.post(f"{members}invite/", {**fields, "role": "viewer"})
    assert "Core" in get_page(admin, members)
    with account_scope(cast.account):
        invitation = Invitation.objects.get()
        Invitation.objects.update(digest=digest_of("token"))
    assert AuditEntry.objects.get(action="cost_access.limit_invitation").target == invitation.email
    EmailAddress.objects.get_or_create(user=cast.stranger, email=cast.stranger.email, verified=True)
    row = accept_invitation(token="token", user=cast.stranger)
    (assigned,) = CostAccessAssignment.objects.unscoped()
    assert (assigned.membership_id, assigned.limit_id) == (row.pk, limit.pk)


def test_an_invitation_sent_again_without_a_limit_has_none(bill: Account, cast: Cast, admin: Client) -> None:
    limit = limit_of(cast)
    for choice, count in ((limit.pk, 1), ("", 0), (limit.pk, 1)):
        invite = {"email": "new@example.com", "role": "member", "limit": choice}
        admin.post("/a/acme/settings/members/invite/", invite)
        assert CostAccessAssignment.objects.unscoped().count() == count
    with account_scope(cast.account):
        withdraw_invitation(invitation=Invitation.objects.get(), actor=cast.actor)
    assert "Core deleted." in text_of(admin.post(f"{PAGE}{limit.pk}/delete/", follow=True))


def test_a_key_is_minted_with_a_limit(bill: Account, cast: Cast) -> None:
    limit = limit_of(cast)
    member = signed_in(cast.member)
    form = "/a/acme/settings/mcp-keys/new/"
    assert "What cost the key sees." in get_page(member, form)
    fields = {"name": "CI", "scope": "read", "form_token": "t", "limit": limit.pk}
    text_of(member.post(form, fields))
    (assigned,) = CostAccessAssignment.objects.unscoped().select_related("key")
    assert (assigned.key.name if assigned.key else "", assigned.limit_id) == ("CI", limit.pk)
    assert "Core" in get_page(member, "/a/acme/settings/mcp-keys/")
    assert "Select a valid choice" in text_of(member.post(form, {**fields, "limit": "999999"}), status=422)


def test_a_person_limits_her_own_app_and_cannot_lift_it(bill: Account, cast: Cast, admin: Client) -> None:
    limit = limit_of(cast)
    application = OAuthApplication.objects.create(
        client_id="c", client_type="public", authorization_grant_type="authorization-code"
    )
    row = open_connection(
        user=cast.member, account=cast.account, application=application, access="read", redirect_uri=""
    )
    apps, url = "/a/acme/settings/connected-apps/", f"{PAGE}apps/{row.pk}/"
    member, choice = signed_in(cast.member), {"limit": limit.pk}
    assert signed_in(cast.viewer).post(url, choice).status_code == 403
    assert "Core" in get_page(member, apps)
    assert member.post(url, choice).status_code == 302
    assert member.post(url, {"limit": ""}).status_code == 403
    assert "Core" in get_page(member, apps)
    assert admin.post(url, {"limit": ""}).status_code == 302
    assert not CostAccessAssignment.objects.unscoped().exists()


def test_a_person_limits_an_app_as_she_connects_it(bill: Account, cast: Cast) -> None:
    limit = limit_of(cast)
    client = OAuthClient()
    page = text_of(signed_in(cast.member).get(client.authorize_url()))
    assert "Cost access All cost that you see Core" in page
    client.code(cast.member, access="read_write", post={"limit": str(limit.pk)})
    (assigned,) = CostAccessAssignment.objects.unscoped()
    assert assigned.connection is not None
    assert (assigned.connection.user_id, assigned.limit_id) == (cast.member.pk, limit.pk)
    assert AuditEntry.objects.get(action="cost_access.limit_connection").actor_user == cast.member


def test_a_limit_at_the_consent_page_is_of_the_account_chosen(bill: Account, cast: Cast) -> None:
    limit = limit_of(cast)
    with account_scope(cast.other_account):
        other = CostAccessLimit.objects.create(
            account=cast.other_account, name="Theirs", alternatives=limit.alternatives
        )
    client = OAuthClient()
    assert "Theirs" not in text_of(signed_in(cast.member).get(client.authorize_url()))
    for person, choice, problem in (
        (cast.member, other.pk, "Select a valid choice"),
        (cast.both, other.pk, "Choose a limit of Acme, or all cost."),
        (cast.both, 10**30, "Select a valid choice"),
    ):
        assert problem in text_of(client.consent(person, post={"limit": str(choice)}), status=422)
    assert not OAuthConnection.objects.unscoped().exists()
    client.code(cast.both, account="elsewhere", post={"limit": str(other.pk)})
    assert [each.limit_id for each in CostAccessAssignment.objects.unscoped()] == [other.pk]


def test_a_limited_person_is_offered_no_limit_at_the_consent_page_and_her_app_gets_hers(
    bill: Account, cast: Cast
) -> None:
    limit = limit_of(cast)
    other = create_limit(
        account=cast.account,
        actor=cast.actor,
        name="Other",
        alternatives=[[CostFilter(dimension="service", values=["S3"])]],
    )
    limit_member(membership=membership(cast, cast.member), limit=limit, actor=cast.actor)
    client = OAuthClient()
    assert "Core" not in text_of(signed_in(cast.member).get(client.authorize_url()))
    client.code(cast.member, post={"limit": str(other.pk)})
    rows = CostAccessAssignment.objects.unscoped().filter(connection__user=cast.member)
    assert [row.limit_id for row in rows] == [limit.pk]
