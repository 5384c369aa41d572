"""A report as CSV: a line per figure, exact, with its section, name, period and currency or unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

from finops.budgets.schemas import BudgetStatus
from finops.costs.answers import Change, SpendAnswer
from finops.costs.charts import row_name
from finops.exchange_rates.display import current_display, used_rates
from finops.exchange_rates.rates_column import source_text
from finops.insights.charts import move_name
from finops.lake.engine.conversion import display_currency
from finops.reports.billed_amounts import BilledAmounts, amounts_text
from finops.reports.notes import report_notes
from finops.reports.report import Report, ReportScope, Section, UnitCostSection

HEADER = ("section", "name", "period", "figure", "value", "unit", "reason", "original amounts")

Line = tuple[Any, ...]
"""Values in the order of HEADER."""


def csv_rows(report: Report) -> list[Line]:
    """Yield every figure of the report. An unknown one is empty, with its reason; a converted one has its billed
    amounts. Call in the report's currency scope."""
    return [_whole(line) for line in _lines(report)]


def _whole(line: Line) -> Line:
    return (*line, *[""] * (len(HEADER) - len(line)))


def _lines(report: Report) -> Iterator[Line]:
    return chain(
        _cover(report),
        _by_month(report),
        _groups("Services", report.spend, report),
        _movers(report),
        _groups("Teams", report.teams.answer, report) if report.teams and report.teams.answer else (),
        chain.from_iterable(_budget(each) for each in report.budgets.answer or ()),
        _anomalies(report),
        _savings(report),
        chain.from_iterable(_unit_cost(each) for each in report.unit_costs),
        _section_notes(report),
        _rates(),
        _problems(report),
    )


def csv_name(scope: ReportScope) -> str:
    """Return the file name: `report-2026-10`, `report-2026-10-Core`."""
    return f"report-{scope.month:%Y-%m}{f'-{scope.team}' if scope.team else ''}"


def period_text(answer: Any) -> str:
    return f"{answer.start_date} to {answer.end_date}"


def _cover(report: Report) -> Iterator[Line]:
    when = period_text(report.spend.period)
    originals = BilledAmounts(report.spend, report.originals.get("Services"))
    yield "Notes", "", when, "note", report_notes(report).first_sentence
    for total in report.spend.totals:
        yield "Summary", "Total", when, "spend", total.amount, total.currency, "", originals.of(total)
        yield from _change_lines("Summary", "Total", when, total.change)
        for part in total.inside:
            yield "Summary", part.part, when, "included", part.amount, part.currency, ""
        for part in total.left_out:
            yield "Summary", part.part, when, "left out", part.amount, part.currency, ""
    for other in report.other_currencies:
        yield "Summary", "Other currency", when, "not included", other.amount, other.currency, ""
    for row in report.no_team_rows:
        yield "Summary", "Not allocated", when, "spend", row.amount, row.currency, ""
    for warning in report.spend.warnings:
        yield "Notes", "", when, "note", warning, "", ""


def _change_lines(section: str, name: str, when: str, change: Change | None) -> Iterator[Line]:
    if change is None:
        return
    figures: list[tuple[str, Decimal | None]] = [
        ("previous spend", change.previous_amount),
        ("change", change.change),
    ]
    for figure, value in figures:
        yield section, name, when, figure, value, change.currency, change.reason
    yield section, name, when, "change ratio", change.ratio, "", change.reason


def _by_month(report: Report) -> Iterator[Line]:
    originals = BilledAmounts(report.trend, report.originals.get("Trend"))
    for row in report.trend.rows:
        for day, amount in row.series.items():
            reason = "" if amount is not None else "No data."
            original = originals.of(row, day)
            yield "Trend", row_name(row), day[:7], "spend", amount, row.currency, reason, original


def _groups(section: str, answer: SpendAnswer, report: Report) -> Iterator[Line]:
    when, originals = period_text(answer.period), BilledAmounts(answer, report.originals.get(section))
    for row in answer.rows:
        name, original = row_name(row), originals.of(row)
        yield section, name, when, "spend", row.amount, row.currency, "", original
        yield section, name, when, "share", row.share, "", row.share_reason
        yield from _change_lines(section, name, when, row.change)


def _rates() -> Iterator[Line]:
    """Yield each exchange rate that was used, newest first."""
    display = current_display()
    for span in used_rates(display).spans if display else ():
        name, when = f"1 {span.currency}", f"{span.start} to {span.end}"
        reason = f"{source_text(span)}, rate of {span.rate_day}"
        yield "Exchange rates", name, when, "rate", span.rate, display_currency(), reason


def _movers(report: Report) -> Iterator[Line]:
    answer = report.change.answer
    if answer is None or answer.days is None:
        return
    when = period_text(answer.days)
    for move in answer.moves:
        name = move_name(move)
        yield "Movers", name, when, "spend", move.current_amount, move.currency, ""
        yield "Movers", name, when, "previous spend", move.previous_amount, move.currency, ""
        yield "Movers", name, when, "change", move.change, move.currency, ""


def _budget(status: BudgetStatus) -> Iterator[Line]:
    when = period_text(status)
    yield "Budgets", status.name, when, "status", status.status, "", status.status_reason
    yield "Budgets", status.name, when, "amount", status.amount, status.currency, ""
    yield "Budgets", status.name, when, "spend", status.spent, status.currency, status.spent_reason
    yield "Budgets", status.name, when, "forecast", status.forecast, status.currency, status.forecast_reason
    for warning in status.warnings:
        yield "Budgets", status.name, when, "note", warning


def _anomalies(report: Report) -> Iterator[Line]:
    answer = report.anomalies.answer
    if answer is None:
        return
    yield "Anomalies", "Total", period_text(report.spend.period), "anomalies", answer.total_anomalies
    for row in answer.anomalies:
        name, when, own = row.title, f"{row.first_day} to {row.last_day}", row.own_amounts
        for figure, field in (("impact", "impact"), ("spend", "actual"), ("expected", "expected")):
            original = _original(getattr(own, field), own.currency) if own else ""
            yield "Anomalies", name, when, figure, getattr(row, field), row.currency, row.state, original


def _original(amount: Decimal | None, currency: str) -> str:
    return "" if amount is None else amounts_text({currency: amount})


def _savings(report: Report) -> Iterator[Line]:
    answer = report.savings.answer
    if answer is None or answer.period is None:
        return
    when = period_text(answer.period)
    for total in answer.totals:
        yield "Savings", "Total", when, "monthly saving", total.monthly_saving, total.currency, ""
        yield "Savings", "Total", when, "recommendations", total.recommendations, "", ""
    for row in answer.recommendations:
        reason, billed = row.saving_reason, row.billed
        original = _original(billed.monthly_saving, billed.currency) if billed else ""
        yield "Savings", row.title, when, "monthly saving", row.monthly_saving, row.currency, reason, original


def _unit_cost(unit_cost: UnitCostSection) -> Iterator[Line]:
    answer = unit_cost.section.answer
    if answer is None:
        return
    when, name = period_text(answer.period), unit_cost.name
    unit = answer.unit or answer.usage_metric
    for total in answer.totals:
        price = f"{total.currency} per {answer.per} {unit}"
        yield "Unit cost", name, when, "cost", total.cost, total.currency, ""
        yield "Unit cost", name, when, "usage", total.usage, unit, total.reason
        yield "Unit cost", name, when, "unit cost", total.unit_cost, price, total.reason
        if total.change is not None:
            previous = total.change.previous_unit_cost
            yield "Unit cost", name, when, "previous unit cost", previous, price, total.change.reason


def _section_notes(report: Report) -> Iterator[Line]:
    """Yield the notes of sections on what they include or leave out, as on the page."""
    anomalies = report.anomalies.answer
    notes: dict[str, Sequence[str]] = {
        "Trend": report.trend_warnings,
        "Teams": report.team_warnings,
        "Movers": report.change_warnings,
        "Anomalies": anomalies.warnings if anomalies else [],
        "Savings": report.saving_warnings,
        "Unit cost": report.unit_cost_warnings,
    }
    when = period_text(report.spend.period)
    for section, warnings in notes.items():
        for warning in warnings:
            yield section, "", when, "note", warning
    if report.more_unit_costs:
        yield "Unit cost", "", when, "unit metrics not included", report.more_unit_costs


def _problems(report: Report) -> Iterator[Line]:
    """Yield the sections that could not be read."""
    sections: dict[str, Section[Any]] = {
        "Movers": report.change,
        "Budgets": report.budgets,
        "Anomalies": report.anomalies,
        "Savings": report.savings,
        **({"Teams": report.teams} if report.teams else {}),
    }
    for name, section in sections.items():
        if section.problem:
            yield name, "", "", "problem", None, "", section.problem
    for each in report.unit_costs:
        if each.section.problem:
            yield "Unit cost", each.name, "", "problem", None, "", each.section.problem
