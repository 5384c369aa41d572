"""The subject of a monthly report, and its sections: the unchanged answers of the queries of pages and tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Generic, TypeVar

from accounts.models import Account
from finops.allocation.team_dimension import NO_TEAM
from finops.budgets.schemas import BudgetStatus
from finops.budgets.status_rules import OK
from finops.costs.answers import MoneyAmount, SpendAnswer, SpendRow, drop_other_currencies
from finops.costs.spend_query import CostFilter, Filter
from finops.insights.anomalies.schemas import AnomaliesAnswer
from finops.insights.savings.schemas import SavingsAnswer
from finops.insights.spend_change.schemas import SpendChangeAnswer
from finops.lake.engine.conversion import display_currency
from finops.lib.errors import UserError
from finops.lib.periods import DateRange, month_end, month_from_text
from finops.lib.url_query import UrlQuery
from finops.unitcosts.answers import UnitCostAnswer

T = TypeVar("T")


class ReportQuery(UrlQuery, frozen=True, kw_only=True):
    """`month` as 2026-10, empty for the newest complete one; `team` by name, empty for the whole account."""

    month: str = ""
    team: str = ""


def read_month(text: str) -> date:
    """Return the first day of a month such as 2026-10. Raises UserError for other text."""
    try:
        return month_from_text(text)
    except ValueError as error:
        problem = f"month: {text[:20]!r} is not a month. Use YYYY-MM."
        raise UserError(problem, field="month", value=text) from error


@dataclass(frozen=True)
class ReportScope:
    """The month of a report, and its account or team. `is_running`: the current month, with days up to `today`."""

    month: date
    today: date
    team: str = ""

    @property
    def days(self) -> DateRange:
        return DateRange(self.month, month_end(self.month))

    @property
    def is_running(self) -> bool:
        return self.days.end >= self.today

    @property
    def last_day(self) -> date:
        """The last day of the report."""
        return min(self.days.end, self.today)

    @property
    def period_fields(self) -> dict[str, Any]:
        """Return the days as fields of a query; the current month is compared with the same days of the previous one."""
        if self.is_running:
            return {"period": "month_to_date"}
        return {"start_date": self.days.start, "end_date": self.days.end}

    @property
    def filters(self) -> list[Filter]:
        return [Filter(dimension="team", values=[self.team])] if self.team else []

    @property
    def cost_filters(self) -> list[CostFilter]:
        return [CostFilter(dimension=each.dimension, values=each.values) for each in self.filters]

    @property
    def query(self) -> ReportQuery:
        return ReportQuery(month=f"{self.month:%Y-%m}", team=self.team)


@dataclass(frozen=True)
class Section(Generic[T]):
    """A part of the report: its answer, or the error that prevents it."""

    answer: T | None = None
    problem: str = ""


@dataclass(frozen=True)
class UnitCostSection:
    """A saved unit metric in the month."""

    name: str
    section: Section[UnitCostAnswer]


@dataclass(frozen=True)
class Report:
    """A month of an account or team. `teams` None: the account has no teams, or the report is of one;
    `more_unit_costs` is the number of saved unit metrics that are not shown."""

    account: Account
    scope: ReportScope
    spend: SpendAnswer
    trend: SpendAnswer
    change: Section[SpendChangeAnswer]
    teams: Section[SpendAnswer] | None
    budgets: Section[Sequence[BudgetStatus]]
    anomalies: Section[AnomaliesAnswer]
    savings: Section[SavingsAnswer]
    unit_costs: Sequence[UnitCostSection]
    more_unit_costs: int = 0
    other_currencies: Sequence[MoneyAmount] = ()
    """The month's cost in currencies that the reader left out."""
    day_clauses: Sequence[str] = ()
    """Days of the month without bills, and sources that deliver no more lines: clauses for the first sentence."""
    originals: Mapping[str, SpendAnswer] = field(default_factory=dict)
    """In a converted report: Services, Trend and Teams as billed."""

    @property
    def budgets_at_risk(self) -> list[BudgetStatus]:
        return [each for each in self.budgets.answer or () if each.status != OK]

    def section_warnings(self, answer: SpendAnswer | SpendChangeAnswer | SavingsAnswer | None) -> list[str]:
        """Return the warnings of a section that the whole report does not have."""
        return [each for each in answer.warnings if each not in self.spend.warnings] if answer else []

    @property
    def trend_warnings(self) -> list[str]:
        return self.section_warnings(self.trend)

    @property
    def team_warnings(self) -> list[str]:
        return self.section_warnings(self.teams.answer if self.teams else None)

    @property
    def change_warnings(self) -> list[str]:
        return self.section_warnings(self.change.answer)

    @property
    def unit_cost_warnings(self) -> list[str]:
        """Return warnings by metric: `Cost per call: …`."""
        answers = [(each.name, each.section.answer) for each in self.unit_costs]
        return [
            f"{name}: {each}"
            for name, answer in answers
            if answer is not None
            for each in answer.warnings
            if each not in self.spend.warnings
        ]

    @property
    def saving_warnings(self) -> list[str]:
        return self.section_warnings(self.savings.answer)

    @property
    def no_team_rows(self) -> list[SpendRow]:
        """Return the month's cost without a team, by currency; in a converted report, cost with a rate."""
        if self.teams is None or self.teams.answer is None:
            return []
        rows = drop_other_currencies(self.teams.answer, display_currency()).rows
        return [row for row in rows if row.group.get("team") == NO_TEAM and row.amount]
