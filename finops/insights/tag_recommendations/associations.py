"""What says the value of cost that has none: an account, service or resource name whose other cost has one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from finops.allocation.rules.document import MAX_VALUE_LENGTH
from finops.insights.tag_recommendations.lake import AGREE, DIFFER, KEY_PAIR
from finops.insights.tag_recommendations.similarity import Amounts, rank, total_of
from finops.lib.money import exact_sum

CERTAIN = Decimal("0.95")
"""Of the cost with a value, so much has the same one, in every currency."""

EVIDENCE = Decimal("0.25")
"""At least so much of the cost has a value, in every currency."""


DISAGREEING = Decimal("0.1")
"""Of the cost of lines with both of two keys: where more differs, they mean something else, in any currency."""


@dataclass
class TaggedCosts:
    """The cost of one account, service or name: with each value, and without."""

    values: dict[str, dict[str, Decimal]] = field(default_factory=dict)
    without: dict[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class Association:
    """Cost without a value at `names` of the dimension is taken for `value`, that with most cost without first."""

    dimension: str
    value: str
    names: tuple[str, ...]


def associations(
    tagged_costs: Mapping[tuple[str, str], TaggedCosts], currencies: Sequence[str]
) -> list[Association]:
    """By dimension and value. `beside` by (dimension, name)."""
    names_by_value: dict[tuple[str, str], list[str]] = {}
    keys = [each for each in tagged_costs if each[0] != KEY_PAIR]
    for dimension, name in sorted(
        keys, key=lambda each: (rank(tagged_costs[each].without, currencies), each)
    ):
        value = certain_value(tagged_costs[dimension, name])
        if value is not None:
            names_by_value.setdefault((dimension, value), []).append(name)
    return [
        Association(dimension, value, tuple(names)) for (dimension, value), names in names_by_value.items()
    ]


def is_contradictory(tagged_costs: Mapping[tuple[str, str], TaggedCosts]) -> bool:
    """Whether keys that were taken for one, by their values, mostly say something else where a line has both."""
    agree, differ = (tagged_costs.get((KEY_PAIR, side), TaggedCosts()).without for side in (AGREE, DIFFER))
    return any(amount > DISAGREEING * total_of([agree, differ])[each] for each, amount in differ.items())


def certain_value(tagged_costs: TaggedCosts) -> str | None:
    """The value that what has none surely lacks; None when nothing lacks one, or the rest does not agree."""
    if not any(amount > 0 for amount in tagged_costs.without.values()):
        return None
    tagged = total_of(tagged_costs.values.values())
    whole = total_of([tagged, tagged_costs.without])
    if not all(tagged.get(each, Decimal(0)) >= EVIDENCE * amount for each, amount in whole.items()):
        return None
    for value, amounts in tagged_costs.values.items():
        if len(value) <= MAX_VALUE_LENGTH and _is_certain(amounts, tagged):
            return value
    return None


def _is_certain(amounts: Amounts, tagged: Amounts) -> bool:
    return any(amount > 0 for amount in tagged.values()) and all(
        amounts.get(currency, Decimal(0)) >= CERTAIN * amount for currency, amount in tagged.items()
    )


Row = tuple[str, str, str | None, str, Decimal]
"""Dimension, name, value, currency, cost."""


def read_tagged_costs(rows: Iterable[Row]) -> dict[tuple[str, str], TaggedCosts]:
    result: dict[tuple[str, str], TaggedCosts] = {}
    for dimension, name, value, currency, cost in rows:
        each = result.setdefault((dimension, name), TaggedCosts())
        side = each.without if value is None else each.values.setdefault(value, {})
        side[currency] = exact_sum([side.get(currency, Decimal(0)), cost])
    return result
