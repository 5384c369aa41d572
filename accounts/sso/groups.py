"""Role and teams of a member by the groups of a provider's claims or of SCIM."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from django.db import transaction

from accounts.audit import Actor
from accounts.models import Account, Membership, Role, User
from accounts.scoping import account_scope
from accounts.services.members import change_roles
from accounts.sso.models import GroupMapping
from finops.lib.registry import Registry

ACTOR: Final = Actor(label="Groups of the identity provider")


@dataclass(frozen=True)
class TeamDirectory:
    """The teams of an account: `names` by ID. `place` adds each member to the given teams and removes the member from
    other teams in `mapped`; teams without a mapping stay as they are, and IDs of deleted teams are ignored."""

    names: Callable[[Account], dict[int, str]]
    place: Callable[[Account, Mapping[Membership, set[int]], set[int], Actor], None]


team_directories: Registry[TeamDirectory] = Registry("team directory")


@transaction.atomic
def apply_groups(
    *,
    account: Account,
    user: User,
    groups: Collection[str],
    default_role: str = Role.VIEWER,
    actor: Actor = ACTOR,
) -> None:
    """Give a member the role and teams that the account maps the groups to. Names are compared without regard to
    case.

    The highest mapped role applies, higher or lower than before; without a mapped role, `default_role`. If no mapping
    of the account has a role, roles stay as they are. The owner stays owner. Does nothing for a person who is not a
    member. Idempotent.
    """
    apply_groups_of(account=account, groups={user.pk: groups}, default_role=default_role, actor=actor)


@transaction.atomic
def apply_groups_of(
    *, account: Account, groups: Mapping[int, Collection[str]], default_role: str, actor: Actor
) -> None:
    """Do the same as `apply_groups` for people by their ID. The number of queries does not depend on the number of
    people."""
    rows = Membership.objects.select_for_update(of=("self",)).select_related("account", "user")
    # Locked in a fixed order, so that two transactions do not deadlock.
    members = list(rows.filter(account=account, user__in=list(groups)).order_by("pk"))
    with account_scope(account):
        mappings = list(GroupMapping.objects.all())
    if not members or not mappings:
        return
    by_name: dict[str, list[GroupMapping]] = {}
    for mapping in mappings:
        by_name.setdefault(mapping.group.casefold(), []).append(mapping)
    matched = {
        row: [
            each
            for name in {name.casefold() for name in groups[row.user_id]}
            for each in by_name.get(name, [])
        ]
        for row in members
    }
    if any(mapping.role for mapping in mappings):
        roles = {row: _highest(own, default_role) for row, own in matched.items()}
        change_roles(account=account, roles=roles, actor=actor)
    mapped = {mapping.team_id for mapping in mappings if mapping.team_id is not None}
    teams = {row: {each.team_id for each in own if each.team_id is not None} for row, own in matched.items()}
    if mapped:
        for directory in team_directories.values():
            directory.place(account, teams, mapped, actor)


def _highest(mappings: list[GroupMapping], default_role: str) -> Role:
    roles = [Role(mapping.role) for mapping in mappings if mapping.role]
    return max(roles, key=list(Role).index, default=Role(default_role))
