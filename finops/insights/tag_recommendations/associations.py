"""What says the value of cost that has none: an account, service or resource name whose other cost has one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from finops.allocation.rules.document import MAX_VALUE_LENGTH
from finops.insights.tag_recommendations.alike import Amounts, rank, total_of
from finops.insights.tag_recommendations.lake import AGREE, DIFFER, TOGETHER
from finops.lib.money import added

CERTAIN = Decimal("0.95")
"""Of the cost with a value, so much has the same one, in every currency."""

EVIDENCE = Decimal("0.25")
"""At least so much of the cost has a value, in every currency."""


DISAGREEING = Decimal("0.1")
"""Of the cost of lines with both of two keys: where more differs, they mean something else, in any currency."""


@dataclass
class Beside:
    """The cost of one account, service or name: with each value, and without."""

    values: dict[str, dict[str, Decimal]] = field(default_factory=dict)
    without: dict[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class Association:
    """Cost without a value at `names` of the dimension is taken for `value`, that with most cost without first."""

    dimension: str
    value: str
    names: tuple[str, ...]


def associations(beside: Mapping[tuple[str, str], Beside], currencies: Sequence[str]) -> list[Association]:
    """By dimension and value. `beside` by (dimension, name)."""
    found: dict[tuple[str, str], list[str]] = {}
    asked = [each for each in beside if each[0] != TOGETHER]
    for dimension, name in sorted(asked, key=lambda each: (rank(beside[each].without, currencies), each)):
        value = certain_value(beside[dimension, name])
        if value is not None:
            found.setdefault((dimension, value), []).append(name)
    return [Association(dimension, value, tuple(names)) for (dimension, value), names in found.items()]


def disagree(beside: Mapping[tuple[str, str], Beside]) -> bool:
    """Whether keys that were taken for one, by their values, mostly say something else where a line has both."""
    agree, differ = (beside.get((TOGETHER, said), Beside()).without for said in (AGREE, DIFFER))
    return any(amount > DISAGREEING * total_of([agree, differ])[each] for each, amount in differ.items())


def certain_value(beside: Beside) -> str | None:
    """The value that what has none surely lacks; None when nothing lacks one, or the rest does not agree."""
    if not any(amount > 0 for amount in beside.without.values()):
        return None
    known = total_of(beside.values.values())
    whole = total_of([known, beside.without])
    if not all(known.get(each, Decimal(0)) >= EVIDENCE * amount for each, amount in whole.items()):
        return None
    for value, amounts in beside.values.items():
        if len(value) <= MAX_VALUE_LENGTH and _is_certain(amounts, known):
            return value
    return None


def _is_certain(amounts: Amounts, known: Amounts) -> bool:
    return any(amount > 0 for amount in known.values()) and all(
        amounts.get(currency, Decimal(0)) >= CERTAIN * amount for currency, amount in known.items()
    )


Row = tuple[str, str, str | None, str, Decimal]
"""Dimension, name, value, currency, cost."""


def read_beside(rows: Iterable[Row]) -> dict[tuple[str, str], Beside]:
    found: dict[tuple[str, str], Beside] = {}
    for dimension, name, value, currency, cost in rows:
        each = found.setdefault((dimension, name), Beside())
        side = each.without if value is None else each.values.setdefault(value, {})
        side[currency] = added([side.get(currency, Decimal(0)), cost])
    return found
