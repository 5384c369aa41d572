"""The limit of an identity provider is that of the members it adds, by sign-in and by SCIM."""

from __future__ import annotations

import pytest

from accounts.models import AuditEntry, Membership, Role, User
from accounts.scoping import account_scope
from accounts.services.members import remove_member
from accounts.sso.claims import Claims
from accounts.sso.services import save_provider
from accounts.sso.sign_in import person_of
from finops.alerts.models import AlertChannel, AlertRecipient
from finops.alerts.recipients import recipients
from finops.cost_access.models import CostAccessAssignment, CostAccessLimit, FormerMemberLimit
from finops.cost_access.queries import limit_of_membership
from finops.cost_access.services import create_limit, delete_limit, limit_member
from finops.costs.spend_query import CostFilter
from finops.lib import clock
from finops.lib.errors import UserError
from tests.accounts.sso.scim.client import Scim, create_scim
from tests.accounts.sso.test_groups import add_mapping
from tests.cast import ACTOR, Cast, reauthenticated, signed_in
from tests.pages import get_page

SIGN_ON = "/a/acme/settings/sign-on/"


@pytest.fixture
def limit(cast: Cast) -> CostAccessLimit:
    alternatives = [[CostFilter(dimension="service", values=["EC2"])]]
    return create_limit(account=cast.account, actor=ACTOR, name="Core", alternatives=alternatives)


@pytest.fixture
def scim(cast: Cast, limit: CostAccessLimit) -> Scim:
    """Acme's provider, whose new members have the limit."""
    scim = create_scim(cast.account)
    save_provider(provider=scim.provider, actor=ACTOR, limit=str(limit.pk))
    return scim


def limit_of(cast: Cast, email: str) -> str:
    row = Membership.objects.select_related("account").get(account=cast.account, user__email=email)
    limit = limit_of_membership(row)
    return limit.name if limit else ""


def test_people_who_first_sign_in_are_limited_and_earlier_members_are_not(cast: Cast, scim: Scim) -> None:
    for email in ("ann@example.com", cast.member.email):
        person_of(provider=scim.provider, claims=Claims(email, email, True, "Ann", groups=[]))

    assert (limit_of(cast, "ann@example.com"), limit_of(cast, cast.member.email)) == ("Core", "")
    with account_scope(cast.account):
        entry = AuditEntry.objects.get(action="cost_access.limit_member")
    assert (entry.target, entry.detail["provider"]) == ("ann@example.com", scim.provider.name)


def test_members_added_by_scim_are_limited_also_after_they_return(cast: Cast, scim: Scim) -> None:
    ann = scim.create_user("ann")
    limits = [limit_of(cast, "ann@example.com")]
    for active in (False, True):
        scim.patch(f"Users/{ann['id']}", {"op": "replace", "path": "active", "value": active})
    limits.append(limit_of(cast, "ann@example.com"))

    assert limits == ["Core", "Core"]


def test_an_admin_by_group_sees_all_and_is_limited_after_losing_the_role(cast: Cast, scim: Scim) -> None:
    add_mapping(cast, "FinOps", role=Role.ADMIN)
    group = scim.create_group("FinOps", scim.create_user("ann")["id"])
    limits = [limit_of(cast, "ann@example.com")]
    assert scim.ask("DELETE", f"Groups/{group['id']}").status_code == 204
    limits.append(limit_of(cast, "ann@example.com"))

    assert limits == ["", "Core"]


def test_an_admin_chooses_it_in_the_providers_form(cast: Cast, limit: CostAccessLimit) -> None:
    scim = create_scim(cast.account)
    admin = reauthenticated(signed_in(cast.admin), cast.admin)
    page = f"{SIGN_ON}{scim.provider.pk}/edit/"
    fields = {"name": "Okta", "issuer": "https://idp.example.com", "client_id": "console"}
    with account_scope(cast.other_account):
        other = CostAccessLimit.objects.create(
            account=cast.other_account, name="Theirs", alternatives=limit.alternatives
        )
    for choice, status in ((limit.pk, 302), (other.pk, 422), ("x", 422)):
        answer = admin.post(page, {**fields, "default_role": "viewer", "limit": choice})
        assert answer.status_code == status, answer.content
    assert f'value="{limit.pk}" selected' in admin.get(page).content.decode()
    assert "Default role Viewer Cost access: Core" in get_page(admin, f"{SIGN_ON}{scim.provider.pk}/")
    with pytest.raises(UserError, match="1 reader has this limit"):
        delete_limit(limit=limit, actor=ACTOR)
    admin.post(page, {**fields, "default_role": "viewer", "limit": ""})
    assert not CostAccessAssignment.objects.unscoped().exists()


def deactivate_and_reactivate(scim: Scim, ann: dict[str, str]) -> None:
    for active in (False, True):
        scim.patch(f"Users/{ann['id']}", {"op": "replace", "path": "active", "value": active})


def set_limit(cast: Cast, email: str, limit: CostAccessLimit | None) -> None:
    membership = Membership.objects.select_related("account").get(account=cast.account, user__email=email)
    limit_member(membership=membership, limit=limit, actor=ACTOR)


def test_a_returning_member_has_the_former_limit_with_or_without_one_of_the_provider(
    cast: Cast, limit: CostAccessLimit
) -> None:
    """Else a limited member whom the provider takes out and puts back sees all cost."""
    scim, limits = create_scim(cast.account), []
    ann = scim.create_user("ann")
    set_limit(cast, "ann@example.com", limit)
    deactivate_and_reactivate(scim, ann)
    limits.append(limit_of(cast, "ann@example.com"))
    filters = [[CostFilter(dimension="service", values=["S3"])]]
    wide = create_limit(account=cast.account, actor=ACTOR, name="Wide", alternatives=filters)
    save_provider(provider=scim.provider, actor=ACTOR, limit=str(wide.pk))
    deactivate_and_reactivate(scim, ann)
    limits.append(limit_of(cast, "ann@example.com"))

    assert limits == ["Core", "Core"]
    with account_scope(cast.account):
        entry = AuditEntry.objects.filter(action="cost_access.limit_member").order_by("-pk")[0]
        assert (entry.detail["limit"], entry.detail["restored"]) == ("Core", True)
        assert not FormerMemberLimit.objects.exists()


def test_a_member_removed_by_an_admin_signs_in_again_with_her_limit(
    cast: Cast, limit: CostAccessLimit
) -> None:
    provider = create_scim(cast.account).provider
    claims = Claims("ann", "ann@example.com", True, "Ann", groups=[])
    person_of(provider=provider, claims=claims)
    set_limit(cast, "ann@example.com", limit)
    remove_member(membership=Membership.objects.get(user__email="ann@example.com"), actor=ACTOR)

    person_of(provider=provider, claims=claims)

    assert limit_of(cast, "ann@example.com") == "Core"


def test_a_limit_that_was_lifted_or_deleted_does_not_come_back(cast: Cast, limit: CostAccessLimit) -> None:
    scim, limits = create_scim(cast.account), []
    ann = scim.create_user("ann")
    set_limit(cast, "ann@example.com", limit)
    deactivate_and_reactivate(scim, ann)
    set_limit(cast, "ann@example.com", None)
    deactivate_and_reactivate(scim, ann)
    limits.append(limit_of(cast, "ann@example.com"))
    set_limit(cast, "ann@example.com", limit)
    scim.patch(f"Users/{ann['id']}", {"op": "replace", "path": "active", "value": False})
    delete_limit(limit=limit, actor=ACTOR)
    scim.patch(f"Users/{ann['id']}", {"op": "replace", "path": "active", "value": True})
    limits.append(limit_of(cast, "ann@example.com"))

    assert limits == ["", ""]


def test_what_she_made_before_gets_the_limit_that_she_comes_back_with(
    cast: Cast, limit: CostAccessLimit
) -> None:
    scim = create_scim(cast.account)
    ann = scim.create_user("ann")
    person = User.objects.get(email="ann@example.com")
    with account_scope(cast.account):
        channel = AlertChannel.objects.create(
            account=cast.account, name="Hook", kind="slack", created_by=person
        )
    save_provider(provider=scim.provider, actor=ACTOR, limit=str(limit.pk))
    deactivate_and_reactivate(scim, ann)

    with account_scope(cast.account):
        assert CostAccessAssignment.objects.get(alert_channel=channel).limit == limit


def test_alerts_are_mailed_to_no_limited_member_and_not_to_her_who_left(
    cast: Cast, limit: CostAccessLimit
) -> None:
    scim, limits = create_scim(cast.account), []
    ann = scim.create_user("ann")
    with account_scope(cast.account):
        AlertRecipient.objects.create(
            account=cast.account, address="ann@example.com", confirmed_at=clock.now()
        )
    for step in ("none", "limited", "left", "back", "lifted"):
        if step in ("limited", "lifted"):
            set_limit(cast, "ann@example.com", limit if step == "limited" else None)
        if step in ("left", "back"):
            scim.patch(f"Users/{ann['id']}", {"op": "replace", "path": "active", "value": step == "back"})
        limits.append(bool(recipients(cast.account, ["ann@example.com"]).allowed))

    assert limits == [True, False, False, False, True]
