"""Saved views: when a report is due, which change is an alert, and their messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from msgspec.structs import replace

from accounts.models import Account
from finops.alerts.messages import Fact, Message, console_url
from finops.alerts.models import AlertSubscription
from finops.alerts.triggers.complete_period import BUCKETS, CompletePeriod
from finops.alerts.triggers.digest import WAITS
from finops.alerts.triggers.figures import (
    MOST_CURRENCIES,
    amount,
    change_text,
    signed_amount,
    spend_chart,
    totals_text,
)
from finops.alerts.triggers.spend import MessageSpend, limit_notes
from finops.costs import explorer_steps
from finops.costs.answers import SpendAnswer, SpendRow, SpendTotal
from finops.costs.charts import row_name
from finops.costs.models import SavedView
from finops.costs.spend_query import DEFAULT_PERIOD, SpendQuery
from finops.lib import sentences
from finops.lib.formats import dates, numbers
from finops.lib.periods import DateRange, bucket_start, named_period

Frequency = AlertSubscription.Frequency

WAITS_OF_DAY: Final = timedelta(hours=12)
"""The wait of a daily report. It cannot wait for days: the next report would replace it."""
MOST_GROUPS: Final = 15
MOST_MOVERS: Final = 5

_TO_DATE: Final = ("today", "month_to_date", "quarter_to_date", "year_to_date")


@dataclass(frozen=True)
class DueReport:
    """The newest report of a view that is due to be sent: the view's query as of `day`, which is not included."""

    view: SavedView
    frequency: str
    day: date
    query: SpendQuery

    @property
    def key(self) -> str:
        return f"view_report:{self.frequency}:{self.day}"

    def is_ready(self, through: date | None, now: datetime) -> bool:
        """Return whether cost is complete up to its last day, or the wait is over."""
        end = min(self.query.end_date or self.day, self.day - timedelta(days=1))
        waits = WAITS_OF_DAY if self.frequency == Frequency.DAILY else WAITS
        is_late = now >= datetime.combine(self.day, time(), tzinfo=UTC) + waits
        return is_late or (through is not None and through >= end)


def change_key(period: CompletePeriod) -> str:
    """Return the firing key: one firing for each period of a subscription."""
    return f"view_change:{period.mark}"


def change_query(view: SavedView, period: CompletePeriod) -> SpendQuery:
    """Return the query of the view's cost in the period, with the previous one; the groups are the changes."""
    return replace(
        _in_days(view.query, period.days),
        granularity="day" if period.days.days > 1 else "none",
        compare_to="previous_period",
        order_by="change",
    )


def due_report(account: Account, view: SavedView, frequency: str, today: date) -> DueReport:
    """Return the report. To-date periods end the day before: on the first, month to date is the previous month."""
    day, query = bucket_start(BUCKETS[frequency], today), view.query
    if query.start_date is None and query.end_date is None:
        name = query.period or DEFAULT_PERIOD
        as_of = day - timedelta(days=1) if name in _TO_DATE else day
        days = named_period(name, today=as_of, fiscal_start_month=account.fiscal_start_month)
        query = _in_days(query, days)
    return DueReport(view, frequency, day, query)


def report_message(account: Account, report: DueReport, spend: MessageSpend) -> Message:
    """Return the message with the view's result. `spend` is the answer to its query, in its own currencies."""
    view, answer, totals = report.view, spend.answer, spend.totals
    days = DateRange(answer.period.start_date, answer.period.end_date)
    return Message(
        title=f"{sentences.quote(account.name)}: {sentences.quote(view.name)}, {totals_text(totals)}",
        summary=_summary(view, spend, totals, days),
        facts=(
            Fact("Account", account.name),
            *_total_facts(totals),
            *(Fact(_name(row), _row_text(row)) for row in answer.rows[:MOST_GROUPS]),
            *_more_fact(answer.rows[MOST_GROUPS:]),
        ),
        url=_url(account, view, report.query),
        kind="saved_view",
        dedup_key=f"account-{account.pk}:view-{view.pk}:{report.key}",
        data={
            **_data(view, report.frequency, days, answer),
            "groups": [_group_data(row) for row in answer.rows[:MOST_GROUPS]],
        },
        chart=spend_chart(totals, answer.granularity),
    )


def changes_beyond(
    answer: SpendAnswer, minimum_percent: int | None, minimum_amount: Decimal | None, currency: str
) -> list[SpendTotal]:
    """Return totals that changed by at least the minimum, up or down; with two minimums, by both. A change from zero
    exceeds any percentage. `currency` is that of the amount."""
    return [
        total
        for total in answer.totals
        if (change := total.change) is not None
        and change.change
        and (minimum_percent is None or _is_beyond(change.change, change.previous_amount, minimum_percent))
        and (
            minimum_amount is None
            or (total.currency == currency and change.change.copy_abs() >= minimum_amount)
        )
    ]


def _is_beyond(change: Decimal, previous: Decimal | None, percent: int) -> bool:
    return change.copy_abs() * 100 >= (previous or Decimal(0)).copy_abs() * percent


def change_message(
    account: Account,
    view: SavedView,
    period: CompletePeriod,
    spend: MessageSpend,
    totals: Sequence[SpendTotal],
) -> Message:
    """Return the message of a change. `totals` are those that changed beyond the subscription's minimum."""
    days, ordered = period.days, [each for each in spend.totals if each in totals]
    texts = [change_text(total) for total in ordered]
    is_more = any(total.change and total.change.change and total.change.change > 0 for total in totals)
    return Message(
        title=f"{sentences.quote(account.name)}: {sentences.quote(view.name)} changed by {sentences.join_first(texts, MOST_CURRENCIES)}",
        summary=_summary(view, spend, ordered, days),
        facts=(Fact("Account", account.name), *_total_facts(ordered), *_mover_facts(spend.answer, ordered)),
        url=_url(account, view, change_query(view, period)),
        # A drop costs nothing, but may be an outage.
        severity="warning" if is_more else "info",
        kind="saved_view",
        dedup_key=f"account-{account.pk}:view-{view.pk}:{change_key(period)}",
        data=_data(view, period.frequency, days, spend.answer),
        chart=spend_chart(ordered, "day"),
    )


def _in_days(query: SpendQuery, days: DateRange) -> SpendQuery:
    return replace(query, period=None, start_date=days.start, end_date=days.end)


def _url(account: Account, view: SavedView, query: SpendQuery) -> str:
    """Return the URL of the view's page with the days of the message."""
    return f"{console_url(account, 'saved_view', saved_view_id=view.pk)}{explorer_steps.url_of(query)}"


def _summary(view: SavedView, spend: MessageSpend, totals: Sequence[SpendTotal], days: DateRange) -> str:
    """Return the total with what it leaves out and its incomplete days, then its change, then other notes."""
    texts = [text for total in totals[:MOST_CURRENCIES] if (text := change_text(total))]
    first = f"{sentences.quote(view.name)}: {totals_text(totals)}, {dates.day_range(days.start, days.end)}{spend.caveat}"
    compared = spend.answer.comparison
    if texts and compared is not None:
        earlier = dates.day_range(compared.previous_start_date, compared.previous_end_date)
        first += f"{';' if spend.caveat else ','} {sentences.join_with_and(texts)} vs {earlier}"
    return " ".join([f"{first}.", *limit_notes(spend.notes, "in the saved view")])


def _total_facts(totals: Sequence[SpendTotal]) -> list[Fact]:
    facts = []
    for total in totals:
        texts = [numbers.money(total.amount, total.currency), change_text(total)]
        facts.append(Fact(f"Total in {total.currency}", " · ".join(filter(None, texts))))
        facts += [
            Fact(
                f"Left out: {part.part.replace('_', ' ')}",
                numbers.money(part.amount, part.currency),
            )
            for part in total.left_out
            if part.amount
        ]
    return facts


def _row_text(row: SpendRow) -> str:
    change = row.change.ratio if row.change else None
    part = " on complete days" if row.change and row.change.current_amount != row.amount else ""
    parts = [
        numbers.money(row.amount, row.currency),
        "" if row.share is None else numbers.percent(row.share),
        "" if change is None else f"{numbers.change(change)}{part}",
    ]
    return " · ".join(filter(None, parts))


def _more_fact(rows: Sequence[SpendRow]) -> list[Fact]:
    return [Fact("And", f"{len(rows)} more rows")] if rows else []


def _mover_facts(answer: SpendAnswer, totals: Sequence[SpendTotal]) -> list[Fact]:
    currencies = {total.currency for total in totals}
    changes = [
        (row, row.change.change)
        for row in answer.rows
        if row.currency in currencies and row.change and row.change.change
    ]
    return [
        Fact(
            _name(row),
            f"{signed_amount(change, row.currency)}, now {numbers.money(row.amount, row.currency)}",
        )
        for row, change in changes[:MOST_MOVERS]
    ]


def _name(row: SpendRow) -> str:
    return sentences.truncate(row_name(row), 120)


def _data(view: SavedView, frequency: str, days: DateRange, answer: SpendAnswer) -> dict[str, Any]:
    return {
        "saved_view_id": view.pk,
        "saved_view": view.name,
        "frequency": frequency,
        "start_date": str(days.start),
        "end_date": str(days.end),
        "data_through": str(answer.data_through) if answer.data_through else None,
        "totals": [
            {
                "total": amount(each.amount, each.currency),
                "change": amount(each.change.change, each.currency) if each.change else None,
            }
            for each in answer.totals
        ],
    }


def _group_data(row: SpendRow) -> Mapping[str, Any]:
    return {"group": dict(row.group), "amount": amount(row.amount, row.currency)}
