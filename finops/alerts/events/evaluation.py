"""Find events that subscriptions have not received yet. Reads only; the account must be in scope.

A budget, a forecast and a source already have a state when a subscription starts: its first evaluation stores that as
the baseline and sends nothing. Anomalies and imports have a time; those after the subscription's start are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

from finops.alerts.evaluation import MAX_SINGLE_MESSAGES, Evaluation
from finops.alerts.events.event_messages import finished_import_message, forecast_message
from finops.alerts.events.event_types import (
    AnomalyArguments,
    BudgetArguments,
    Event,
    ForecastArguments,
    arguments_of,
)
from finops.alerts.messages import Message
from finops.alerts.models import AlertSubscription, EventFiring, EventSubscription
from finops.alerts.triggers import anomaly as anomalies
from finops.alerts.triggers import imports, sources
from finops.alerts.triggers.anomaly import anomaly_message, combined_message
from finops.alerts.triggers.budget import budget_message, crossings
from finops.budgets.forecast_answers import ForecastAnswer
from finops.budgets.forecast_query import ForecastQuery
from finops.budgets.models import Budget
from finops.budgets.queries.forecasts import forecast_spend
from finops.costs.models import CostImport
from finops.insights.anomalies.rows import RecentAnomalies
from finops.insights.models import Anomaly
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.money import ratio


@dataclass(frozen=True)
class EventCandidate:
    """An event to send once for each of its keys; without a message the keys are the baseline. `state`: the
    subscription's next state."""

    subscription: EventSubscription
    keys: tuple[str, ...]
    message: Callable[[], Message] | None
    state: dict[str, Any]


@dataclass
class EventEvaluation:
    """The active event subscriptions of an evaluation's account. `errors` are of subscriptions that could not be
    evaluated."""

    evaluation: Evaluation
    errors: list[str] = field(default_factory=list)

    @cached_property
    def subscriptions(self) -> list[EventSubscription]:
        rows = EventSubscription.objects.filter(ended_at=None, expires_at__gt=clock.now())
        return list(rows.order_by("pk"))

    def candidates(self) -> list[EventCandidate]:
        """Return the candidates. Cost: nothing without subscriptions; else as alerts of the same kinds, and one
        forecast."""
        parts: dict[str, Callable[[list[EventSubscription]], list[EventCandidate]]] = {
            Event.ANOMALY_OPENED: self._anomalies,
            Event.IMPORT_FINISHED: self._imports,
            Event.CONNECTION_PROBLEM: self._sources,
            Event.BUDGET_THRESHOLD: self._budgets,
            Event.FORECAST_CHANGED: self._forecasts,
        }
        candidates: list[EventCandidate] = []
        for event, part in parts.items():
            rows = [each for each in self.subscriptions if each.event == event]
            try:
                candidates += part(rows) if rows else []
            except UserError as error:
                self.errors.append(error.message)
        return candidates

    @cached_property
    def _fired_keys(self) -> dict[int, set[str]]:
        keys: dict[int, set[str]] = {each.pk: set() for each in self.subscriptions}
        rows = EventFiring.objects.filter(subscription__in=self.subscriptions)
        for subscription_id, key in rows.values_list("subscription_id", "key"):
            keys[subscription_id].add(key)
        return keys

    def _new(self, row: EventSubscription, keys: Collection[str]) -> tuple[str, ...]:
        return tuple(key for key in keys if key not in self._fired_keys[row.pk])

    def _anomalies(self, rows: list[EventSubscription]) -> list[EventCandidate]:
        evaluation = self.evaluation
        recent = RecentAnomalies(evaluation.account, evaluation.today - timedelta(days=anomalies.LATE_DAYS))
        every = recent.rows()
        return [each for row in rows for each in self._anomalies_of(row, every, recent)]

    def _anomalies_of(
        self, row: EventSubscription, every: Sequence[Anomaly], recent: RecentAnomalies
    ) -> list[EventCandidate]:
        arguments = arguments_of(row)
        if not isinstance(arguments, AnomalyArguments):
            return []
        scope = AlertSubscription(
            trigger=AlertSubscription.Trigger.ANOMALY,
            scope=AlertSubscription.Scope.ACCOUNT,
            minimum_impact=arguments.minimum_impact,
            currency=arguments.currency,
        )
        fired, coverage = self._fired_keys[row.pk], self.evaluation.sources.coverage
        new = [
            each
            for each in anomalies.relevant_anomalies(scope, every, recent.display(arguments.currency))
            if each.found_at >= row.created_at
            and anomalies.is_news(each, coverage)
            and not fired.intersection(anomalies.keys_of_incident(each, every))
        ]
        single = new if len(new) <= MAX_SINGLE_MESSAGES else new[: MAX_SINGLE_MESSAGES - 1]
        groups = [[each] for each in single]
        last_group = new[len(single) :]
        return [
            EventCandidate(
                row,
                tuple(anomalies.key_of(each) for each in group),
                partial(self._anomaly_message, group, recent),
                row.state,
            )
            for group in [*groups, *([last_group] if last_group else [])]
        ]

    def _anomaly_message(self, group: Sequence[Anomaly], recent: RecentAnomalies) -> Message:
        account, display = self.evaluation.account, recent.display()
        if len(group) == 1:
            return anomaly_message(account, group[0], display)
        return combined_message(account, group, display)

    def _imports(self, rows: list[EventSubscription]) -> list[EventCandidate]:
        since = max(min(row.created_at for row in rows), clock.now() - timedelta(days=imports.LATE_DAYS))
        jobs = CostImport.objects.filter(status=CostImport.Status.DONE, finished_at__gte=since)
        finished = list(jobs.select_related("source").order_by("pk"))
        return [
            EventCandidate(
                row,
                (key,),
                partial(finished_import_message, self.evaluation.account, job),
                row.state,
            )
            for row in rows
            for job in finished
            if job.finished_at is not None
            and job.finished_at >= row.created_at
            and self._new(row, [key := imports.key_of(job)])
        ]

    def _sources(self, rows: list[EventSubscription]) -> list[EventCandidate]:
        account, states = self.evaluation.account, self.evaluation.source_states
        candidates: list[EventCandidate] = []
        for row in rows:
            if not row.state:
                candidates.append(_baseline(row, tuple(each.key for each in states.episodes)))
                continue
            own_keys = self._fired_keys[row.pk]
            for source, name, keys in states.ends(own_keys):
                end = partial(sources.end_message, account, source, name)
                candidates.append(EventCandidate(row, keys, end, row.state))
            candidates += [
                EventCandidate(row, (each.key,), partial(sources.message, account, each), row.state)
                for each in states.starts(own_keys)
            ]
        return candidates

    def _budgets(self, rows: list[EventSubscription]) -> list[EventCandidate]:
        statuses = self.evaluation.budget_statuses(list(Budget.objects.values_list("pk", flat=True)))
        candidates: list[EventCandidate] = []
        for row in rows:
            arguments = arguments_of(row)
            if not isinstance(arguments, BudgetArguments):
                continue
            reached = [
                crossing
                for status in statuses
                if arguments.budget in (None, status.id)
                for crossing in crossings(
                    arguments.thresholds,
                    arguments.measure,
                    row.created_at.date(),
                    status,
                    self.evaluation.today,
                )
            ]
            if not row.state:
                candidates.append(_baseline(row, tuple(key for each in reached for key in each.keys)))
                continue
            candidates += [
                EventCandidate(
                    row, each.keys, partial(budget_message, self.evaluation.account, each), row.state
                )
                for each in reached
                if self._new(row, each.keys)
            ]
        return candidates

    def _forecasts(self, rows: list[EventSubscription]) -> list[EventCandidate]:
        answer = forecast_spend(
            self.evaluation.account,
            ForecastQuery(),
            deadline=self.evaluation.deadline,
            sources=self.evaluation.sources,
        )
        month = str(answer.period.start_date)
        expected = {each.currency: each.expected for each in answer.totals if each.expected is not None}
        return [each for row in rows for each in self._forecasts_of(row, answer, month, expected)]

    def _forecasts_of(
        self, row: EventSubscription, answer: ForecastAnswer, month: str, expected: dict[str, Decimal]
    ) -> list[EventCandidate]:
        arguments = arguments_of(row)
        texts = {currency: str(amount) for currency, amount in expected.items()}
        if not isinstance(arguments, ForecastArguments) or row.state.get("month") != month:
            return [EventCandidate(row, (), None, {"month": month, "expected": texts})]
        before = {currency: Decimal(text) for currency, text in row.state["expected"].items()}
        changed = {
            currency: amount
            for currency, amount in expected.items()
            if currency in before and _percent(before[currency], amount) >= arguments.minimum_percent
        }
        expected_texts = {**texts, **row.state["expected"], **{each: texts[each] for each in changed}}
        state = {"month": month, "expected": expected_texts}
        if not changed:
            return [] if state == row.state else [EventCandidate(row, (), None, state)]
        largest = max(changed, key=lambda each: _percent(before[each], changed[each]))
        return [
            EventCandidate(
                row,
                tuple(f"forecast:{month}:{each}:{changed[each]}"[:200] for each in changed),
                partial(
                    forecast_message,
                    self.evaluation.account,
                    answer,
                    largest,
                    before[largest],
                    changed[largest],
                    sorted(changed.keys() - {largest}),
                ),
                state,
            )
        ]


def _baseline(row: EventSubscription, keys: tuple[str, ...]) -> EventCandidate:
    return EventCandidate(row, keys, None, {"began": clock.now().isoformat()})


def _percent(before: Decimal, now: Decimal) -> Decimal:
    """Return the change in percent of the earlier amount, without its sign; a change from 0 exceeds any threshold."""
    share = ratio((now - before).copy_abs(), before.copy_abs())
    if share is None:
        return Decimal(0) if now == before else Decimal("Infinity")
    return share * 100
