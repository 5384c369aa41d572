"""Queries for a provider's users and groups."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Membership
from accounts.sso.models import IdentityProvider, ScimGroup, ScimUser


def users_of(provider: IdentityProvider) -> QuerySet[ScimUser]:
    """Return the provider's users. `is_active` says whether the user is a member of the account."""
    member = Membership.objects.filter(account=OuterRef("account"), user=OuterRef("user"))
    rows = ScimUser.objects.filter(provider=provider).annotate(is_active=Exists(member))
    return rows.select_related("provider").order_by("pk")


def groups_of(provider: IdentityProvider) -> QuerySet[ScimGroup]:
    rows = ScimGroup.objects.filter(provider=provider)
    return rows.select_related("provider").order_by("pk")


def is_active(row: ScimUser) -> bool:
    """Return whether a user of `users_of` is active."""
    return bool(vars(row)["is_active"])
