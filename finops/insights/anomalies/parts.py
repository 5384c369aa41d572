"""A detection in parts: several workers process an account with tens of thousands of series, each part a task.

The database says which parts there are and which are done (`AnomalyRun.parts`), so a message that is lost or comes twice
changes nothing. A part is a range of values of one dimension, so all series of a value are in one part whatever their
currency; what it finds is kept as text, and the last part's end brings the account up to date as a look in one piece does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

import msgspec
from django.db import transaction

from accounts.models import Account
from finops.costs.dimensions import Dimension
from finops.costs.queries.spend_lake import NO_CURRENCY
from finops.insights.anomalies.detection import AnomalyCandidate, DetectionRun
from finops.insights.anomalies.detector import Detection, Observation
from finops.insights.anomalies.lake import DailyCost, Explainer, ScopeKey, is_ordinary
from finops.insights.models import Anomaly, AnomalyRun
from finops.worker.broker import publish

PART_TASK: Final = "insights.find_anomalies_in_part"
SERIES: Final = 2_000
"""Values of a dimension in a part: about half a minute of one core, and the daily cost of so many in memory."""

LEAST_LINES: Final = 500_000
"""An account with fewer lines in the analyzed days is processed in one piece, and its values are not counted."""

EXPIRES: Final = 60.0
"""Seconds after which a part's message is void: beat asks for parts that are not done each minute."""


class PartFinding(msgspec.Struct, frozen=True):
    """An anomaly as `AnomalyCandidate` has it, with the exact cost of the days that are shown."""

    key: ScopeKey
    cost: DailyCost
    detection: Detection
    around: list[Observation]
    minimum: Decimal
    scale: Decimal


class DetectionPart(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Values from `first` up to but not `until` (None: to the end) of a dimension. Once done, what was found."""

    dimension: str
    first: str
    until: str | None = None
    done: bool = False
    series: int = 0
    findings: list[PartFinding] = []
    with_cost: list[int] = []
    """Rows of before (pk) whose scope has a line in their currency."""

    def holds(self, dimension: str, value: str) -> bool:
        return (
            self.dimension == dimension and value >= self.first and (self.until is None or value < self.until)
        )


class DetectionPlan(msgspec.Struct, kw_only=True):
    """Of one version of an account's bills. `asks`: how often people had changed what is learnt."""

    version: str
    asks: int
    months: dict[str, Decimal]
    parts: list[DetectionPart]

    @property
    def is_done(self) -> bool:
        return all(each.done for each in self.parts)

    def has_cost(self, row: Anomaly) -> bool:
        """Whether a line of its scope is in its currency."""
        return any(row.pk in each.with_cost for each in self.parts)


@dataclass(frozen=True)
class MonitoredValuesBuild:
    """The values of a dimension that lines have."""

    dimension: Dimension

    def __call__(self, table: Any) -> Any:
        lines = table.filter(is_ordinary(table))
        return lines.select(value=self.dimension.value(lines).coalesce(self.dimension.absent)).distinct()


@dataclass(frozen=True)
class MonthsBuild:
    """The series to analyze, by currency."""

    def __call__(self, table: Any) -> Any:
        lines = table.filter(is_ordinary(table))
        selected = lines.select(currency=lines.currency.coalesce(NO_CURRENCY), amount=lines.effective_cost)
        return selected.group_by("currency").aggregate(amount=selected.amount.sum())


def plan(run: DetectionRun, version: str, asks: int) -> DetectionPlan | None:
    """The parts of a look, or None where one piece does. A lake query for each dimension, one more; none for few lines."""
    days = run.days
    lines = sum(
        each.rows
        for each in run.reader.sources.manifest.segments
        if each.first_day <= days.end and each.last_day >= days.start
    )
    if lines < LEAST_LINES:
        return None
    parts: list[DetectionPart] = []
    for name in run.monitored:
        scope = Explainer(run.reader, name).scope
        table = run.reader.run(days, MonitoredValuesBuild(scope), scope.tag_keys)
        values = sorted(table["value"].to_pylist())
        starts = ["", *values[SERIES::SERIES]]
        ends: list[str | None] = [*starts[1:], None]
        parts += [
            DetectionPart(dimension=name, first=first, until=until)
            for first, until in zip(starts, ends, strict=True)
        ]
    if len(parts) == len(run.monitored):
        return None
    months = run.reader.run(run.last_month, MonthsBuild()).to_pylist()
    return DetectionPlan(
        version=version,
        asks=asks,
        months={row["currency"]: abs(row["amount"] or Decimal(0)) for row in months},
        parts=parts,
    )


def current_parts(row: AnomalyRun | None) -> DetectionPlan | None:
    """The parts that the database has; None if another version of the program planned them, which is then planned again."""
    if row is None or row.parts is None:
        return None
    try:
        return msgspec.convert(row.parts, DetectionPlan)
    except msgspec.ValidationError:
        return None


def store(account: Account, parts: DetectionPlan | None) -> None:
    AnomalyRun.objects.get_or_create(account=account)
    AnomalyRun.objects.update(parts=None if parts is None else msgspec.to_builtins(parts))


def request(account: Account, parts: DetectionPlan) -> None:
    """Ask workers for what is not done. One that is done elsewhere is left alone there."""
    for number, part in enumerate(parts.parts):
        if not part.done:
            publish(PART_TASK, account.pk, number, expires=EXPIRES)


def detect_part(account: Account, number: int) -> bool:
    """Look at one part, and keep what was found; whether it was the last. A part that is done, or of a version that is not
    looked at any more, is left alone. Call it in the account's scope, one at a time."""
    parts = current_parts(AnomalyRun.objects.first())
    if parts is None or number >= len(parts.parts) or parts.parts[number].done:
        return False
    part = parts.parts[number]
    run = DetectionRun(account)
    run.months = dict(parts.months)
    candidates = run.part_candidates(part.dimension, (part.first, part.until))
    part.findings = [_finding(each) for each in candidates]
    part.series, part.done = run.series, True
    rows = Anomaly.objects.filter(dimension=part.dimension, last_day__gte=run.window.start)
    part.with_cost = [row.pk for row in rows if part.holds(row.dimension, row.value) and run.has_cost(row)]
    with transaction.atomic():
        now = current_parts(AnomalyRun.objects.select_for_update().first())
        if now is None or (now.version, now.asks) != (parts.version, parts.asks):
            return False
        now.parts[number] = part
        store(account, now)
    return now.is_done


def _finding(each: AnomalyCandidate) -> PartFinding:
    shown: set[date] = {day.day for day in (*each.around, *each.detection.days)}
    days = {day: amount for day, amount in each.cost.days.items() if day in shown}
    return PartFinding(
        each.key, DailyCost(days, each.cost.label), each.detection, each.around, each.minimum, each.scale
    )


def candidates_of(run: DetectionRun, parts: Sequence[DetectionPart]) -> list[AnomalyCandidate]:
    """What all parts found, as a look in one piece has it."""
    explainers = {name: Explainer(run.reader, name, run.monitored) for name in run.monitored}
    return [
        AnomalyCandidate(
            each.key,
            explainers[part.dimension],
            each.cost,
            each.detection,
            each.around,
            each.minimum,
            each.scale,
        )
        for part in parts
        for each in part.findings
    ]
