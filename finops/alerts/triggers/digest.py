"""Digests: when one is due, and its message with the days' total and its change, largest changes, budgets at risk,
open anomalies and savings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from accounts.models import Account
from finops.alerts.messages import Fact, Message, console_url
from finops.alerts.models import AlertSubscription
from finops.alerts.triggers.complete_period import BUCKETS
from finops.alerts.triggers.figures import (
    MOST_CURRENCIES,
    amount,
    change_text,
    signed_amount,
    spend_chart,
    totals_text,
)
from finops.alerts.triggers.spend import MessageSpend, message_spend
from finops.budgets.queries import budget_statuses
from finops.budgets.schemas import BudgetStatus
from finops.budgets.status_rules import EXCEEDED, OK
from finops.costs.answers import SpendTotal
from finops.costs.comparison import unequal_days_clause
from finops.costs.queries.sources import Sources
from finops.costs.spend_query import SpendQuery
from finops.insights.anomalies.queries import OpenAnomalies, open_anomalies
from finops.insights.savings.queries import list_savings
from finops.insights.savings.schemas import SavingsAnswer, SavingsQuery
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.schemas import Move, SpendChangeAnswer, SpendChangeQuery
from finops.insights.spend_change.text import name_of
from finops.lib import sentences
from finops.lib.formats import dates, numbers
from finops.lib.periods import DateRange, bucket_start, previous_period

Frequency = AlertSubscription.Frequency

WAITS: Final = timedelta(days=3)
"""The time a digest waits for the bills of its days; after that it is sent with a note."""


@dataclass(frozen=True)
class DueDigest:
    """The newest digest that is due to be sent."""

    frequency: str
    days: DateRange

    @property
    def key(self) -> str:
        return f"digest:{self.frequency}:{self.days.start}"

    @property
    def earlier(self) -> DateRange:
        return previous_period(self.days)

    def is_ready(self, through: date | None, looked_through: date | None, today: date) -> bool:
        """Return whether cost is complete and anomalies are detected up to its last day, or the wait is over."""
        complete = all(each is not None and each >= self.days.end for each in (through, looked_through))
        return complete or today > self.days.end + WAITS


def due_digest(frequency: str, today: date) -> DueDigest:
    """Return the digest of the previous week, from Monday, or of the previous month."""
    granularity = BUCKETS[frequency]
    end = bucket_start(granularity, today) - timedelta(days=1)
    return DueDigest(frequency, DateRange(bucket_start(granularity, end), end))


MOST_BUDGETS: Final = 5
TOP_MOVERS: Final = 5


@dataclass(frozen=True)
class DigestFigures:
    """The inputs of a digest's message. `through`: the last day with complete data."""

    account: Account
    digest: DueDigest
    through: date | None
    spend: MessageSpend
    change: SpendChangeAnswer
    budgets: Sequence[BudgetStatus]
    anomalies: OpenAnomalies
    savings: SavingsAnswer

    @property
    def totals(self) -> list[SpendTotal]:
        return self.spend.totals

    @property
    def movers(self) -> list[Move]:
        """Services whose cost changed, largest change first, by currency in the order of totals."""
        order = [each.currency for each in self.totals]
        moves = [
            each
            for each in self.change.moves
            if each.change and not each.other_groups and each.currency in order
        ]
        return sorted(moves, key=lambda each: (order.index(each.currency), -each.change.copy_abs()))

    @property
    def at_risk(self) -> list[BudgetStatus]:
        """Budgets at risk or exceeded. In a past period no budget is at risk: it was exceeded or not."""
        end = self.digest.days.end
        return [
            each
            for each in self.budgets
            if each.status == EXCEEDED or (each.status != OK and each.end_date > end)
        ]

    @property
    def note(self) -> str:
        """A note on missing data in a digest that was sent after the wait."""
        end = self.digest.days.end
        if self.through is None:
            return "There is no cost data yet."
        if self.through >= end:
            return ""
        return f"Data is complete through {dates.day(self.through)} only, not {dates.day(end)}."


def digest_message(account: Account, digest: DueDigest, sources: Sources, deadline: float) -> Message:
    """Return the message of a digest, with budgets as of its last day.

    Raises UserError of the lake. Cost: two lake queries for the days, those of `budget_statuses` for all budgets, and
    the three or four of `list_savings`.
    """
    sources = sources.for_several_questions
    first, last = digest.days.start, digest.days.end
    change = SpendChangeQuery(start_date=first, end_date=last, limit=TOP_MOVERS)
    query = SpendQuery(start_date=first, end_date=last, compare_to="previous_period", granularity="day")
    figures = DigestFigures(
        account=account,
        digest=digest,
        through=sources.coverage.complete_through,
        spend=message_spend(account, query, sources=sources, deadline=deadline),
        change=explain_spend_change(account, change, sources=sources, deadline=deadline),
        budgets=budget_statuses(account, day=last, sources=sources, deadline=deadline),
        anomalies=open_anomalies(),
        savings=list_savings(account, SavingsQuery(limit=1), sources=sources, deadline=deadline),
    )
    page = f"{console_url(account, 'spend_change')}?{urlencode(change.to_params(), doseq=True)}"
    unit = BUCKETS[digest.frequency]
    return Message(
        title=f"{sentences.quote(account.name)}: {totals_text(figures.totals)} in the {unit} of {dates.day(first)}",
        summary=" ".join(_sentences(figures)),
        facts=tuple(_facts(figures)),
        url=page,
        kind="digest",
        dedup_key=f"account-{account.pk}:{digest.key}",
        data=_data(figures),
        chart=spend_chart(figures.totals, "day"),
    )


def _sentences(figures: DigestFigures) -> list[str]:
    days, compared = figures.digest.days, figures.spend.answer.comparison
    current, earlier = days, figures.digest.earlier
    if compared is not None:
        current = DateRange(compared.start_date, compared.end_date)
        earlier = DateRange(compared.previous_start_date, compared.previous_end_date)
    lengths = unequal_days_clause(current, earlier).removeprefix("; ")
    spent = f"{sentences.quote(figures.account.name)} spent {totals_text(figures.totals)}, {dates.day_range(days.start, days.end)}{figures.spend.caveat}"
    changes = [text for total in figures.totals[:MOST_CURRENCIES] if (text := change_text(total))]
    comparison = (
        f"{';' if figures.spend.caveat else ':'} {sentences.join_with_and(changes)} vs {dates.day_range(earlier.start, earlier.end)}{f' ({lengths})' if lengths else ''}"
        if changes
        else ""
    )
    return [f"{spent}{comparison}.", *([figures.note] if figures.note else [])]


def _facts(figures: DigestFigures) -> list[Fact]:
    totals = [
        Fact(
            f"Total in {each.currency}",
            " · ".join(filter(None, [numbers.money(each.amount, each.currency), change_text(each)])),
        )
        for each in figures.totals
    ]
    movers = [Fact(name_of(each), _mover(each)) for each in figures.movers]
    return [
        Fact("Account", figures.account.name),
        *totals,
        *movers,
        Fact("Budgets at risk", _budgets(figures)),
        Fact("Open anomalies", _anomalies(figures.anomalies)),
        Fact("Savings", _savings(figures.savings)),
        *([Fact("Note", figures.note)] if figures.note else []),
    ]


def _mover(move: Move) -> str:
    now = numbers.money(move.current_amount, move.currency)
    return f"{signed_amount(move.change, move.currency)}, now {now}"


def _budgets(figures: DigestFigures) -> str:
    if not figures.budgets:
        return "No budgets."
    worst = sorted(figures.at_risk, key=lambda each: (each.status != EXCEEDED, each.name.casefold()))
    if not worst:
        return f"None of {len(figures.budgets)}."
    names = [f"{each.name} ({each.status}, {_budget_progress(each)})" for each in worst[:MOST_BUDGETS]]
    omitted_count = len(worst) - len(names)
    more = f" and {omitted_count} more" if omitted_count else ""
    return f"{len(worst)} of {len(figures.budgets)}: {', '.join(names)}{more}."


def _budget_progress(status: BudgetStatus) -> str:
    of = f"of {numbers.money(status.amount, status.currency)}"
    if status.spent is None:
        return of
    return f"{numbers.money(status.spent, status.currency)} {of}"


def _anomalies(open_anomalies: OpenAnomalies) -> str:
    if not open_anomalies.count:
        return "None."
    impacts = sentences.join_with_and(
        [signed_amount(each.amount, each.currency) for each in open_anomalies.impacts]
    )
    return f"{open_anomalies.count}{f', {impacts} vs. expected' if impacts else ''}."


def _savings(answer: SavingsAnswer) -> str:
    amounts = [
        numbers.money(each.monthly_saving, each.currency) for each in answer.totals if each.monthly_saving
    ]
    count = sum(each.recommendations for each in answer.totals)
    waste_amounts = [
        numbers.money(each.monthly_waste, each.currency) for each in answer.totals if each.monthly_waste
    ]
    waste = (
        f" {sentences.join_with_and(waste_amounts)} a month of unused commitment." if waste_amounts else ""
    )
    if not count:
        return f"Nothing open.{waste}"
    noun = "recommendation" if count == 1 else "recommendations"
    return (
        f"{sentences.join_with_and(amounts) or 'An amount not known'} a month by {count} open {noun}.{waste}"
    )


def _data(figures: DigestFigures) -> dict[str, Any]:
    days = figures.digest.days
    return {
        "frequency": figures.digest.frequency,
        "start_date": str(days.start),
        "end_date": str(days.end),
        "data_through": str(figures.through) if figures.through else None,
        "totals": [
            {
                "total": amount(each.amount, each.currency),
                "change": amount(each.change.change, each.currency) if each.change else None,
            }
            for each in figures.totals
        ],
        "movers": [
            {"service": name_of(each), "change": amount(each.change, each.currency)}
            for each in figures.movers
        ],
        "budgets_at_risk": [
            {"budget_id": each.id, "budget": each.name, "status": each.status} for each in figures.at_risk
        ],
        "open_anomalies": figures.anomalies.count,
        "savings": [
            {"monthly_saving": amount(each.monthly_saving, each.currency)} for each in figures.savings.totals
        ],
    }
