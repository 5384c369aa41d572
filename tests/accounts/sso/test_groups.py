"""Groups of a provider as roles and teams of the account."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from accounts.models import AuditEntry, Membership, Role, User
from accounts.scoping import account_scope
from accounts.sso.groups import apply_groups
from accounts.sso.models import GroupMapping
from finops.allocation.models import Team, TeamMember
from finops.allocation.services.teams import create_team
from tests.cast import ACTOR, Cast


def add_mapping(cast: Cast, group: str, *, role: str = "", team: Team | None = None) -> None:
    with account_scope(cast.account):
        GroupMapping.objects.create(
            account=cast.account, group=group, role=role, team_id=team.pk if team else None
        )


def role_of(cast: Cast, user: User) -> str:
    return Membership.objects.get(account=cast.account, user=user).role


def teams_of(cast: Cast, user: User) -> list[str]:
    with account_scope(cast.account):
        rows = TeamMember.objects.filter(membership__user=user)
        return sorted(rows.values_list("team__name", flat=True))


def test_the_highest_mapped_role_counts_and_is_lowered_with_the_group(cast: Cast) -> None:
    add_mapping(cast, "FinOps", role=Role.ADMIN)
    add_mapping(cast, "Everyone", role=Role.MEMBER)

    apply_groups(account=cast.account, user=cast.viewer, groups=["everyone", "FINOPS", "unknown"])
    raised = role_of(cast, cast.viewer)
    apply_groups(account=cast.account, user=cast.viewer, groups=["Everyone"])

    assert (raised, role_of(cast, cast.viewer)) == ("admin", "member")


def test_without_a_mapped_group_she_gets_the_default_role(cast: Cast) -> None:
    add_mapping(cast, "FinOps", role=Role.ADMIN)

    apply_groups(account=cast.account, user=cast.admin, groups=[], default_role=Role.MEMBER)

    assert role_of(cast, cast.admin) == "member"


def test_without_role_mappings_roles_stay(cast: Cast) -> None:
    apply_groups(account=cast.account, user=cast.admin, groups=["FinOps"])

    assert role_of(cast, cast.admin) == "admin"


def test_the_owner_stays_owner_and_a_mapping_makes_none(cast: Cast) -> None:
    add_mapping(cast, "Everyone", role=Role.VIEWER)

    apply_groups(account=cast.account, user=cast.owner, groups=["Everyone"])

    assert role_of(cast, cast.owner) == "owner"
    with account_scope(cast.account), pytest.raises(ValidationError):
        GroupMapping(account=cast.account, group="Bosses", role="owner").full_clean(exclude=["account"])


def test_a_stranger_gets_nothing(cast: Cast) -> None:
    add_mapping(cast, "FinOps", role=Role.ADMIN)

    apply_groups(account=cast.account, user=cast.stranger, groups=["FinOps"])

    assert not Membership.objects.filter(account=cast.account, user=cast.stranger).exists()


def test_teams_follow_the_groups_and_others_stay(cast: Cast) -> None:
    core, data, hand = (
        create_team(account=cast.account, actor=ACTOR, name=name) for name in ("Core", "Data", "By hand")
    )
    membership = Membership.objects.get(account=cast.account, user=cast.viewer)
    with account_scope(cast.account):
        for team in (core, hand):
            TeamMember.objects.create(account=cast.account, team=team, membership=membership)
    add_mapping(cast, "core-engineers", team=core)
    add_mapping(cast, "data-engineers", team=data)

    for _twice in range(2):
        apply_groups(account=cast.account, user=cast.viewer, groups=["data-engineers"])

    assert teams_of(cast, cast.viewer) == ["By hand", "Data"]
    with account_scope(cast.account):
        entries = AuditEntry.objects.filter(action__startswith="team_member.").values_list("action", "target")
    assert set(entries) == {("team_member.add", "Data"), ("team_member.remove", "Core")}


def test_a_team_that_was_deleted_is_left_alone(cast: Cast) -> None:
    with account_scope(cast.account):
        GroupMapping.objects.create(account=cast.account, group="old", team_id=999_999)

    apply_groups(account=cast.account, user=cast.viewer, groups=["old"])

    assert teams_of(cast, cast.viewer) == []
