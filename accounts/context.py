"""Context of every page's frame: the account, the person's role, the accounts to switch to."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from accounts.models import Account, Role


def frame(request: HttpRequest) -> dict[str, Any]:
    membership = getattr(request, "membership", None)
    if membership is None:
        return {}
    is_limited = getattr(request, "reachable_pages", None) is not None
    return {
        "account": membership.account,
        "membership": membership,
        "is_limited": is_limited,
        "may_write": membership.may(Role.MEMBER) and not is_limited,
        "may_administer": membership.may(Role.ADMIN),
        "my_accounts": Account.objects.filter(memberships__user=request.user.pk).order_by("name", "pk"),
    }
