"""Evaluate subscriptions against budgets, anomalies, views and days, and return what to send. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property, partial
from typing import Final

from accounts.models import Account
from finops.alerts.messages import Message
from finops.alerts.models import AlertFiring, AlertSubscription
from finops.alerts.queries.limits import sending_subscriptions
from finops.alerts.triggers import anomaly as anomalies
from finops.alerts.triggers import imports, saved_view, sources, unit_cost
from finops.alerts.triggers.anomaly import anomaly_message, combined_message
from finops.alerts.triggers.budget import Crossing, budget_message, crossings
from finops.alerts.triggers.complete_period import CompletePeriod, complete_period
from finops.alerts.triggers.digest import digest_message, due_digest
from finops.alerts.triggers.saved_view import DueReport
from finops.alerts.triggers.sources import SourceEpisode, SourceStates, source_states
from finops.alerts.triggers.spend import MessageSpend, comparison_error, message_spend
from finops.budgets.cycles import period_of
from finops.budgets.models import Budget
from finops.budgets.queries import budget_figures
from finops.budgets.schemas import BudgetStatus
from finops.costs.models import CostImport, SavedView
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.spend_query import SpendQuery
from finops.insights.anomalies.display import AnomalyDisplay, anomaly_figures
from finops.insights.anomalies.rows import RecentAnomalies
from finops.insights.models import Anomaly, AnomalyRun
from finops.lib import clock
from finops.lib.errors import UserError
from finops.unitcosts.answers import UnitCostAnswer
from finops.unitcosts.queries import query_unit_cost

Trigger = AlertSubscription.Trigger

MAX_SINGLE_MESSAGES: Final = 10
"""The maximum of anomalies that one evaluation sends to a channel one by one; more go out in one message."""

MessageBuilder = Callable[[Collection[str]], Message]


@dataclass(frozen=True)
class AlertCandidate:
    """Something that fires once for each of its keys, in one message about the keys that have not fired before."""

    subscription: AlertSubscription
    keys: tuple[str, ...]
    build_message: MessageBuilder


@dataclass
class Evaluation:
    """One evaluation of an account, which must be in scope. `deadline` applies to all lake queries together."""

    account: Account
    deadline: float
    today: date = field(default_factory=clock.today)
    errors: list[str] = field(default_factory=list)
    """Errors of single subscriptions; the others were evaluated."""
    _reports: dict[tuple[int, str], Message] = field(default_factory=dict, repr=False)
    _unit_costs: dict[tuple[str, str], UnitCostAnswer] = field(default_factory=dict, repr=False)

    @cached_property
    def sources(self) -> Sources:
        return load_sources(self.account)

    @cached_property
    def subscriptions(self) -> list[AlertSubscription]:
        """Subscriptions that are not paused and send with their cost access. Two queries, and those of
        `limits_that_silence`."""
        related = ("channel", "cost_source", "team", "cost_tag", "saved_view", "unit_metric")
        rows = AlertSubscription.objects.filter(paused_at=None).select_related(*related)
        return sending_subscriptions(self.account, list(rows.order_by("pk")))

    def by_trigger(self, trigger: str) -> list[AlertSubscription]:
        return [each for each in self.subscriptions if each.trigger == trigger]

    def anomalies(self) -> list[AlertCandidate]:
        """No lake query; PostgreSQL: three, and where they are converted three more for each currency."""
        subscriptions = self.by_trigger(Trigger.ANOMALY)
        if not subscriptions:
            return []
        first = self.today - timedelta(days=anomalies.LATE_DAYS)
        recent_anomalies = RecentAnomalies(self.account, first)
        recent = recent_anomalies.rows()
        news = {each.pk for each in recent if anomalies.is_news(each, self.sources.coverage)}
        matches = [
            (subscription, each)
            for subscription in subscriptions
            for each in anomalies.relevant_anomalies(
                subscription, recent, recent_anomalies.display(subscription.currency)
            )
            if each.pk in news
        ]
        keys = {each.pk: anomalies.keys_of_incident(each, recent) for _row, each in matches}
        fired_keys = _fired_keys((row, key) for row, each in matches for key in keys[each.pk])
        candidates: list[AlertCandidate] = []
        for subscription in subscriptions:
            own_matches = [each for row, each in matches if row is subscription]
            new = [
                each
                for each in own_matches
                if not any((subscription.pk, key) in fired_keys for key in keys[each.pk])
            ]
            candidates += self._batch_candidates(subscription, new, recent_anomalies.display())
        return candidates

    def _batch_candidates(
        self, subscription: AlertSubscription, new: Sequence[Anomaly], display: AnomalyDisplay
    ) -> list[AlertCandidate]:
        """Return one candidate for each of the largest anomalies, and one for the rest together if there are many."""
        ranked = sorted(new, key=lambda each: (-anomaly_figures(each, display).impact.copy_abs(), each.pk))
        single = ranked if len(ranked) <= MAX_SINGLE_MESSAGES else ranked[: MAX_SINGLE_MESSAGES - 1]
        parts = [[each] for each in single]
        remainder = ranked[len(single) :]
        return [
            self._anomaly_candidate(subscription, part, display)
            for part in [*parts, *([remainder] if remainder else [])]
        ]

    def _anomaly_candidate(
        self, subscription: AlertSubscription, group: Sequence[Anomaly], display: AnomalyDisplay
    ) -> AlertCandidate:
        by_key = {anomalies.key_of(each): each for each in group}

        def build_message(keys: Collection[str]) -> Message:
            new = [each for key, each in by_key.items() if key in keys]
            if len(new) == 1:
                return anomaly_message(self.account, new[0], display)
            return combined_message(self.account, new, display)

        return AlertCandidate(subscription, tuple(by_key), build_message)

    def imports(self) -> list[AlertCandidate]:
        """No lake query; PostgreSQL: two."""
        subscriptions = self.by_trigger(Trigger.IMPORT)
        recent = imports.recent() if subscriptions else []
        matches = [(row, each) for row in subscriptions for each in recent]
        fired_keys = _fired_keys((row, imports.key_of(each)) for row, each in matches)
        return [
            AlertCandidate(row, (imports.key_of(each),), partial(self._import_message, each))
            for row, each in matches
            if (row.pk, imports.key_of(each)) not in fired_keys
        ]

    def _import_message(self, job: CostImport, _keys: Collection[str]) -> Message:
        return imports.message(self.account, job)

    @cached_property
    def source_states(self) -> SourceStates:
        """No lake query; PostgreSQL: five."""
        return source_states(self.account, self.sources.names_by_id)

    def late_sources(self) -> list[AlertCandidate]:
        """Return starts of episodes, and ends of those that were sent. No lake query; PostgreSQL: seven."""
        subscriptions = self.by_trigger(Trigger.SOURCE)
        if not subscriptions:
            return []
        states, since = self.source_states, clock.now() - timedelta(days=sources.OPEN_DAYS)
        rows = AlertFiring.objects.filter(subscription__in=subscriptions, fired_at__gte=since)
        fired_keys = set(rows.values_list("subscription_id", "key"))
        candidates: list[AlertCandidate] = []
        for row in subscriptions:
            own_keys = {key for subscription_id, key in fired_keys if subscription_id == row.pk}
            for source, name, keys in states.ends(own_keys):
                message = sources.end_message(self.account, source, name)
                candidates.append(AlertCandidate(row, keys, partial(_same_message, message)))
            candidates += [
                AlertCandidate(row, (each.key,), partial(self._source_message, each))
                for each in states.starts(own_keys)
            ]
        return candidates

    def _source_message(self, episode: SourceEpisode, _keys: Collection[str]) -> Message:
        return sources.message(self.account, episode)

    def budgets(self) -> list[AlertCandidate]:
        """Lake queries as `budget_statuses` of the budgets that have subscriptions; PostgreSQL: three."""
        subscriptions = self.by_trigger(Trigger.BUDGET)
        if not subscriptions:
            return []
        statuses = {
            each.id: each
            for each in self.budget_statuses({row.budget_id for row in subscriptions if row.budget_id})
        }
        matches = [
            (row, crossing)
            for row in subscriptions
            if row.budget_id in statuses
            for crossing in crossings(
                row.thresholds,
                row.measure,
                row.created_at.date(),
                statuses[row.budget_id],
                self.today,
            )
        ]
        fired_keys = _fired_keys((row, key) for row, crossing in matches for key in crossing.keys)
        return [
            self._budget_candidate(row, crossing)
            for row, crossing in matches
            if any((row.pk, key) not in fired_keys for key in crossing.keys)
        ]

    def budget_statuses(self, ids: Collection[int]) -> list[BudgetStatus]:
        rows = Budget.objects.filter(pk__in=ids).select_related("cost_source", "team", "cost_tag")
        budgets = list(rows.prefetch_related("amounts").order_by("pk"))
        # The previous year is long ago: it is read only while it may still cause alerts.
        with_past = any(
            budget.period == Budget.Period.YEARLY and self._is_young(budget) for budget in budgets
        )
        figures = budget_figures(
            self.account,
            budgets,
            day=self.today,
            deadline=self.deadline,
            sources=self.sources,
            with_past=with_past,
        )
        return [each.status for each in figures]

    def _is_young(self, budget: Budget) -> bool:
        start = period_of(budget.period, self.today, self.account.fiscal_start_month).start
        return (self.today - start).days < anomalies.LATE_DAYS

    def _budget_candidate(self, subscription: AlertSubscription, crossing: Crossing) -> AlertCandidate:
        return AlertCandidate(
            subscription, crossing.keys, lambda _keys: budget_message(self.account, crossing)
        )

    def digests(self) -> list[AlertCandidate]:
        """PostgreSQL: two; where one is due, also as `digest_message`, once for each frequency."""
        subscriptions = self.by_trigger(Trigger.DIGEST)
        if not subscriptions:
            return []
        run = AnomalyRun.objects.first()
        detected_through, through = run.data_through if run else None, self.sources.coverage.complete_through
        due = {each: due_digest(each, self.today) for each in {row.frequency for row in subscriptions}}
        ready = {
            each: digest
            for each, digest in due.items()
            if digest.is_ready(through, detected_through, self.today)
        }
        matches = [row for row in subscriptions if row.frequency in ready]
        fired_keys = _fired_keys((row, ready[row.frequency].key) for row in matches)
        new = [row for row in matches if (row.pk, ready[row.frequency].key) not in fired_keys]
        messages = {
            each: digest_message(self.account, ready[each], self.sources, self.deadline)
            for each in sorted({row.frequency for row in new})
        }
        return [_digest_candidate(row, ready[row.frequency].key, messages[row.frequency]) for row in new]

    def view_reports(self) -> list[AlertCandidate]:
        """PostgreSQL: one; where one is due, also as `query_spend`, once for each view and frequency."""
        through, now = self.sources.coverage.complete_through, clock.now()
        due = [
            (row, report)
            for row, view in self._of_shared_views(Trigger.VIEW_REPORT)
            if (report := saved_view.due_report(self.account, view, row.frequency, self.today)).is_ready(
                through, now
            )
        ]
        fired_keys = _fired_keys((row, report.key) for row, report in due)
        candidates = []
        for row, report in due:
            if (row.pk, report.key) in fired_keys:
                continue
            with self._errors_of("Report", report.view.name):
                message = self._report_message(report)
                candidates.append(AlertCandidate(row, (report.key,), partial(_same_message, message)))
        return candidates

    def _report_message(self, report: DueReport) -> Message:
        key = report.view.pk, report.key
        if key not in self._reports:
            spend = self._spend(report.query)
            self._reports[key] = saved_view.report_message(self.account, report, spend)
        return self._reports[key]

    @contextmanager
    def _errors_of(self, what: str, name: str) -> Iterator[None]:
        """Record an error of one subscription, such as a deleted cost tag, and continue with the others."""
        try:
            yield
        except UserError as error:
            self.errors.append(f"{what} {name!r}: {error.message}")

    def view_changes(self) -> list[AlertCandidate]:
        """PostgreSQL: one; and as `query_spend` for each view and period that has not fired."""
        due = [
            (row, view, period)
            for row, view in self._of_shared_views(Trigger.VIEW_CHANGE)
            if (period := self._complete_period(row)) is not None
        ]
        fired_keys = _fired_keys((row, saved_view.change_key(period)) for row, _view, period in due)
        candidates = []
        for row, view, period in due:
            key = saved_view.change_key(period)
            if (row.pk, key) in fired_keys:
                continue
            with self._errors_of("Change of", view.name):
                spend = self._spend(saved_view.change_query(view, period))
                if spend.missing_rate:
                    raise comparison_error(spend.missing_rate)
                totals = saved_view.changes_beyond(
                    spend.answer, row.minimum_percent, row.minimum_impact, row.currency
                )
                if totals:
                    message = saved_view.change_message(self.account, view, period, spend, totals)
                    candidates.append(AlertCandidate(row, (key,), partial(_same_message, message)))
        return candidates

    def _spend(self, query: SpendQuery) -> MessageSpend:
        return message_spend(self.account, query, sources=self.sources, deadline=self.deadline)

    def _of_shared_views(self, trigger: str) -> list[tuple[AlertSubscription, SavedView]]:
        """Return subscriptions of shared views. Views that became personal are not sent; the page says so."""
        rows = self.by_trigger(trigger)
        return [
            (row, row.saved_view) for row in rows if row.saved_view is not None and row.saved_view.is_shared
        ]

    def _complete_period(self, row: AlertSubscription) -> CompletePeriod | None:
        return complete_period(row.frequency, self.sources.coverage.complete_through, self.today)

    def unit_costs(self) -> list[AlertCandidate]:
        """PostgreSQL: one; and as `query_unit_cost` for each unit metric and period."""
        subscriptions = self.by_trigger(Trigger.UNIT_COST)
        if not subscriptions:
            return []
        fired = AlertFiring.objects.filter(subscription__in=subscriptions)
        fired_keys = set(fired.values_list("subscription_id", "key"))
        candidates: list[AlertCandidate] = []
        for row in subscriptions:
            own_keys = {key for subscription_id, key in fired_keys if subscription_id == row.pk}
            period = self._complete_period(row)
            if period is not None and row.unit_metric is not None:
                with self._errors_of("Unit cost", row.unit_metric.name):
                    candidates += self._unit_cost_candidates(row, row.unit_metric.name, period, own_keys)
        return candidates

    def _unit_cost_candidates(
        self, row: AlertSubscription, name: str, period: CompletePeriod, fired_keys: Collection[str]
    ) -> list[AlertCandidate]:
        """Return no candidate where the period has no unit cost in the target's currency."""
        answer = self._unit_cost(name, period)
        total = unit_cost.total_in(answer, row.currency)
        if total is None or total.unit_cost is None or row.target is None:
            return []
        is_above = total.unit_cost > row.target
        missing = unit_cost.missing_rates(answer)
        if missing and not is_above:
            raise comparison_error(" ".join(missing))
        keys = unit_cost.due_keys(period, is_above=is_above, fired_keys=fired_keys)
        if not keys:
            return []
        message = unit_cost.message(
            self.account, row, period, answer, total, sources=self.sources, is_end=not is_above
        )
        return [AlertCandidate(row, keys, partial(_same_message, message))]

    def _unit_cost(self, name: str, period: CompletePeriod) -> UnitCostAnswer:
        key = name, period.mark
        if key not in self._unit_costs:
            query = unit_cost.unit_cost_query(name, period)
            self._unit_costs[key] = query_unit_cost(self.account, query, deadline=self.deadline)
        return self._unit_costs[key]


def _digest_candidate(subscription: AlertSubscription, key: str, message: Message) -> AlertCandidate:
    return AlertCandidate(subscription, (key,), partial(_same_message, message))


def _same_message(message: Message, _keys: Collection[str]) -> Message:
    return message


def _fired_keys(subscription_keys: Iterable[tuple[AlertSubscription, str]]) -> set[tuple[int, str]]:
    """Return the keys that have already fired. One query."""
    pairs = [(subscription.pk, key) for subscription, key in subscription_keys]
    rows = AlertFiring.objects.filter(
        subscription_id__in={subscription for subscription, _ in pairs}, key__in={key for _, key in pairs}
    )
    return set(rows.values_list("subscription_id", "key")) if pairs else set()
