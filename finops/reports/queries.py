"""The monthly report: one function calls the queries of the pages, once each, and computes nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import Final, TypeVar

from msgspec.structs import replace

from accounts.models import Account
from finops.allocation.queries.teams import team_names
from finops.budgets.queries import budget_statuses, budgets_of
from finops.budgets.schemas import BudgetStatus
from finops.budgets.status_rules import EXCEEDED, OK, WARNING
from finops.costs.answers import MoneyAmount, SpendAnswer
from finops.costs.queries import query_spend
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend_words import missing_end_words, stopped_words, uncovered_words
from finops.costs.spend_query import SpendQuery
from finops.insights.anomalies.queries import list_anomalies
from finops.insights.anomalies.schemas import AnomaliesAnswer, AnomaliesQuery
from finops.insights.savings.queries import list_savings
from finops.insights.savings.schemas import SavingsAnswer, SavingsQuery
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.schemas import SpendChangeAnswer, SpendChangeQuery
from finops.lake.engine.conversion import (
    OneCurrency,
    currency_scope,
    current_currencies,
    display_currency,
)
from finops.lib import clock
from finops.lib.errors import UserError, unknown_value
from finops.lib.periods import DateRange, add_months, month_end, month_start
from finops.lib.query_page import ALL_ROWS
from finops.reports.report import Report, ReportQuery, ReportScope, Section, UnitCostSection, read_month
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.queries import query_unit_cost
from finops.unitcosts.queries.facts import SharedReads, common_reads
from finops.unitcosts.queries.unit_metrics import unit_metrics_of
from finops.unitcosts.unit_cost_query import UnitCostQuery

TREND_MONTHS: Final = 12
"""The number of months before the report's own."""
TREND_GROUPS: Final = 8
SERVICES: Final = 10
MOVERS: Final = 8
TEAMS: Final = 50
ANOMALIES: Final = 10
SAVINGS: Final = 5
UNIT_COSTS: Final = 8

_WORST_FIRST: Final = {EXCEEDED: 0, WARNING: 1, OK: 2}

T = TypeVar("T")


def report_months(sources: Sources) -> list[date]:
    """Return the first day of each month that can have a report: those with cost data up to the current month, newest
    first. Bills may have lines of future days, such as fees."""
    first, last = sources.coverage.first_day, sources.coverage.last_day
    if first is None or last is None or first > clock.today():
        return []
    months = [month_start(min(last, clock.today()))]
    while months[-1] > first:
        months.append(add_months(months[-1], -1))
    return months


def resolve_scope(account: Account, query: ReportQuery, sources: Sources) -> ReportScope:
    """Return the month and team of a query. One query for a team. Raises UserError for a month without data, for an
    unknown team, and for an account without cost data."""
    months, today = report_months(sources), clock.today()
    if not months:
        raise UserError("There is no cost data yet. Connect a cost source on the Connections page.")
    if query.month:
        month = read_month(query.month)
    else:
        month = next((each for each in months if month_end(each) < today), months[0])
    if month not in months:
        raise UserError(
            f"month: {month:%Y-%m} has no cost data. Data is from {months[-1]:%Y-%m} to {months[0]:%Y-%m}.",
            field="month",
            value=query.month,
        )
    return ReportScope(month, today, _team(account, query.team))


def build_report(
    account: Account,
    scope: ReportScope,
    *,
    sources: Sources | None = None,
    deadline: float | None = None,
    has_teams: bool | None = None,
    with_originals: bool = False,
) -> Report:
    """Return the report of a month. The account must be in scope. `has_teams`: pass it if already known.

    Raises UserError if the month's spend or its trend cannot be read; other sections contain their own error. Cost in
    lake queries: one each for spend, trend and teams, those of `explain_spend_change`, `budget_statuses`,
    `list_savings` and, for each unit metric, `query_unit_cost`; for a team a small one more for most; if the reader
    selected one currency of several, one for the others. `with_originals` adds, to a converted report, one lake query
    for each of spend, trend and teams.
    """
    sources = (sources or load_sources(account)).for_several_questions
    reader = _Reader(account, scope, sources, deadline)
    unit_costs, more_unit_costs = reader.unit_costs()
    has_teams = bool(team_names(account)) if has_teams is None else has_teams
    teams = _section(reader.teams) if has_teams and not scope.team else None
    with_teams = teams is not None and teams.answer is not None
    return Report(
        account=account,
        scope=scope,
        spend=reader.spend(),
        trend=reader.trend(),
        change=_section(reader.change),
        teams=teams,
        budgets=_section(reader.budgets),
        anomalies=_section(reader.anomalies),
        savings=_section(reader.savings),
        unit_costs=unit_costs,
        more_unit_costs=more_unit_costs,
        other_currencies=reader.other_currencies(),
        day_clauses=reader.day_clauses(),
        originals=reader.originals(with_teams=with_teams) if with_originals else {},
    )


class _Reader:
    """The question of each section; a page or tool with the same question has the same answer."""

    def __init__(
        self, account: Account, scope: ReportScope, sources: Sources, deadline: float | None
    ) -> None:
        self.account, self.scope, self.sources, self.deadline = account, scope, sources, deadline

    def spend_query(self) -> SpendQuery:
        return SpendQuery(
            **self.scope.period_fields,
            group_by=["service"],
            filters=self.scope.filters,
            compare_to="previous_period",
            limit=SERVICES,
        )

    def trend_query(self) -> SpendQuery:
        return SpendQuery(
            start_date=add_months(self.scope.month, -TREND_MONTHS),
            end_date=self.scope.last_day,
            granularity="month",
            group_by=["service_category"],
            filters=self.scope.filters,
            limit=TREND_GROUPS,
        )

    def teams_query(self) -> SpendQuery:
        return SpendQuery(
            **self.scope.period_fields, group_by=["team"], compare_to="previous_period", limit=TEAMS
        )

    def spend(self) -> SpendAnswer:
        return self._spend(self.spend_query())

    def trend(self) -> SpendAnswer:
        return self._spend(self.trend_query())

    def teams(self) -> SpendAnswer:
        return self._spend(self.teams_query())

    def originals(self, *, with_teams: bool) -> dict[str, SpendAnswer]:
        """Return the converted sections as billed, with every group, by section title; empty without conversion."""
        if not display_currency():
            return {}
        queries = {"Services": self.spend_query(), "Trend": self.trend_query()}
        if with_teams:
            queries["Teams"] = self.teams_query()
        with currency_scope(None):
            return {
                name: self._spend(replace(query, compare_to="none", limit=ALL_ROWS))
                for name, query in queries.items()
            }

    def other_currencies(self) -> list[MoneyAmount]:
        """Return the month in the currencies that a single-currency scope leaves out; empty in any other scope."""
        scope = current_currencies()
        if not isinstance(scope, OneCurrency):
            return []
        query = SpendQuery(**self.scope.period_fields, filters=self.scope.filters)
        with currency_scope(None):
            totals = self._spend(query).totals
        return [
            MoneyAmount(amount=total.amount, currency=total.currency)
            for total in totals
            if total.currency != scope.currency and total.amount
        ]

    def day_clauses(self) -> list[str]:
        """Return clauses on days of the month that no bill covers, and on sources that stopped. No query."""
        coverage, days = self.sources.coverage, DateRange(self.scope.days.start, self.scope.last_day)
        stopped = stopped_words(coverage, coverage.stopped_sources(days), self.sources.names_by_id)
        words = uncovered_words(coverage, days) + missing_end_words(coverage, days) + stopped
        return words.split("; ")[1:]

    def _spend(self, query: SpendQuery) -> SpendAnswer:
        return query_spend(self.account, query, sources=self.sources, deadline=self.deadline)

    def change(self) -> SpendChangeAnswer:
        query = SpendChangeQuery(**self.scope.period_fields, filters=self.scope.cost_filters, limit=MOVERS)
        return explain_spend_change(self.account, query, sources=self.sources, deadline=self.deadline)

    def budgets(self) -> Sequence[BudgetStatus]:
        """Return budgets as of the last day, most urgent first; for a team those with its scope."""
        team = self.scope.team
        budgets = budgets_of(self.account)
        matches = [each for each in budgets if not team or (each.team is not None and each.team.name == team)]
        statuses = budget_statuses(
            self.account, matches, day=self.scope.last_day, sources=self.sources, deadline=self.deadline
        )
        return sorted(statuses, key=lambda each: (_WORST_FIRST[each.status], each.name.casefold()))

    def anomalies(self) -> AnomaliesAnswer:
        days = self.scope.days
        query = AnomaliesQuery(
            status="all",
            start_date=days.start,
            end_date=days.end,
            team=self.scope.team,
            limit=ANOMALIES,
        )
        return list_anomalies(self.account, query, sources=self.sources, deadline=self.deadline)

    def savings(self) -> SavingsAnswer:
        query = SavingsQuery(team=self.scope.team, limit=SAVINGS)
        return list_savings(self.account, query, sources=self.sources, deadline=self.deadline, evidence=0)

    def unit_costs(self) -> tuple[list[UnitCostSection], int]:
        """Return the first saved unit metrics by name, and the number of others."""
        saved = unit_metrics_of(self.account)
        if not saved:
            return [], 0
        shared = common_reads(self.account, saved, self.sources)
        sections = [self._unit_cost(each, shared) for each in saved[:UNIT_COSTS]]
        return sections, len(saved) - len(sections)

    def _unit_cost(self, metric: UnitMetric, shared: SharedReads) -> UnitCostSection:
        query = UnitCostQuery(
            unit_metric=metric.name,
            mode="total",
            compare_to="previous_period",
            filters=self.scope.cost_filters,
            **self.scope.period_fields,
        )
        read = partial(
            query_unit_cost,
            self.account,
            query,
            shared=shared,
            deadline=self.deadline,
        )
        return UnitCostSection(metric.name, _section(read))


def _section(read: Callable[[], T]) -> Section[T]:
    try:
        return Section(read())
    except UserError as problem:
        return Section(problem=problem.message)


def _team(account: Account, name: str) -> str:
    if not name.strip():
        return ""
    names = {each.casefold(): each for each in team_names(account)}
    team = names.get(name.strip().casefold())
    if team is None:
        raise unknown_value("team", name, list(names.values()))
    return team
