"""The changes of an import: the billing months that its files replace, the corrections that they add, and whether
it needs review. Pure.

A file replaces the billing months that it contains as a whole. A stray line of another month, such as a correction of
September in October's file, is not a whole month: it is stored with that month's own lines as a correction that
October's file carries, and is removed when October is imported again (ADR 0020).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Final

from finops.costs.focus.months import NOTHING, MonthInFiles, Sums
from finops.costs.focus.report import MonthChange, Review
from finops.costs.import_decision import ADD, REPLACE, Decision, month_of, name_of
from finops.lake.storage import segments
from finops.lib.sentences import join_with_and, money, percent_text

STRAY_SHARE: Final = Decimal("0.1")
"""For a month that the source has: lines and days up to this share of it are stray lines."""
WHOLE_SHARE: Final = Decimal("0.5")
"""From this share of its lines the file has the whole month. In between, a person decides."""
STRAY_BESIDE: Final = Decimal("0.02")
"""Without a month to compare with: the share of the lines of the next month in the same files."""
STRAY_DAYS: Final = 2
"""The maximum of days with stray lines, for any share."""

WHOLE, STRAY, UNCLEAR = "whole", "stray", "unclear"


@dataclass(frozen=True)
class Thresholds:
    """The change from which a month needs review: shares, and an amount below which no change does."""

    fall: Decimal = Decimal("0.2")
    growth: Decimal = Decimal(1)
    least: Decimal = Decimal(10)


@dataclass(frozen=True)
class LiveMonth:
    """The lines of a month in a source: the month's own, or corrections that `carried_by` brought.

    `sums` is None if they cannot be read.
    """

    month: date
    carried_by: date | None
    sums: Mapping[str, Sums] | None
    days: Collection[date] = ()
    providers: Collection[str] = ()

    @property
    def rows(self) -> int:
        return sum(sums.rows for sums in (self.sums or {}).values())


@dataclass
class FileMonths:
    """The months of the files: whole months, corrections, and months that may be either."""

    whole: set[date] = field(default_factory=set)
    carried: dict[date, date] = field(default_factory=dict)
    """Month of the corrections -> month whose file carries them."""
    unclear: set[date] = field(default_factory=set)
    """Months that may be either. They are replaced unless a person decides otherwise; also in `whole`."""


@dataclass(frozen=True)
class ImportPlan:
    """Everything that an import would do."""

    parts: FileMonths
    changes: list[MonthChange]
    reviews: list[Review]
    notes: list[str]


def plan_of(
    files: Mapping[date, MonthInFiles],
    live: Sequence[LiveMonth],
    thresholds: Thresholds,
    decision: Decision | None = None,
) -> ImportPlan:
    """Return what an import of these months would change in the source.

    A decision to add everything possible applies to the months that would otherwise need review.
    """
    plan = _plan(files, live, thresholds, decision)
    if decision is not None and decision.add_all:
        months = {review.month: ADD for review in plan.reviews if review.may_choose}
        plan = _plan(files, live, thresholds, Decision(months=months))
    return plan


def _plan(
    files: Mapping[date, MonthInFiles],
    live: Sequence[LiveMonth],
    thresholds: Thresholds,
    decision: Decision | None,
) -> ImportPlan:
    parts = parts_of(files, live, decision)
    replaced = segments.segments_to_replace(live, parts.whole, set(parts.carried.items()))
    changes = changes_of(files, live, replaced)
    return ImportPlan(
        parts,
        changes,
        reviews_of(files, parts, live, changes, thresholds),
        notes_of(files, parts, live, replaced),
    )


def parts_of(
    files: Mapping[date, MonthInFiles], live: Iterable[LiveMonth], decision: Decision | None = None
) -> FileMonths:
    """Return how each billing month of the files is imported: by the decision, else by its lines."""
    own = {each.month: each for each in live if each.carried_by is None}
    if decision is not None and decision.sync_month:
        return _months_of_sync(files, own, decision)
    if not files:
        return FileMonths()
    main = max(files, key=lambda month: (files[month].rows, month))
    parts = FileMonths()
    stray: set[date] = set()
    for month in sorted(files, reverse=True):
        following = min((other for other in parts.whole if other > month), default=None)
        kind = _kind(
            files[month],
            own.get(month),
            is_main=month == main,
            beside=files[following] if following else None,
        )
        can_add = month in own
        if decision is not None and can_add and decision.months.get(name_of(month)) == REPLACE:
            kind = WHOLE
        if decision is not None and can_add and decision.months.get(name_of(month)) == ADD:
            kind = STRAY
        if kind == UNCLEAR:
            parts.unclear.add(month)
        (stray if kind == STRAY else parts.whole).add(month)
    for month in sorted(stray):
        parts.carried[month] = min(
            (other for other in parts.whole if other > month), default=max(parts.whole, default=month)
        )
    return parts


def _months_of_sync(
    files: Mapping[date, MonthInFiles], own: Mapping[date, LiveMonth], decision: Decision
) -> FileMonths:
    main = month_of(decision.sync_month)
    parts = FileMonths(whole={main})
    for month in sorted(set(files) - {main}):
        kind = _kind(files[month], own.get(month), is_main=False, beside=files.get(main))
        if kind == STRAY or decision.months.get(name_of(month)) == ADD:
            parts.carried[month] = main
            continue
        parts.whole.add(month)
        if kind == UNCLEAR:
            parts.unclear.add(month)
    return parts


def _kind(
    in_files: MonthInFiles, own: LiveMonth | None, *, is_main: bool, beside: MonthInFiles | None
) -> str:
    only_corrections = in_files.corrections == in_files.rows
    if own is None:
        if is_main or beside is None:
            return WHOLE
        few = in_files.rows <= beside.rows * STRAY_BESIDE and len(in_files.days) <= STRAY_DAYS
        return STRAY if few or only_corrections else WHOLE
    if only_corrections:
        return STRAY
    if is_main:
        return WHOLE
    if in_files.rows >= own.rows * WHOLE_SHARE:
        return WHOLE
    few_days = len(in_files.days) <= max(Decimal(STRAY_DAYS), len(own.days) * STRAY_SHARE)
    return STRAY if in_files.rows <= own.rows * STRAY_SHARE and few_days else UNCLEAR


def changes_of(
    files: Mapping[date, MonthInFiles], live: Sequence[LiveMonth], gone: Sequence[LiveMonth]
) -> list[MonthChange]:
    """Return sums before and after, by month and currency, of every month that the import changes.

    `gone` are the `live` months that the import replaces.
    """
    touched = {*files, *(each.month for each in gone)}
    before: dict[tuple[date, str], Sums] = {}
    after: dict[tuple[date, str], Sums] = {}
    for each in live:
        for currency, sums in (each.sums or {}).items() if each.month in touched else ():
            key = each.month, currency
            before[key] = before.get(key, NOTHING).plus(sums)
            if not any(each is segment for segment in gone):
                after[key] = after.get(key, NOTHING).plus(sums)
    for month, in_files in files.items():
        for currency, sums in in_files.sums.items():
            after[month, currency] = after.get((month, currency), NOTHING).plus(sums)
    return [
        _change(
            month, currency, before.get((month, currency), NOTHING), after.get((month, currency), NOTHING)
        )
        for month, currency in sorted({*before, *after})
    ]


def _change(month: date, currency: str, before: Sums, after: Sums) -> MonthChange:
    return MonthChange(
        month=name_of(month),
        currency=currency,
        rows_before=before.rows,
        rows_after=after.rows,
        billed_before=before.billed,
        billed_after=after.billed,
        effective_before=before.effective,
        effective_after=after.effective,
    )


def reviews_of(
    files: Mapping[date, MonthInFiles],
    parts: FileMonths,
    live: Sequence[LiveMonth],
    changes: Sequence[MonthChange],
    thresholds: Thresholds,
) -> list[Review]:
    """Return reasons for a review, by month. A month that is new to the source needs none."""
    own = {each.month: each for each in live if each.carried_by is None}
    compared_months = {each.month for each in live if each.month in own or each.month not in parts.whole}
    unknown = {each.month for each in live if each.sums is None}
    reviews: list[Review] = []
    for month in sorted({month_of(change.month) for change in changes} & compared_months - unknown):
        unclear = month in parts.unclear
        reasons = _partial_reason(month, files[month], own[month]) if unclear else []
        of_month = [change for change in changes if change.month == name_of(month)]
        # New days add cost, so growth is compared with the cost of a day too.
        longer = Decimal(1)
        if month in parts.whole and month in files and month in own and own[month].days:
            longer = max(longer, Decimal(len(files[month].days)) / len(own[month].days))
        for change in of_month:
            reasons.extend(_change_reasons(change, of_month, thresholds, longer))
        if reasons:
            reviews.append(
                Review(
                    kind="partial" if unclear else "change",
                    month=name_of(month),
                    reason=" ".join(reasons),
                    action=REPLACE if month in parts.whole else ADD,
                    may_choose=month in files and month in own,
                )
            )
    return reviews


def _partial_reason(month: date, in_files: MonthInFiles, own: LiveMonth) -> list[str]:
    reason = (
        f"The files have {in_files.rows:,} {_lines(in_files.rows)} of {name_of(month)} on "
        f"{_days(len(in_files.days))}; the source has {own.rows:,} on {_days(len(own.days))}. Are "
        "they a part of the month, or the full month?"
    )
    return [reason]


def _days(count: int) -> str:
    return f"{count} day" if count == 1 else f"{count} days"


def _change_reasons(
    change: MonthChange, of_month: Sequence[MonthChange], thresholds: Thresholds, longer: Decimal
) -> list[str]:
    """Return which changes are too large: of billed cost, or of effective cost if billed cost does not change."""
    amounts = (
        ("billed", change.billed_before, change.billed_after),
        ("effective", change.effective_before, change.effective_after),
    )
    for word, before, after in amounts:
        verb = _change_verb(before, after, thresholds, longer)
        if verb:
            text = f"{change.month} {verb} from {money(before, change.currency)} to {money(after, change.currency)} {word}"
            new_currencies = [
                other.currency for other in of_month if not other.rows_before and other.rows_after
            ]
            if new_currencies and not change.rows_after:
                return [f"{text}; its lines are now in {join_with_and(new_currencies)}."]
            return [f"{text}."]
    return []


def _change_verb(before: Decimal, after: Decimal, thresholds: Thresholds, longer: Decimal) -> str:
    """Return how an amount changes, if by more than the account's thresholds; else "". A larger credit is growth.

    `longer` is the ratio of days after to days before, at least 1.
    """
    if abs(after - before) < thresholds.least:
        return ""
    if before and after and (before > 0) != (after > 0):
        return "changes its sign,"
    if not before:
        return "goes"
    times = abs(after) / abs(before)
    if 1 - times >= thresholds.fall:
        return f"falls by {percent_text(1 - times)},"
    return f"grows by {percent_text(times - 1)}," if times / longer - 1 >= thresholds.growth else ""


def notes_of(
    files: Mapping[date, MonthInFiles],
    parts: FileMonths,
    live: Sequence[LiveMonth],
    gone: Sequence[LiveMonth],
) -> list[str]:
    """Return notes for the owner that do not stop the import."""
    notes = [_correction_note(month, by, files[month]) for month, by in parts.carried.items()]
    stay = [
        each
        for each in live
        if each.carried_by and each.month in parts.whole and not any(each is segment for segment in gone)
    ]
    notes.extend(
        f"Corrections of {name_of(each.month)} from the import of "
        f"{name_of(each.carried_by or each.month)} ({_billed_amounts(each.sums or {})}) are kept. If "
        "these files include them, they count twice."
        for each in stay
    )
    unread = sorted({name_of(each.month) for each in live if each.sums is None and each.month in files})
    if unread:
        notes.append(f"Existing data of {join_with_and(unread)} could not be read, so it was not compared.")
    return [*notes, *_other_providers(files, live)]


def _correction_note(month: date, by: date, in_files: MonthInFiles) -> str:
    lines = (
        f"{in_files.rows:,} {_lines(in_files.rows)} of {name_of(month)} ({_billed_amounts(in_files.sums)})"
    )
    if by == month:
        return (
            f"Added as corrections: {lines}. The month's own lines are kept; a full import of the "
            "month removes the corrections."
        )
    return (
        f"Kept as corrections from {name_of(by)}: {lines}. The month's own lines are kept; importing "
        f"{name_of(by)} again replaces the corrections."
    )


def _other_providers(files: Mapping[date, MonthInFiles], live: Sequence[LiveMonth]) -> list[str]:
    providers = {provider for each in live for provider in each.providers}
    new = {provider for in_files in files.values() for provider in in_files.providers}
    if not providers or not new or providers & new:
        return []
    return [
        (
            f"The files are of {join_with_and(sorted(new))}, but the source has "
            f"{join_with_and(sorted(providers))}. Check that this is the right source."
        )
    ]


def _lines(count: int) -> str:
    return "line" if count == 1 else "lines"


def _billed_amounts(sums: Mapping[str, Sums]) -> str:
    return join_with_and([money(each.billed, currency) for currency, each in sorted(sums.items())])
