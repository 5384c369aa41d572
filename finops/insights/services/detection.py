"""Looking for anomalies in an account's cost, when its data changed, a day passed, or a person taught it something.

The database says what is due: `AnomalyRun` keeps which data was looked at last. A look reads, finds, and writes once in
one transaction; run twice, at once, or after a kill it leaves the same rows with the same ids.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from django.db import connection, transaction

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.queries.sources import Sources, load_sources
from finops.insights.anomalies.detector import detect
from finops.insights.anomalies.series import AcknowledgedDays, Detection, Observation, Series
from finops.insights.anomalies.severity import ACCOUNT_SHARE, default_minimum
from finops.insights.models import Anomaly, AnomalyRun, AnomalySettings
from finops.insights.models.anomalies import SERVICE
from finops.insights.queries.daily_costs import DailyCost, ScopeKey, daily_costs
from finops.insights.services.explainer import Explainer
from finops.insights.services.reconciliation import Candidate, record
from finops.lib import clock, time_limit
from finops.lib.advisory_lock import advisory_lock
from finops.lib.errors import UserError
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange, add_months, month_start

DETECTOR: Final = "4"
"""Another number, and every account is looked at anew: for changes of what the detector finds."""

OBSERVED_DAYS: Final = 90
LEARNING_MONTHS: Final = 13
DEADLINE: Final = 120.0
"""Seconds for the lake's questions of one look, all together."""

RETRY: Final = timedelta(minutes=10)
CONTEXT_DAYS: Final = 42
"""Days before and after an anomaly that its chart shows."""

_DUE: Final = """
SELECT live.account_id, live.version, coalesce(run.asks, 0) FROM (
    SELECT account_id, max(id) || '-' || count(*) || '-' || %(today)s || '-' || %(detector)s AS version
    FROM lake_lakesegment WHERE kind = 'cost' AND retired_at IS NULL {which} GROUP BY account_id
) AS live LEFT JOIN insights_anomalyrun AS run USING (account_id)
WHERE (run.data_version IS DISTINCT FROM live.version OR run.asks > run.asks_seen)
    AND (coalesce(run.error, '') = '' OR run.finished_at < %(retry)s OR run.asks > run.asks_seen)
ORDER BY live.account_id
"""


def due_accounts() -> list[int]:
    """Accounts whose cost changed since it was looked at, or that were looked at on an earlier day, or were taught.

    One statement over the live cost segments of all accounts."""
    return [due.account_id for due in _due("")]


def detect_if_due(account: Account) -> bool:
    """Look at an account; False when that is not due, or somebody else is at it."""
    with advisory_lock(f"anomalies {account.pk}") as mine:
        due = _due("AND account_id = %(account)s", account.pk) if mine else []
        if not due:
            return False
        with account_scope(account):
            _detect(account, due[0])
    return True


def _detect(account: Account, due: _Due) -> None:
    try:
        run = _DetectionRun(account)
        candidates = run.candidates()
    except UserError as error:
        _finish(account, due, data_version="", error=error.message)
        return
    with transaction.atomic():
        record(account, candidates, window=run.window, covered=run.covers)
        _finish(
            account,
            due,
            data_version=due.version,
            error="",
            data_through=run.window.end,
            series=run.series,
        )


def _finish(account: Account, due: _Due, **values: object) -> None:
    """What this look knew, and nothing of what people asked meanwhile."""
    AnomalyRun.objects.get_or_create(account=account)
    AnomalyRun.objects.update(asks_seen=due.asks, finished_at=clock.now(), **values)


@dataclass
class _DetectionRun:
    """One pass over an account's cost."""

    account: Account
    series: int = 0
    sources: Sources = field(init=False)
    settings: AnomalySettings = field(init=False)
    window: DateRange = field(init=False)
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.sources = load_sources(self.account)
        self.settings = AnomalySettings.objects.first() or AnomalySettings(account=self.account)
        self.deadline = time.monotonic() + DEADLINE
        through = max(self.last_complete_days.values(), default=clock.today())
        self.window = DateRange(through - timedelta(days=OBSERVED_DAYS - 1), through)
        self.months: dict[str, Decimal] = {}

    @property
    def last_complete_days(self) -> dict[int, date]:
        """The last complete day of each source: a day that is not all there says nothing."""
        detections = self.sources.coverage.last_complete_days
        return {source: last for source, last in detections.items() if source in self.sources.health}

    @property
    def start(self) -> date:
        """Where learning begins: the same day all month, so that looks of a month see the same past."""
        return add_months(month_start(self.window.start), -LEARNING_MONTHS)

    def candidates(self) -> list[Candidate]:
        """What every watched dimension has, with its causes."""
        acknowledged = self._acknowledged_days()
        candidates: list[Candidate] = []
        for name in dict.fromkeys([SERVICE, *self.settings.watches]):
            explainer = Explainer(self.account, self.sources, name, self.deadline)
            days = DateRange(self.start, self.window.end)
            costs = daily_costs(
                self.account,
                explainer.scope,
                days,
                manifest=self.sources.manifest,
                deadline=self.deadline,
            )
            if name == SERVICE:
                self._set_months(costs)
            for key, cost in sorted(costs.items(), key=lambda pair: repr(pair[0])):
                time_limit.check()
                candidates += self._scope_candidates(explainer, key, cost, acknowledged)
        return candidates

    def _scope_candidates(
        self,
        explainer: Explainer,
        key: ScopeKey,
        cost: DailyCost,
        acknowledged: dict[tuple[int, str, str, str], list[AcknowledgedDays]],
    ) -> list[Candidate]:
        month, own_minimum = self.months.get(key.currency, Decimal(0)), self.settings.minimum(key.currency)
        minimum = default_minimum(month, self._month(cost)) if own_minimum is None else own_minimum
        scale = month * ACCOUNT_SHARE if own_minimum is None else own_minimum
        through = self.last_complete_days.get(key.source_id)
        if through is None or exact_sum(abs(amount) for amount in cost.days.values()) < minimum:
            return []
        self.series += 1
        scope = (key.source_id, explainer.name, key.value, key.currency)
        series = self._series(key.source_id, cost, through, tuple(acknowledged.get(scope, ())))
        result = detect(series)
        return [
            Candidate(
                key,
                explainer,
                cost,
                detection,
                self._surrounding_days(result.observations, detection),
                minimum,
                scale,
            )
            for detection in result.detections
            if detection.last >= self.window.start and not self._is_too_new(detection, through)
        ]

    def _series(
        self, source_id: int, cost: DailyCost, through: date, acknowledged: tuple[AcknowledgedDays, ...]
    ) -> Series:
        days = [self.start + timedelta(days=index) for index in range((through - self.start).days + 1)]
        ranges = self._ranges(source_id)
        while days and not any(covers.start <= days[0] <= covers.end for covers in ranges):
            days.pop(0)
        values = [
            float(cost.days[day])
            if day in cost.days
            else (0.0 if any(covers.start <= day <= covers.end for covers in ranges) else None)
            for day in days
        ]
        return Series(days[0] if days else self.start, values, acknowledged)

    def _ranges(self, source_id: int) -> list[DateRange]:
        coverage = self.sources.coverage
        return [
            covered
            for span, covered in zip(coverage.spans, coverage.covered, strict=True)
            if span.source_id == source_id
        ]

    def covers(self, source_id: int, first: date, last: date) -> bool:
        """Whether the source has data of all these days: else nothing can be said to be gone."""
        ranges, through = self._ranges(source_id), self.last_complete_days.get(source_id)
        days = [first + timedelta(days=index) for index in range((last - first).days + 1)]
        return through is not None and all(
            day <= through and any(covered.start <= day <= covered.end for covered in ranges) for day in days
        )

    @staticmethod
    def _is_too_new(detection: Detection, through: date) -> bool:
        """A drop on a source's newest day: bills deliver that day in parts, so the next day decides."""
        return not detection.is_up and detection.first == detection.last == through

    @staticmethod
    def _surrounding_days(
        observations: tuple[Observation | None, ...], detection: Detection
    ) -> list[Observation]:
        inside = {day.day: day for day in detection.days}
        first, last = (
            detection.first - timedelta(days=CONTEXT_DAYS),
            detection.last + timedelta(days=CONTEXT_DAYS // 3),
        )
        return [
            inside.get(day.day, day) for day in observations if day is not None and first <= day.day <= last
        ]

    def _acknowledged_days(self) -> dict[tuple[int, str, str, str], list[AcknowledgedDays]]:
        """What people called expected, by scope."""
        by_scope: dict[tuple[int, str, str, str], list[AcknowledgedDays]] = {}
        for row in Anomaly.objects.filter(state=Anomaly.State.EXPECTED, last_day__gte=self.start):
            scope = (row.source_id, row.dimension, row.value, row.currency)
            by_scope.setdefault(scope, []).append(AcknowledgedDays(row.first_day, row.last_day, row.ongoing))
        return by_scope

    def _set_months(self, costs: dict[ScopeKey, DailyCost]) -> None:
        """What the account's last 30 days cost, by currency."""
        for currency in {key.currency for key in costs}:
            of_it = [cost for key, cost in costs.items() if key.currency == currency]
            self.months[currency] = abs(
                exact_sum(amount for cost in of_it for amount in self._amounts_since(cost, 30))
            )

    def _month(self, cost: DailyCost) -> Decimal:
        """What 30 days of a scope cost: the last ones, or a third of all that are judged: it may just have ended."""
        last, all_ = (abs(exact_sum(self._amounts_since(cost, days))) for days in (30, OBSERVED_DAYS))
        return max(last, all_ * 30 / OBSERVED_DAYS)

    def _amounts_since(self, cost: DailyCost, days: int) -> list[Decimal]:
        first = self.window.end - timedelta(days=days - 1)
        return [amount for day, amount in cost.days.items() if day >= first]


@dataclass(frozen=True)
class _Due:
    """An account to look at, the data that it has, and how often people had asked."""

    account_id: int
    version: str
    asks: int


def _due(which: str, account_id: int | None = None) -> list[_Due]:
    now = clock.now()
    with connection.cursor() as cursor:
        cursor.execute(
            _DUE.format(which=which),
            {"today": str(now.date()), "retry": now - RETRY, "account": account_id, "detector": DETECTOR},
        )
        return [_Due(*row) for row in cursor.fetchall()]
