"""The account's cost view, and the view that one answer uses."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from accounts.models import Account
from finops.costs.answers import AppliedCostView
from finops.costs.models import Basis, CostView
from finops.lib.errors import unknown_value

CHARGE_CATEGORIES = ("Usage", "Purchase", "Tax", "Credit", "Adjustment")
"""The charge categories of FOCUS."""

ALL = "all"


class CostViewSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The cost view of an account. Empty `charge_categories` means all. `planning_basis`: of unit cost, budgets and
    forecasts."""

    basis: str = Basis.BILLED.value
    planning_basis: str = Basis.AMORTIZED.value
    charge_categories: tuple[str, ...] = ()
    product_key: str = ""


def cost_view(account: Account) -> CostViewSettings:
    """Return the account's cost view; by default all categories, billed, and amortized for planning. One query."""
    rows = CostView.objects.filter(account=account).values_list(
        "basis", "planning_basis", "charge_categories", "product_key"
    )
    return next(
        (
            CostViewSettings(
                basis=basis,
                planning_basis=planning_basis,
                charge_categories=tuple(categories),
                product_key=product_key,
            )
            for basis, planning_basis, categories, product_key in rows
        ),
        CostViewSettings(),
    )


def apply_overrides(
    view: CostViewSettings, *, basis: str | None, charge_categories: Sequence[str]
) -> AppliedCostView:
    """Return the account's view with a call's overrides. Raises UserError for an unknown charge category."""
    categories = (
        charge_categories_of(charge_categories) if charge_categories else list(view.charge_categories)
    )
    applied_view = AppliedCostView(
        basis=basis or view.basis, charge_categories=categories or [ALL], is_account_view=False
    )
    account_view = AppliedCostView(
        basis=view.basis, charge_categories=list(view.charge_categories) or [ALL], is_account_view=False
    )
    return msgspec.structs.replace(applied_view, is_account_view=applied_view == account_view)


def charge_categories_of(names: Sequence[str]) -> list[str]:
    """Return the categories in FOCUS order; empty for all. Raises UserError for an unknown one."""
    by_fold = {name.casefold(): name for name in CHARGE_CATEGORIES}
    folded = [name.strip().casefold() for name in names]
    for name, fold in zip(names, folded, strict=True):
        if fold != ALL and fold not in by_fold:
            raise unknown_value("charge_categories", name[:60], [*CHARGE_CATEGORIES, ALL], show=str)
    categories = set(folded)
    if ALL in categories or categories == set(by_fold):
        return []
    return [name for name in CHARGE_CATEGORIES if name.casefold() in categories]
