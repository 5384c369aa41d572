"""Roles and teams by the groups that a provider provisions."""

from __future__ import annotations

from collections.abc import Iterable

from accounts.audit import Actor
from accounts.sso.groups import apply_groups_of
from accounts.sso.models import IdentityProvider, ScimGroup, ScimGroupMember, ScimUser


def pushes_groups(provider: IdentityProvider) -> bool:
    """Return whether the provider provisions groups by SCIM. Groups of a sign-in are ignored then. One query."""
    return ScimGroup.objects.filter(provider=provider).exists()


def place_members(provider: IdentityProvider, users: Iterable[ScimUser]) -> None:
    """Give users the roles and teams of their groups, by name or external ID. Does nothing if the provider provisions
    no groups. The number of queries does not depend on the number of users."""
    account = provider.account
    if account is None or not pushes_groups(provider):
        return
    people = {user.pk: user.user_id for user in users}
    names: dict[int, set[str]] = {user_id: set() for user_id in people.values()}
    rows = ScimGroupMember.objects.filter(group__provider=provider, member__in=list(people))
    for member_id, *own in rows.values_list("member_id", "group__display_name", "group__external_id"):
        names[people[member_id]].update(name for name in own if name)
    apply_groups_of(
        account=account,
        groups=names,
        default_role=provider.default_role,
        actor=Actor(label=f"SCIM {provider.name}"),
    )
