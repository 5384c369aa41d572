"""Writes of a provider on its groups. Group mappings change the members' roles and teams at once."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction

from accounts import audit
from accounts.sso.models import IdentityProvider, ScimGroup, ScimGroupMember, ScimUser
from accounts.sso.scim.errors import ScimConflict, ScimForbidden, ScimRefusal, UnknownScimResource
from accounts.sso.scim.placement import place_members
from accounts.sso.scim.users import lock_provider, scim_actor
from finops.lib import clock

MAX_GROUPS: Final = 1_000
_SHOWN: Final = 5


@dataclass(frozen=True, kw_only=True)
class GroupAttributes:
    """Attributes of a group that a provider sends. `members` are IDs of users; None keeps the members."""

    display_name: str
    external_id: str = ""
    members: frozenset[uuid.UUID] | None = None


@transaction.atomic
def create_group(*, provider: IdentityProvider, attributes: GroupAttributes) -> ScimGroup:
    """Create a group with its members. Raises ScimConflict for a name that exists, ScimRefusal for a member who is no
    user of the provider, ScimForbidden beyond 1,000 groups, ValidationError for a value that is too long."""
    provider, account = lock_provider(provider)
    if ScimGroup.objects.filter(provider=provider).count() >= MAX_GROUPS:
        raise ScimForbidden(f"The maximum is {MAX_GROUPS:,} groups.")
    row = ScimGroup(account=account, provider=provider)
    _write(row, attributes)
    added, _removed = _set_members(row, attributes.members or frozenset())
    _record(row, "create", {"members_added": len(added)})
    place_members(provider, added)
    return row


@transaction.atomic
def change_group(
    *, provider: IdentityProvider, public_id: uuid.UUID, change: Callable[[ScimGroup], GroupAttributes]
) -> ScimGroup:
    """Apply `change` to the group as it is now. Raises the errors of `create_group` and UnknownScimResource.
    Idempotent."""
    provider, _account = lock_provider(provider)
    row = _group(provider, public_id)
    attributes, before = change(row), (row.display_name, row.external_id)
    is_renamed = (attributes.display_name, attributes.external_id) != before
    if is_renamed:
        row.updated_at = clock.now()
        _write(row, attributes)
    added, removed = _set_members(row, attributes.members)
    if is_renamed or added or removed:
        detail = {"members_added": len(added), "members_removed": len(removed)}
        _record(row, "change", detail | ({"from": before[0]} if before[0] != row.display_name else {}))
    place_members(provider, _users_of(row) + removed if is_renamed else added + removed)
    return row


@transaction.atomic
def delete_group(*, provider: IdentityProvider, public_id: uuid.UUID) -> None:
    """Delete a group; its members lose the role and teams of its mapping. Raises UnknownScimResource."""
    provider, _account = lock_provider(provider)
    row = _group(provider, public_id)
    _added, removed = _set_members(row, [])
    _record(row, "delete", {"members_removed": len(removed)})
    place_members(provider, removed)  # before the delete: without any group the groups of a sign-in count
    row.delete()


def _group(provider: IdentityProvider, public_id: uuid.UUID) -> ScimGroup:
    row = (
        ScimGroup.objects.select_related("account", "provider")
        .filter(provider=provider, public_id=public_id)
        .first()
    )
    if row is None:
        raise UnknownScimResource(f"{provider.name} has no group {public_id} here.")
    return row


def _write(row: ScimGroup, attributes: GroupAttributes) -> None:
    row.display_name, row.external_id = attributes.display_name, attributes.external_id
    same = ScimGroup.objects.filter(provider=row.provider, display_name__iexact=row.display_name)
    if same.exclude(pk=row.pk).exists():
        raise ScimConflict(f"Another group has the displayName {row.display_name}.")
    row.full_clean()
    row.save()


def _users_of(row: ScimGroup) -> list[ScimUser]:
    return list(ScimUser.objects.select_related("user").filter(memberships__group=row))


def _set_members(
    row: ScimGroup, public_ids: Iterable[uuid.UUID] | None
) -> tuple[list[ScimUser], list[ScimUser]]:
    """Set the members and return the added and the removed ones."""
    if public_ids is None:
        return [], []
    before = {user.public_id: user for user in _users_of(row)}
    ids = set(public_ids)
    rows = ScimUser.objects.select_related("user").filter(
        provider=row.provider, public_id__in=ids - before.keys()
    )
    added = list(rows)
    unknown = sorted(str(each) for each in ids - before.keys() - {user.public_id for user in added})
    if unknown:
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        raise ScimRefusal(
            f"No user of {row.provider.name} here: {', '.join(unknown[:_SHOWN])}{more}. Provision users before groups."
        )
    removed = [user for public_id, user in before.items() if public_id not in ids]
    ScimGroupMember.objects.filter(group=row, member__in=removed).delete()
    ScimGroupMember.objects.bulk_create(
        [ScimGroupMember(account=row.account, group=row, member=user) for user in added]
    )
    if added or removed:
        row.updated_at = clock.now()
        row.save(update_fields=["updated_at"])
    return added, removed


def _record(row: ScimGroup, verb: str, detail: dict[str, Any]) -> None:
    audit.record(
        account=row.account,
        actor=scim_actor(row.provider),
        action=f"scim_group.{verb}",
        target=row.display_name,
        detail=detail,
    )
