"""The cast that most tests begin with is the one that the product's services would make."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Account, AuditEntry, Membership, User
from tests.cast import Cast, make_cast, make_cast_by_services

pytestmark = pytest.mark.django_db


def rows(cast: Cast) -> list[Any]:
    """Everything but the numbers and the moments, in the order made."""
    entries = AuditEntry.objects.unscoped().order_by("pk")
    fields = ("account__slug", "actor_user__email", "actor_label", "action", "target", "detail")
    return [
        cast.person("both").email,
        list(User.objects.order_by("pk").values("email", "name", "password", "is_staff", "is_active")),
        list(Account.objects.order_by("pk").values("name", "slug", "fiscal_start_month")),
        list(Membership.objects.order_by("pk").values("account__slug", "user__email", "role")),
        list(entries.values(*fields)),
    ]


def test_the_quick_cast_is_the_one_of_the_services() -> None:
    quick = rows(make_cast())
    for model in (AuditEntry, Membership, Account, User):
        model._base_manager.all().delete()

    assert rows(make_cast_by_services()) == quick
