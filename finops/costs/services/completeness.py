"""Compute the completeness of a source's days from its cost lines, after each import.

Stored are the daily cost of recent days at this import, the settle time that these snapshots show, and the newest
days with only part of their cost. All but the snapshots, which accumulate, can be recomputed from the lake.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

import ibis
from django.db import DatabaseError, connection, transaction

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.completeness import (
    MAX_SETTLE_DAYS,
    documented_settle_days,
    learnt_settle_days,
    partial_days,
)
from finops.costs.models import CostSource, DailyCostSnapshot, SourceCompleteness
from finops.costs.services.currencies import refresh_currencies, take_bill_rates
from finops.lake.engine import engine
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lib import time_limit
from finops.lib.errors import UserError
from finops.lib.money import exact_sum
from finops.lib.periods import month_end

logger = logging.getLogger(__name__)

WINDOW_DAYS: Final = 75
"""Days before the newest that are read: eight weeks of weekdays before the week that may be partial."""

KEPT_AGE: Final = MAX_SETTLE_DAYS + 7
KEPT_DAYS: Final = 60
LONG_DAYS: Final = 2
"""A charge period of more days than this is not daily usage."""

ONE_TIME, RECURRING, USAGE = "One-Time", "Recurring", "Usage"

# Raw SQL: the live segments of every account and the imports that read them.
_DUE: Final = """
SELECT live.source_id FROM (
    SELECT account_id, source_id, md5(string_agg(id::text, ',' ORDER BY id)) AS segments FROM lake_lakesegment
    WHERE kind = 'cost' AND retired_at IS NULL GROUP BY account_id, source_id
) AS live JOIN costs_costsource s ON s.id = live.source_id AND s.account_id = live.account_id
LEFT JOIN costs_sourcecompleteness c ON c.source_id = s.id
WHERE c.segments IS DISTINCT FROM live.segments ORDER BY live.source_id
"""
_SEGMENTS: Final = """
SELECT md5(string_agg(id::text, ',' ORDER BY id)) FROM lake_lakesegment
WHERE account_id = %s AND kind = 'cost' AND source_id = %s AND retired_at IS NULL
"""


def due_sources() -> list[int]:
    """Return sources whose lines changed since their completeness was computed. One statement over all accounts."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE)
        return [row[0] for row in cursor.fetchall()]


def refresh_if_due() -> None:
    """Compute the completeness that imports did not compute: the import's process died before its last step, or the
    import is older than this function."""
    for source_id in due_sources():
        time_limit.check()
        # Unscoped: the task serves every account.
        source = CostSource.objects.unscoped().select_related("account").filter(pk=source_id).first()
        if source is not None:
            refresh_completeness(source)


def refresh_completeness(
    source: CostSource, *, first_day: date = date.min, last_day: date = date.max
) -> None:
    """Compute a source's completeness, its currencies, and the exchange rates of these days. Errors are logged, and
    retried by the next `refresh_if_due`.

    Cost: two lake queries over 75 days of one source, a second when it has no daily usage in them; five of
    PostgreSQL.
    """
    try:
        with account_scope(source.account), transaction.atomic():
            _refresh(source)
            refresh_currencies(source.account)
            take_bill_rates(source, first_day, last_day)
    except (UserError, DatabaseError):
        logger.warning("costs: the completeness of source %s was not read", source.pk, exc_info=True)


def _refresh(source: CostSource) -> None:
    account = source.account
    with connection.cursor() as cursor:
        cursor.execute(_SEGMENTS, [account.pk, source.pk])
        digest = cursor.fetchone()[0]
    segments = list(
        # Corrections in another month's file do not show when the data of their days arrived.
        LakeSegment.objects.filter(
            kind=Kind.COST.value, source_id=source.pk, retired_at=None, carried_by=None
        ).values_list("first_day", "last_day", "created_at")
    )
    if digest is None or not segments:
        SourceCompleteness.objects.filter(source=source).delete()
        return
    segment_days = _SegmentDays([(first, last, at.date()) for first, last, at in segments])
    newest = min(max(last for _, last, _ in segment_days.segments), segment_days.newest)
    lines = _read_lines(account, source, _days_to(newest, WINDOW_DAYS))
    if all(line.one_time for line in lines):
        # A source may be stale for long and still have a purchase with a later date.
        through = _newest_daily(account, source, min(first for first, _, _ in segment_days.segments), newest)
        lines = _read_lines(account, source, _days_to(through, WINDOW_DAYS)) if through else lines
    _save(source, digest, segment_days, lines)


@dataclass(frozen=True)
class _SegmentDays:
    """First day, last day and the day of import of each live segment."""

    segments: Sequence[tuple[date, date, date]]

    @property
    def newest(self) -> date:
        return max(at for _, _, at in self.segments)

    def on(self, day: date) -> date:
        """Return the day of the newest import that covers this day."""
        return max((at for first, last, at in self.segments if first <= day <= last), default=self.newest)


def _days_to(last: date, days: int) -> tuple[date, date]:
    return last - timedelta(days=days - 1), last


@dataclass(frozen=True)
class _Line:
    """The sum of lines of a day, service and currency, daily usage or not. `ends`: last day of the charge periods."""

    day: date
    service: str
    currency: str
    provider: str
    daily: bool
    one_time: bool
    amount: Decimal
    ends: date | None


@dataclass(frozen=True)
class _DaysBuild:
    """The effective cost of a source's days by service, with daily usage separate. Equal for equal sources."""

    source_id: str

    def __call__(self, table: Any) -> Any:
        lines = table.filter(table.source == self.source_id)
        ends = _last_day(lines)
        rows = lines.select(
            "currency",
            day=lines.charge_date,
            service=lines.service.coalesce(""),
            provider=lines.provider.coalesce(""),
            daily=is_daily(lines),
            one_time=_is_one_time(lines),
            ends=ends,
            amount=lines.effective_cost.coalesce(ibis.literal(Decimal(0), type="decimal(38, 18)")),
        )
        keys = ["day", "service", "currency", "provider", "daily", "one_time", "ends"]
        return rows.group_by(keys).aggregate(amount=rows.amount.sum())


@dataclass(frozen=True)
class _NewestBuild:
    """The newest day with daily usage of a source."""

    source_id: str

    def __call__(self, table: Any) -> Any:
        lines = table.filter((table.source == self.source_id) & is_daily(table))
        return lines.aggregate(day=lines.charge_date.max())


def _is_one_time(lines: Any) -> Any:
    return (lines.charge_frequency == ONE_TIME).fill_null(False)


def _last_day(lines: Any) -> Any:
    """Return the last day of a line's charge period; null if unknown."""
    if "charge_period_end" not in lines.columns:
        return ibis.null("date")
    moment = lines.charge_period_end - ibis.interval(microseconds=1)
    return moment.date()


def is_daily(lines: Any) -> Any:
    """Return whether a line is daily usage and so shows that the day has arrived: not one-time, and with a charge
    period of at most two days or, if unknown, of usage that is not charged once per period."""
    ends = _last_day(lines)
    has_period = ends.notnull()
    short = ends < lines.charge_date + ibis.interval(days=LONG_DAYS)
    recurring = (lines.charge_frequency == RECURRING).fill_null(False)
    usage = (lines.charge_category == USAGE).fill_null(True)
    return usage & ~_is_one_time(lines) & ibis.ifelse(has_period, short.fill_null(False), ~recurring)


def _read_lines(account: Account, source: CostSource, days: tuple[date, date]) -> list[_Line]:
    build = _DaysBuild(str(source.pk))
    table = engine.run(account, Kind.COST, *days, build, allow_rollups=True, in_own_currency=True)
    return [_Line(**row) for row in table.to_pylist()]


def _newest_daily(account: Account, source: CostSource, first: date, last: date) -> date | None:
    build = _NewestBuild(str(source.pk))
    table = engine.run(account, Kind.COST, first, last, build, allow_rollups=True, in_own_currency=True)
    day: date | None = table["day"][0].as_py()
    return day


def _save(source: CostSource, digest: str, segment_days: _SegmentDays, lines: Sequence[_Line]) -> None:
    daily = [line for line in lines if line.daily and line.day <= segment_days.on(line.day)]
    through = max((line.day for line in daily), default=None)
    provider = _provider(lines)
    values: dict[str, Any] = {
        "account": source.account,
        "segments": digest,
        "seen_on": segment_days.on(through) if through else segment_days.newest,
        "provider": provider[:200],
        "usage_through": through,
        "billed_through": _billed_through(lines),
        "learnt_days": None,
        "partial_days": [],
    }
    if through is not None:
        grown = _snapshots(source, segment_days, daily, through)
        values["learnt_days"] = learnt = learnt_settle_days(grown)
        settle = source.settle_days if source.settle_days is not None else learnt
        settle = documented_settle_days(provider) if settle is None else settle
        values["partial_days"] = sorted(_find_partial_days(source, daily, through, settle))
    SourceCompleteness.objects.update_or_create(source=source, defaults=values)


def _provider(lines: Sequence[_Line]) -> str:
    sizes: dict[str, Decimal] = defaultdict(Decimal)
    for line in lines:
        sizes[line.provider] = exact_sum([sizes[line.provider], abs(line.amount)])
    return max(sizes, key=lambda name: (sizes[name], name), default="")


def _billed_through(lines: Sequence[_Line]) -> date | None:
    """Return the last day of cost billed by the month: a line without a charge period counts for its month."""
    return max(
        (line.ends or month_end(line.day) for line in lines if not line.daily and not line.one_time),
        default=None,
    )


def _snapshots(
    source: CostSource, segment_days: _SegmentDays, daily: Sequence[_Line], through: date
) -> list[dict[int, float]]:
    """Save the daily cost of recent days, and return each saved day's amounts by age, per currency."""
    amounts: dict[tuple[date, str], list[Decimal]] = defaultdict(list)
    for line in daily:
        amounts[line.day, line.currency].append(line.amount)
    rows = [
        DailyCostSnapshot(
            account=source.account,
            source=source,
            day=day,
            currency=currency,
            age=(segment_days.on(day) - day).days,
            amount=exact_sum(parts),
        )
        for (day, currency), parts in amounts.items()
        if (segment_days.on(day) - day).days <= KEPT_AGE
    ]
    DailyCostSnapshot.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["source", "day", "currency", "age"],
        update_fields=["amount"],
    )
    snapshots = DailyCostSnapshot.objects.filter(source=source)
    snapshots.filter(day__lt=through - timedelta(days=KEPT_DAYS)).delete()
    by_day: dict[tuple[date, str], dict[int, float]] = defaultdict(dict)
    for day, currency, age, amount in snapshots.values_list("day", "currency", "age", "amount"):
        by_day[day, currency][age] = float(amount)
    return list(by_day.values())


def _find_partial_days(source: CostSource, daily: Sequence[_Line], through: date, settle: int) -> set[date]:
    """Return days that are partial in any currency."""
    grown: dict[str, dict[date, list[float]]] = defaultdict(lambda: defaultdict(list))
    rows = DailyCostSnapshot.objects.filter(
        source=source, day__gt=through - timedelta(days=14), age__gte=settle
    )
    for currency, day, amount in rows.order_by("day", "age").values_list("currency", "day", "amount"):
        grown[currency][day].append(float(amount))
    costs: dict[str, dict[str, dict[date, float]]] = defaultdict(lambda: defaultdict(dict))
    for line in daily:
        days = costs[line.currency][line.service]
        days[line.day] = days.get(line.day, 0.0) + float(line.amount)
    partial: set[date] = set()
    for currency, services in costs.items():
        by_day: Mapping[date, Sequence[float]] = grown[currency]
        partial |= partial_days(services, through, grown=by_day)
    return partial
