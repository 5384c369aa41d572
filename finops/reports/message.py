"""A report as a message: the content of its email."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final
from urllib.parse import urlencode

from finops.alerts.messages import Attachment, Fact, Message, console_url
from finops.alerts.triggers.figures import amount, change_text, signed_amount, totals_text
from finops.costs.answers import SpendTotal, drop_other_currencies
from finops.costs.charts import row_name, series_tables
from finops.insights.charts import move_name
from finops.lake.engine.conversion import display_currency
from finops.lib import sentences
from finops.lib.cost_access import limit_line
from finops.lib.drawings.chart import ColumnChart, chart_of
from finops.lib.formats import dates, numbers
from finops.lib.formats.sentences import reader_text
from finops.lib.listing import csv_text
from finops.reports.csv_rows import HEADER, csv_name, csv_rows
from finops.reports.notes import report_notes, shown_totals
from finops.reports.report import Report
from finops.unitcosts.queries.cards import per_unit

NOTES: Final = 6
MOVERS: Final = 5
TEAMS: Final = 5
BUDGETS: Final = 5
ANOMALIES: Final = 3


def report_message(report: Report, *, schedule_id: int, with_csv: bool = False) -> Message:
    """Return the report of a month in figures, with its trend as a chart, after what it leaves out. `with_csv`:
    attach every figure as a file."""
    scope, month = report.scope, dates.long_month(report.scope.month)
    of = f" of {sentences.quote(scope.team)}" if scope.team else ""
    page = f"{console_url(report.account, 'report')}?{urlencode(scope.query.to_params(), doseq=True)}"
    return Message(
        title=f"{sentences.quote(report.account.name)}: report{of} for {month}, {totals_text(shown_totals(report))}",
        summary="\n".join(_summary(report)),
        facts=tuple(_facts(report)),
        url=page,
        kind="report",
        dedup_key=f"account-{report.account.pk}:report-{schedule_id}:{scope.month}",
        data={
            "month": f"{scope.month:%Y-%m}",
            "team": scope.team or None,
            "totals": [{"total": amount(each.amount, each.currency)} for each in report.spend.totals],
        },
        chart=_chart(report),
        attachment=_csv(report) if with_csv else None,
    )


def _csv(report: Report) -> Attachment:
    return Attachment(name=f"{csv_name(report.scope)}.csv", text=csv_text(HEADER, csv_rows(report)))


def _summary(report: Report) -> Iterator[str]:
    """Return the limit of cost access, the first sentence, the change, and the page's notes, as far as an email has
    room."""
    notes = report_notes(report)
    if line := limit_line():
        yield line
    yield notes.first_sentence
    for total in shown_totals(report):
        if change := _change_text(total):
            yield f"{change}."
    yield from notes.rest[:NOTES]
    if len(notes.rest) > NOTES:
        yield f"{len(notes.rest) - NOTES} more notes in the report."


def _change_text(total: SpendTotal) -> str:
    """Format the change: `+$120.00 (+4.1%) vs $2,900.00 in the month before`; empty without a comparison."""
    change = total.change
    if change is None or change.previous_amount is None or not (text := change_text(total)):
        return ""
    return f"{text} vs {numbers.money(change.previous_amount, total.currency)} in the month before"


def _facts(report: Report) -> list[Fact]:
    return [
        *(Fact(f"Spend in {each.currency}", _spend(each)) for each in shown_totals(report)),
        *_movers(report),
        *_teams(report),
        Fact("Budgets at risk", _budgets(report)),
        Fact("Anomalies", _anomalies(report)),
        Fact("Potential monthly savings", _savings(report)),
        *_unit_costs(report),
    ]


def _spend(total: SpendTotal) -> str:
    spent, change = numbers.money(total.amount, total.currency), total.change
    if change is None or change.ratio is None:
        return spent
    part = "" if change.current_amount == total.amount else " on complete days"
    return f"{spent} · {numbers.change(change.ratio)}{part}"


def _movers(report: Report) -> list[Fact]:
    answer = report.change.answer
    if answer is None:
        return [Fact("Movers", report.change.problem)]
    moves = [each for each in answer.moves if each.change and not each.other_groups][:MOVERS]
    return [
        Fact(
            f"Change: {move_name(each)}",
            f"{signed_amount(each.change, each.currency)}, now {numbers.money(each.current_amount, each.currency)}",
        )
        for each in moves
    ]


def _teams(report: Report) -> list[Fact]:
    if report.teams is None:
        return []
    if report.teams.answer is None:
        return [Fact("Teams", report.teams.problem)]
    rows = drop_other_currencies(report.teams.answer, display_currency()).rows
    facts = [
        Fact(f"Team: {row_name(row)}", numbers.money(row.amount, row.currency))
        for row in rows[:TEAMS]
        if not row.other_groups
    ]
    more = [Fact("Teams", f"{len(rows) - TEAMS} more in the report")] if len(rows) > TEAMS else []
    return [*facts, *more]


def _budgets(report: Report) -> str:
    if report.budgets.answer is None:
        return report.budgets.problem
    if not report.budgets.answer:
        return "No budgets"
    names = [f"{each.name} ({each.status})" for each in report.budgets_at_risk]
    more = [f"{len(names) - BUDGETS} more"] if len(names) > BUDGETS else []
    named = f": {sentences.join_with_and([*names[:BUDGETS], *more])}" if names else ""
    return f"{len(names)} of {len(report.budgets.answer)}{named}"


def _anomalies(report: Report) -> str:
    answer = report.anomalies.answer
    if answer is None:
        return report.anomalies.problem
    if not answer.total_anomalies:
        return " ".join(["None", *answer.warnings])
    worst = [
        f"{each.title} {signed_amount(each.impact, each.currency)}" for each in answer.anomalies[:ANOMALIES]
    ]
    more = [f"{answer.total_anomalies - len(worst)} more"] if answer.total_anomalies > len(worst) else []
    return f"{answer.total_anomalies}: {', '.join([*worst, *more])}"


def _savings(report: Report) -> str:
    answer = report.savings.answer
    if answer is None:
        return report.savings.problem
    amounts = [
        f"{numbers.money(each.monthly_saving, each.currency)} ({each.recommendations} open)"
        for each in answer.totals
        if each.monthly_saving
    ]
    savings = sentences.join_with_and(amounts) or "None"
    days = (
        f", from cost of {dates.day_range(answer.period.start_date, answer.period.end_date)}"
        if answer.period
        else ""
    )
    return ". ".join([f"{savings}{days}", *map(reader_text, answer.warnings)])


def _unit_costs(report: Report) -> list[Fact]:
    facts = []
    for unit_cost in report.unit_costs:
        answer = unit_cost.section.answer
        for total in answer.totals if answer else []:
            unit = per_unit(answer.per, answer.unit, answer.usage_metric) if answer else ""
            facts.append(
                Fact(unit_cost.name, _price(total.unit_cost, total.share, total.currency, unit, total.reason))
            )
        if answer is None:
            facts.append(Fact(unit_cost.name, unit_cost.section.problem))
    if report.more_unit_costs:
        facts.append(Fact("Unit costs", f"{report.more_unit_costs} more on the Unit economics page"))
    return facts


def _price(unit_cost: Decimal | None, share: Decimal | None, currency: str, unit: str, reason: str) -> str:
    if share is not None:
        return numbers.percent(share)
    return f"{numbers.price(unit_cost, currency)} per {unit}" if unit_cost is not None else reason


def _chart(report: Report) -> ColumnChart | None:
    """Return the trend chart of the currency with the largest cost."""
    tables = series_tables(drop_other_currencies(report.trend, display_currency()))
    return chart_of(tables[0], f"Spend by month in {tables[0].currency}") if tables else None
