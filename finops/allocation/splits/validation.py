"""Validation of splits; each error has the reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol

from finops.allocation.splits.shares import FULL
from finops.lib.errors import UserError
from finops.lib.money import exact_difference, exact_sum
from finops.lib.sentences import truncate

MAX_TARGETS = 200
PERCENT_PLACES = 6
SHOWN = 60


class SplitLike(Protocol):
    """A split, saved or unsaved."""

    name: str
    source_value: str
    targets: Any
    valid_from: date | None
    valid_to: date | None


def with_percents(targets: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return targets with their percentages as exact text. Raises UserError unless they add up to exactly 100, as
    fixed shares must (FinOps Framework, Shared Cost Management)."""
    percents = [(value, _percent(value, text)) for value, text in targets]
    whole = exact_sum(percent for _value, percent in percents)
    if percents and whole != FULL:
        gap = exact_difference(FULL, whole)
        words = f"{_plain(gap)} short of 100" if gap > 0 else f"{_plain(-gap)} more than 100"
        raise UserError(
            f"percent: the percentages add up to {_plain(whole)}, {words}. They must add up to "
            "exactly 100. Use an even split for equal shares.",
            field="targets",
        )
    return [{"value": value, "percent": _plain(percent)} for value, percent in percents]


def _percent(value: str, text: str) -> Decimal:
    try:
        percent = Decimal(str(text).strip().rstrip("%").strip().replace(",", "."))
    except InvalidOperation as problem:
        raise UserError(
            f"percent: {truncate(value, SHOWN)!r} needs a percentage, such as 33.3.", field="targets"
        ) from problem
    if not percent.is_finite() or not 0 < percent <= FULL:
        raise UserError(
            (
                f"percent: {truncate(value, SHOWN)!r} has {truncate(str(text), 20)}; it must be above 0 "
                "and at most 100."
            ),
            field="targets",
        )
    exponent = percent.normalize().as_tuple().exponent
    if isinstance(exponent, int) and -exponent > PERCENT_PLACES:
        raise UserError(
            f"percent: {truncate(value, SHOWN)!r} has more than {PERCENT_PLACES} decimal places.",
            field="targets",
        )
    return percent


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def check_targets(split: SplitLike, other_splits: Sequence[SplitLike], *, every: bool) -> None:
    """Raises UserError where cost would be allocated twice, or to no target. `other_splits`: of the same dimension."""
    values = [target["value"] for target in split.targets]
    if not values and not every:
        raise UserError("Add at least one target.", field="targets")
    if "" in values:
        raise UserError("A target has no value. Remove it or choose one.", field="targets")
    doubled = sorted({value for value in values if values.count(value) > 1})
    if doubled:
        raise UserError(f"Target {truncate(doubled[0], SHOWN)!r} is given twice.", field="targets")
    if split.source_value in values:
        raise UserError(
            f"{truncate(split.source_value, SHOWN)!r} is the source and cannot be a target.",
            field="targets",
        )
    _check_cycles(split, values, other_splits)
    _check_overlaps(split, other_splits)


def _check_cycles(split: SplitLike, values: Sequence[str], other_splits: Sequence[SplitLike]) -> None:
    giving = [other for other in other_splits if _is_target_of(other, split.source_value)]
    taking = [other for other in other_splits if other.source_value in values]
    closing = [other for other in giving if other in taking]
    if closing:
        chain = " → ".join([split.source_value, closing[0].source_value, split.source_value])
        raise UserError(
            f"Circular reference with split {closing[0].name!r}: {truncate(chain, 3 * SHOWN)}. Remove "
            "one of the two targets.",
            field="targets",
        )
    if giving:
        raise UserError(
            f"{truncate(split.source_value, SHOWN)!r} is a target of split {giving[0].name!r} and "
            "cannot be a source. Add these targets to that split instead.",
            field="source_value",
        )
    if taking:
        raise UserError(
            f"Target {truncate(taking[0].source_value, SHOWN)!r} is the source of split "
            f"{taking[0].name!r} and cannot be a target. Use that split's targets instead.",
            field="targets",
        )


def _is_target_of(other: SplitLike, value: str) -> bool:
    return any(target["value"] == value for target in other.targets)


def _check_overlaps(split: SplitLike, other_splits: Sequence[SplitLike]) -> None:
    for other in other_splits:
        if other.source_value == split.source_value and _overlap(split, other):
            raise UserError(
                f"Split {other.name!r} already splits {truncate(split.source_value, SHOWN)!r}, "
                f"{_days(other)}. A value has one split per day. Change that split, or use periods "
                "that do not overlap.",
                field="source_value",
            )


def _overlap(one: SplitLike, other: SplitLike) -> bool:
    begins_in_time = (one.valid_from or date.min) <= (other.valid_to or date.max)
    return begins_in_time and (other.valid_from or date.min) <= (one.valid_to or date.max)


def _days(split: SplitLike) -> str:
    if split.valid_from and split.valid_to:
        return f"from {split.valid_from} to {split.valid_to}"
    if split.valid_from:
        return f"from {split.valid_from} on"
    return f"until {split.valid_to}" if split.valid_to else "on every day"
