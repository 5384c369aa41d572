"""Notes on what a report's figures leave out, mix or include: its first sentence with the amounts, and notes after it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from finops.costs.answers import SpendRow, SpendTotal, drop_other_currencies
from finops.costs.queries.spend_words import amounts_of, left_out_clause
from finops.exchange_rates.missing_rates import missing_rate_clause, missing_rate_warnings
from finops.lake.engine.conversion import display_currency
from finops.lib.formats import dates, numbers
from finops.lib.formats.sentences import reader_text
from finops.lib.sentences import join_with_and
from finops.reports.report import Report

_AMOUNT_FIRST: Final = re.compile(r"[+-]?\d[\d,]*\.\d+ [A-Z]{3}\b")
"""The beginnings of warnings about an amount: incomplete cost, or cost that may be counted twice."""


@dataclass(frozen=True)
class ReportNotes:
    """Notes in the reader's formats. `rest` are the warnings whose amounts are not in the first sentence."""

    first_sentence: str
    rest: list[str]


def shown_totals(report: Report) -> list[SpendTotal]:
    """Return the month's totals; in a converted report those with an exchange rate, if any have one."""
    return drop_other_currencies(report.spend, display_currency()).totals


def report_notes(report: Report) -> ReportNotes:
    """`$688.80 in February 2026, without €7.00 for which there is no exchange rate to USD: $40.00 on Feb 25 – 28 is incomplete;
    $30.80 (4.5%) not allocated to a team.`"""
    amounts = amounts_of(report.spend.totals)
    spent = join_with_and([numbers.money(each.amount, each.currency) for each in shown_totals(report)])
    so_far = " so far" if report.scope.is_running else ""
    left_out = missing_rate_clause(amounts) + left_out_clause(
        part for total in shown_totals(report) for part in total.left_out
    )
    total = f"{spent or 'No cost'} in {dates.long_month(report.scope.month)}{so_far}{left_out}"
    clauses = "; ".join(_clauses(report))
    in_sentence = [*missing_rate_warnings(amounts), *(f"Source {each}." for each in report.day_clauses)]
    return ReportNotes(
        first_sentence=reader_text(f"{total}{f': {clauses}' if clauses else ''}."),
        rest=[reader_text(each) for each in report.spend.warnings if _adds(each) and each not in in_sentence],
    )


def _clauses(report: Report) -> Iterator[str]:
    """Return the clauses that have an amount, and those on days without bills."""
    for warning in report.spend.warnings:
        if _AMOUNT_FIRST.match(warning):
            yield warning.removesuffix(".").partition(": ")[0]
    yield from report.day_clauses
    if no_team := [_amount_with_share(row) for row in report.no_team_rows]:
        yield f"{join_with_and(no_team)} not allocated to a team"
    other_amounts = [
        f"{numbers.money(part.amount, part.currency)} in {part.currency}" for part in report.other_currencies
    ]
    if other_amounts:
        yield f"{join_with_and(other_amounts)} not included"


def _amount_with_share(row: SpendRow) -> str:
    share = "" if row.share is None else f" ({numbers.percent(row.share)})"
    return f"{numbers.money(row.amount, row.currency)}{share}"


def _adds(warning: str) -> bool:
    """Return whether a warning says more than its clause."""
    return not _AMOUNT_FIRST.match(warning) or ": " in warning
