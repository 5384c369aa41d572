"""The account's cost view, and the view that one answer uses."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from django.db import connection

from accounts.models import Account
from finops.costs.answers import ViewUsed
from finops.costs.models import Basis
from finops.lib.errors import unknown_value

CHARGE_CATEGORIES = ("Usage", "Purchase", "Tax", "Credit", "Adjustment")
"""The closed set of FOCUS."""

ALL = "all"


class CostViewSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How an account looks at cost. Empty `charge_categories` means all."""

    basis: str = Basis.BILLED.value
    charge_categories: tuple[str, ...] = ()
    product_key: str = ""


VIEW_COLUMNS = "v.basis, v.charge_categories, v.product_key"
_VIEW = f"SELECT {VIEW_COLUMNS} FROM costs_costview v WHERE v.account_id = %s"  # noqa: S608 - of our own constant


def cost_view(account: Account) -> CostViewSettings:
    """The account's cost view; billed and all charge categories when it never chose. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_VIEW, [account.pk])
        row = cursor.fetchone()
    return view_settings(*row) if row else CostViewSettings()


def view_settings(
    basis: str | None, categories: list[str] | None, product_key: str | None
) -> CostViewSettings:
    """The settings of a row's VIEW_COLUMNS, which are null where the account has no row."""
    if basis is None:
        return CostViewSettings()
    return CostViewSettings(
        basis=basis, charge_categories=tuple(categories or ()), product_key=product_key or ""
    )


def view_used(view: CostViewSettings, *, basis: str | None, charge_categories: Sequence[str]) -> ViewUsed:
    """The account's view with what a call overrides. Raises UserError for an unknown charge category."""
    categories = (
        charge_categories_of(charge_categories) if charge_categories else list(view.charge_categories)
    )
    used = ViewUsed(basis=basis or view.basis, charge_categories=categories or [ALL], is_account_view=False)
    account_view = ViewUsed(
        basis=view.basis, charge_categories=list(view.charge_categories) or [ALL], is_account_view=False
    )
    return msgspec.structs.replace(used, is_account_view=used == account_view)


def charge_categories_of(asked: Sequence[str]) -> list[str]:
    """The categories meant, in FOCUS order; empty for all. Raises UserError for an unknown one."""
    by_fold = {name.casefold(): name for name in CHARGE_CATEGORIES}
    folded = [name.strip().casefold() for name in asked]
    for name, fold in zip(asked, folded, strict=True):
        if fold != ALL and fold not in by_fold:
            raise unknown_value("charge_categories", name[:60], [*CHARGE_CATEGORIES, ALL])
    wanted = set(folded)
    if ALL in wanted or wanted == set(by_fold):
        return []
    return [name for name in CHARGE_CATEGORIES if name.casefold() in wanted]
