"""The choices of the cost explorer's fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from finops.costs.answers import AppliedCostView
from finops.costs.dimension_names import EXTENSION, EXTENSION_TITLES, extension_title
from finops.costs.dimensions import DimensionKind
from finops.lake.storage.manifest import CostKeys
from finops.lib.choices import GRANULARITIES as GRANULARITIES
from finops.lib.choices import PERIODS as PERIODS
from finops.lib.choices import TOPS as TOPS

BASES = [("billed", "Billed"), ("amortized", "Amortized")]
COMPARISONS = [
    ("none", "No comparison"),
    ("previous_period", "Previous period"),
    ("previous_year", "Previous year"),
]
ORDERS = [("amount", "Largest amount"), ("change", "Largest change")]
SPLITS = [("before", "Before splits"), ("after", "After splits")]
MEASURES = [
    ("cost", "Cost"),
    ("list_cost", "List cost"),
    ("contracted_cost", "Contracted cost"),
    ("consumed_quantity", "Consumed quantity"),
    ("pricing_quantity", "Pricing quantity"),
]
OPS = [
    ("in", "is"),
    ("not_in", "is not"),
    ("contains", "contains"),
    ("not_contains", "does not contain"),
    ("starts_with", "starts with"),
    ("ends_with", "ends with"),
    ("absent", "has no value"),
]


@dataclasses.dataclass(frozen=True)
class DimensionChoices:
    """Plain dimensions, those of the bill, and tags, each as (name, title)."""

    plain: list[tuple[str, str]]
    of_bill: list[tuple[str, str]]
    tags: list[tuple[str, str]]


def default_basis(basis: str | None, view: AppliedCostView | None) -> str:
    """Return the label for no basis, with the account's own one if an answer used it."""
    return f"Default ({view.basis})" if view and not basis else "Default"


def dimension_choices(
    kinds: Iterable[DimensionKind], tag_keys: CostKeys, selected: Iterable[str]
) -> DimensionChoices:
    """Return every dimension of the registry, every tag key of the data, and others that the URL names.

    The account must be in scope. One query for each family that has keys of its own.
    """
    kinds = list(kinds)
    fixed = [kind for kind in kinds if not kind.is_family]
    plain = [(kind.name, kind.title) for kind in fixed if not kind.of_bill]
    of_bill = [(kind.name, kind.title) for kind in fixed if kind.of_bill]
    for name in tag_keys.extensions:
        of = plain if name in EXTENSION_TITLES else of_bill
        of.append((f"{EXTENSION}{name}", extension_title(name)))
    own = [
        (f"{kind.name}{key}", f"{key} ({kind.title.lower()})")
        for kind in kinds
        if kind.own_keys
        for key in kind.own_keys()
    ]
    tags = [*own, *((f"tag:{key}", key) for key in tag_keys)]
    offered = {name for name, _title in [*plain, *of_bill, *tags]}
    strange = [(name, name) for name in dict.fromkeys(selected) if name not in offered]
    return DimensionChoices([*plain, *strange], of_bill, tags)
