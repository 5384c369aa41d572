"""The days that a comparison pairs, for each source its own complete days; and one-time or monthly charges, if they
decide a comparison of partial months. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal

from finops.costs.answers import AppliedComparison
from finops.costs.coverage import RECENT_DAYS, Coverage
from finops.lib.money import exact_difference, exact_sum, ratio
from finops.lib.periods import DateRange, previous_period, previous_year, whole_period
from finops.lib.sentences import join_with_and, money, percent_text, truncate

NAME_LENGTH = 60
NAMED_SOURCES = 5

NOTHING_COMPLETE = "No complete day in the period to compare."


@dataclass(frozen=True)
class SourceOverride:
    """A source that pairs other days than most sources; without days, the source is on neither side."""

    source_id: int
    current: DateRange | None
    previous: DateRange | None


@dataclass(frozen=True)
class ComparisonRanges:
    """The days of both sides, or the reason for none, and the sources that pair other days."""

    current: DateRange | None = None
    previous: DateRange | None = None
    reason: str = ""
    source_overrides: tuple[SourceOverride, ...] = ()

    def against(self, previous: DateRange) -> ComparisonRanges:
        """Return the same ranges with other earlier days, used for every source."""
        source_overrides = tuple(
            replace(each, previous=previous if each.current else None) for each in self.source_overrides
        )
        return replace(self, previous=previous, source_overrides=source_overrides)


def comparison_ranges(
    *, compare_to: str, days: DateRange, period: str, complete_through: date | None
) -> ComparisonRanges:
    """Return the days with complete data, and the same elapsed days of the earlier period (or of the year before)."""
    if complete_through is None or complete_through < days.start:
        return ComparisonRanges(reason=NOTHING_COMPLETE)
    covered = DateRange(days.start, min(days.end, complete_through))
    whole = whole_period(period, days)
    if compare_to == "previous_year":
        return ComparisonRanges(covered, previous_year(covered))
    earlier = previous_period(whole)
    if covered == whole:
        return ComparisonRanges(covered, earlier)
    elapsed = earlier.start + timedelta(days=covered.days - 1)
    return ComparisonRanges(covered, DateRange(earlier.start, min(elapsed, earlier.end)))


def comparison_ranges_by_source(
    *, compare_to: str, days: DateRange, period: str, coverage: Coverage, together: bool = False
) -> ComparisonRanges:
    """Return ranges as `comparison_ranges`, with each source's own complete days. The ranges of most sources come
    first.

    A source that bills by the month follows the other sources as far as it is complete. A source without a complete
    day in the period is on neither side, so that missing cost does not look like a saving; a source that ended long
    before counts unchanged. `together`: all sources pair the days that are complete for all, as a division by usage
    requires.
    """
    ends = {
        source: min(last, days.end)
        for source, last in coverage.last_complete_days.items()
        if last >= days.start
    }
    if not ends:
        return ComparisonRanges(reason=NOTHING_COMPLETE)
    active_sources = {source: end for source, end in ends.items() if source in coverage.active_sources}
    main_end = (
        min(active_sources.values(), default=max(ends.values()))
        if together
        else _most_common_end(ends, coverage)
    )

    def until(end: date) -> ComparisonRanges:
        return comparison_ranges(compare_to=compare_to, days=days, period=period, complete_through=end)

    source_overrides = []
    for source, last in coverage.last_complete_days.items():
        end = ends.get(source)
        if end is None or (together and end < main_end):
            if (days.start - last).days <= RECENT_DAYS:
                source_overrides.append(SourceOverride(source, None, None))
        elif end != main_end and not together and (end < main_end or not coverage.is_billed_monthly(source)):
            own = until(end)
            source_overrides.append(SourceOverride(source, own.current, own.previous))
    return replace(until(main_end), source_overrides=tuple(source_overrides))


def _most_common_end(ends: Mapping[int, date], coverage: Coverage) -> date:
    """Return the last complete day that most sources with daily usage share; of two such days, the later."""
    daily = [end for source, end in ends.items() if not coverage.is_billed_monthly(source)]
    counts = Counter(daily or ends.values())
    return max(counts, key=lambda end: (counts[end], end))


def applied_comparison(
    compare_to: str,
    compared: ComparisonRanges | None,
    days: DateRange,
    names: Mapping[int, str] | None = None,
) -> AppliedComparison | None:
    """Describe the comparison for the answer."""
    if compared is None or compared.current is None or compared.previous is None:
        return None
    return AppliedComparison(
        compare_to=compare_to,
        start_date=compared.current.start,
        end_date=compared.current.end,
        previous_start_date=compared.previous.start,
        previous_end_date=compared.previous.end,
        note=note_of(compared, days, names or {}),
    )


def note_of(compared: ComparisonRanges, days: DateRange, names: Mapping[int, str]) -> str:
    """Return a note on the compared days if they differ from the requested ones."""
    current, previous = compared.current, compared.previous
    if current is None or previous is None:
        return ""
    parts = []
    if current != days:
        parts.append(
            f"Only days with complete data are compared: {current.start} to {current.end} with "
            f"{previous.start} to {previous.end}; the amounts in totals and rows cover the whole period."
        )
    parts += source_override_sentences(compared, names)
    if current.days != previous.days:
        parts.append(f"The previous period has {previous.days} days, this one {current.days}.")
    return " ".join(parts)


def unequal_days_clause(current: DateRange, previous: DateRange) -> str:
    """Return a clause on compared periods of different lengths, such as February and January; empty for equal ones."""
    return "" if current.days == previous.days else f"; {current.days} days compared with {previous.days}"


def source_override_sentences(compared: ComparisonRanges, names: Mapping[int, str]) -> list[str]:
    """Return a sentence on the sources that pair other days than most, and one on the sources that are left out."""
    own = [each for each in compared.source_overrides if each.current and each.source_id in names]
    left_out = [
        names[each.source_id]
        for each in compared.source_overrides
        if not each.current and each.source_id in names
    ]
    sentences = []
    if own:
        overrides = join_with_and([_override_text(each, names) for each in own[:NAMED_SOURCES]])
        sentences.append(f"Each source is compared over its complete days: {overrides}.")
    if left_out:
        quoted = join_with_and([repr(truncate(name, NAME_LENGTH)) for name in left_out[:NAMED_SOURCES]])
        sentences.append(f"Not compared, no complete day in the period: {quoted}.")
    return sentences


def _override_text(each: SourceOverride, names: Mapping[int, str]) -> str:
    days = each.current
    return f"{truncate(names[each.source_id], NAME_LENGTH)!r} over {days.start} to {days.end}" if days else ""


Sides = tuple[Decimal, Decimal]
"""The charges on the later side of a comparison and on the earlier."""

_MOST = Decimal(2)


def one_sided_of(
    current: Decimal, previous: Decimal, charges: Iterable[tuple[Hashable, Sides]]
) -> Decimal | None:
    """Return what one-sided charges add to a change, if they decide its direction or most of it; else None. `charges`
    are by the service that is charged."""
    sides_by_charge: dict[Hashable, list[Sides]] = defaultdict(list)
    for service, sides in charges:
        sides_by_charge[service].append(sides)
    added_up = [
        (exact_sum(now for now, _ in sides), exact_sum(before for _, before in sides))
        for sides in sides_by_charge.values()
    ]
    one_sided = exact_sum(exact_difference(now, before) for now, before in added_up if not now or not before)
    change = exact_difference(current, previous)
    change_without = exact_difference(change, one_sided)
    turns = (change > 0) != (change_without > 0) and bool(change) and bool(change_without)
    decides = turns or one_sided.copy_abs() * _MOST > change.copy_abs()
    return one_sided if one_sided and decides else None


def one_sided_words(current: Decimal, previous: Decimal, one_sided: Decimal, currency: str) -> str:
    """Return a clause on such charges, with their amount and the change without them."""
    change_without = exact_difference(exact_difference(current, previous), one_sided)
    share = ratio(change_without, _previous_without(previous, one_sided).copy_abs())
    word = "more" if change_without > 0 else "less"
    consequence = (
        "nothing changes"
        if not change_without
        else f"it is {money(change_without.copy_abs(), currency)} {word}"
        + (f" ({percent_text(share.copy_abs())})" if share is not None else "")
    )
    side = "these days" if one_sided > 0 else "the previous period"
    return (
        f"; {money(one_sided.copy_abs(), currency)} of monthly or one-time charges are in {side} only; "
        f"without them {consequence}"
    )


def _previous_without(previous: Decimal, one_sided: Decimal) -> Decimal:
    """Return the earlier amount without such charges."""
    return previous if one_sided > 0 else exact_difference(previous, one_sided.copy_abs())
