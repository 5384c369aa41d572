"""Changes of the account's cost view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.dimensions import DimensionContext, registry
from finops.costs.models import CostView, default_actor_tag_keys
from finops.costs.queries.cost_view import charge_categories_of
from finops.lib.errors import UserError

MAX_ACTOR_KEYS = 20


@transaction.atomic
def change_cost_view(
    *,
    account: Account,
    actor: Actor,
    basis: str,
    charge_categories: Sequence[str],
    product_key: str | None = None,
    actor_tag_keys: Sequence[str] | None = None,
    planning_basis: str | None = None,
) -> CostView:
    """Set the basis and the charge categories that count (empty or `all`: all), and the other given settings; None
    keeps one. `planning_basis` is the basis of unit cost, budgets and forecasts.

    Pages, tools, budgets and forecasts use it from the next answer on; stored data is unchanged. Actor tag keys apply
    to later imports. Raises UserError for an unknown category or cost tag, ValidationError for an unknown basis.
    """
    view, _created = CostView.objects.select_for_update().get_or_create(account=account)
    before = _audit_snapshot(view)
    view.basis = basis
    view.charge_categories = charge_categories_of(charge_categories)
    if planning_basis:
        view.planning_basis = planning_basis
    if product_key is not None:
        view.product_key = _product_key(account, product_key.strip())
    if actor_tag_keys is not None:
        view.actor_tag_keys = _actor_keys(actor_tag_keys)
    view.full_clean(exclude=["account"])
    view.save()
    audit.record(
        account=account,
        actor=actor,
        action="cost_view.change",
        target="cost view",
        detail={"from": before, "to": _audit_snapshot(view)},
    )
    return view


def _product_key(account: Account, key: str) -> str:
    """Return the key. A cost tag must exist and not use the product itself; a tag may come with a later bill."""
    if key.lower().startswith("cost_tag:"):
        with account_scope(account):
            registry.resolve(DimensionContext(account, key), "product", field="product_key")
    return key


def _actor_keys(keys: Sequence[str]) -> list[str]:
    distinct = list(dict.fromkeys(key.strip() for key in keys if key.strip()))
    if len(distinct) > MAX_ACTOR_KEYS:
        raise UserError(
            f"actor_tag_keys: {len(distinct)} tag keys; the maximum is {MAX_ACTOR_KEYS}.",
            field="actor_tag_keys",
        )
    return distinct or default_actor_tag_keys()


def _audit_snapshot(view: CostView) -> dict[str, Any]:
    fields = ("basis", "planning_basis", "charge_categories", "product_key", "actor_tag_keys")
    return {name: getattr(view, name) for name in fields}
