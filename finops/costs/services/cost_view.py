"""The account's one cost view."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.models import CostView


@transaction.atomic
def set_cost_view(
    *,
    account: Account,
    actor: Actor,
    basis: str,
    charge_categories: Sequence[str] = (),
    actor_tag_keys: Sequence[str] | None = None,
    product_key: str | None = None,
) -> CostView:
    """Choose how the account looks at cost; None leaves a setting as it is. No charge categories means all.

    `actor_tag_keys` count from the next import on. Raises ValidationError for an unknown basis.
    """
    with account_scope(account):
        view, _ = CostView.objects.select_for_update().get_or_create(account=account)
        before = _settings(view)
        view.basis, view.charge_categories = basis, list(charge_categories)
        if actor_tag_keys is not None:
            view.actor_tag_keys = list(actor_tag_keys)
        if product_key is not None:
            view.product_key = product_key.strip()
        view.full_clean()
        view.save()
    detail = {"from": before, "to": _settings(view)}
    audit.record(account=account, actor=actor, action="cost_view.change", detail=detail)
    return view


def _settings(view: CostView) -> dict[str, object]:
    names = ("basis", "charge_categories", "actor_tag_keys", "product_key")
    return {name: getattr(view, name) for name in names}
