"""Statistics from the counts by day, and their chart: calls by day, by tool, by credential, with durations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import msgspec
from django.db.models import Max, QuerySet, Sum

from accounts.models import Account
from finops.activity.buckets import percentile
from finops.activity.models import AssistantCallCount, CallOutcome
from finops.activity.queries import ActivityQuery, ActivityReader, selection_of, visible_to
from finops.lib.charts import Line, SeriesTable, Values, chart_spec


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one tool, or with one credential. Percentiles are within 10 % of the exact values."""

    key: str
    label: str
    calls: int
    failed: int
    answer_bytes: int
    p50: float
    p95: float

    @property
    def failed_share(self) -> Decimal:
        return Decimal(self.failed) / self.calls

    @property
    def bytes_each(self) -> int:
        return round(self.answer_bytes / self.calls)


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of the requested days. `by_day` has each of them, by outcome."""

    days: list[date]
    by_day: dict[CallOutcome, list[int]]
    tools: list[Group]
    credentials: list[Group]
    whole: Group | None


class Choice(msgspec.Struct, frozen=True):
    value: str
    label: str


def statistics(account: Account, query: ActivityQuery, reader: ActivityReader) -> Statistics:
    """Return statistics of the requested tool, credential, outcome and days, ignoring a text search.

    Cost: two queries over the counts by day: as many as there are tools, credentials and size classes of duration a day.
    """
    counts = _counts(account, reader).filter(selection_of(query), day__gte=query.first_day)
    grouped_counts = counts.values("name", "credential_kind", "credential_id", "outcome", "bucket").annotate(
        label=Max("credential_label"), n=Sum("calls"), size=Sum("answer_bytes")
    )
    rows: list[dict[str, Any]] = [dict(row) for row in grouped_counts]
    days = [query.first_day + timedelta(days=offset) for offset in range(query.days)]
    return Statistics(
        days=days,
        by_day=_by_day(counts, days),
        tools=_groups(rows, lambda row: (row["name"], row["name"] or "(no name)")),
        credentials=_groups(
            rows, lambda row: (f"{row['credential_kind']}:{row['credential_id']}", row["label"])
        ),
        whole=next(iter(_groups(rows, lambda row: ("", "All"))), None),
    )


def choices(account: Account, reader: ActivityReader) -> tuple[list[Choice], list[Choice]]:
    """Return the tools and credentials with stored calls, for the filters. One query over the counts by day."""
    rows = _counts(account, reader).values_list(
        "name", "credential_kind", "credential_id", "credential_label"
    )
    names, credentials = set(), {}
    for name, kind, number, label in rows.distinct():
        names.add(name)
        credentials[f"{kind}:{number}"] = label
    by_label = sorted(credentials.items(), key=lambda item: item[1].casefold())
    return [Choice(name, name) for name in sorted(names - {""}, key=str.casefold)], [
        Choice(*item) for item in by_label
    ]


def _counts(account: Account, reader: ActivityReader) -> QuerySet[AssistantCallCount]:
    return AssistantCallCount.objects.filter(visible_to(reader), account=account).order_by()


def _by_day(counts: QuerySet[AssistantCallCount], days: list[date]) -> dict[CallOutcome, list[int]]:
    daily_counts = counts.values_list("outcome", "day").annotate(n=Sum("calls"))
    calls_by_outcome_and_day = {(outcome, day): calls for outcome, day, calls in daily_counts}
    return {
        outcome: [calls_by_outcome_and_day.get((outcome, day), 0) for day in days] for outcome in CallOutcome
    }


def _groups(rows: Iterable[dict[str, Any]], key: Any) -> list[Group]:
    """Return the groups, most calls first."""
    labels: dict[str, str] = {}
    buckets: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    failed: dict[str, int] = defaultdict(int)
    size: dict[str, int] = defaultdict(int)
    for row in rows:
        name, label = key(row)
        labels[name] = label
        buckets[name][row["bucket"]] += row["n"]
        failed[name] += row["n"] if row["outcome"] != CallOutcome.OK else 0
        size[name] += int(row["size"])
    groups = [
        Group(
            key=name,
            label=labels[name],
            calls=sum(counts.values()),
            failed=failed[name],
            answer_bytes=size[name],
            p50=percentile(counts, 0.5) or 0,
            p95=percentile(counts, 0.95) or 0,
        )
        for name, counts in buckets.items()
    ]
    return sorted(groups, key=lambda group: (-group.calls, group.label))


_UNIT = "calls"
# What went wrong is drawn in red, and what the assistant could mend in amber, whichever else is there.
_TONES = {CallOutcome.INCIDENT: "limit", CallOutcome.ERROR: "warning"}


def calls_table(statistics: Statistics) -> SeriesTable:
    """Return the calls of each day by outcome; outcomes that did not occur are left out."""
    labels = [str(day) for day in statistics.days]
    nonzero = {outcome: values for outcome, values in statistics.by_day.items() if any(values)}
    by_outcome = {outcome: [Decimal(value) for value in values] for outcome, values in nonzero.items()}
    lines = [
        Line(str(outcome.label), values, tone=_TONES.get(outcome, ""))
        for outcome, values in by_outcome.items()
    ]
    chart = chart_spec(unit=_UNIT, labels=labels, lines=lines, line=False, stacked=True, places=0)
    rows: list[tuple[str, Values, Decimal]] = [
        (str(outcome.label), list(values), sum(values, Decimal())) for outcome, values in by_outcome.items()
    ]
    totals = [sum(column, Decimal()) for column in zip(*by_outcome.values(), strict=True)]
    return SeriesTable(_UNIT, labels, rows, list(totals), sum(totals, Decimal()), chart)
