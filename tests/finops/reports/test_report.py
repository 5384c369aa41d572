"""The monthly report: its figures are those of the bill, and of the pages and tools."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from finops.allocation.queries.teams import list_teams
from finops.budgets.queries import budget_statuses
from finops.costs.queries import query_spend
from finops.costs.queries.sources import load_sources
from finops.costs.services.cost_view import change_cost_view
from finops.costs.spend_query import SpendQuery
from finops.insights.savings.queries import list_savings
from finops.insights.savings.schemas import SavingsQuery
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.schemas import SpendChangeQuery
from finops.lake.engine import engine
from finops.lib.errors import UserError
from finops.reports.queries import build_report, resolve_scope
from finops.reports.report import Report, ReportQuery
from finops.unitcosts.queries import query_unit_cost
from finops.unitcosts.unit_cost_query import UnitCostQuery
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.bills import Bills, usage
from tests.factories.budgets import daily_cost
from tests.factories.costs import add_source, add_up
from tests.factories.days import at
from tests.finops.reports.conftest import FEBRUARY, FIRST, bill
from tests.pages import csv_rows, get_page, text_of

PAGE = "/a/acme/reports/"


def report_of(account: Account, month: str = "2026-02", team: str = "") -> Report:
    sources = load_sources(account)
    scope = resolve_scope(account, ReportQuery(month=month, team=team), sources)
    return build_report(account, scope, sources=sources)


def february_lines(**tags: str) -> list[dict[str, Any]]:
    return [each for each in bill() if FEBRUARY[0] <= each["charge_date"] <= FEBRUARY[1]]


def test_the_figures_of_a_month_are_the_sums_of_its_lines(account_with_report: Account) -> None:
    report = report_of(account_with_report)
    by_service = add_up(february_lines(), lambda one: one["service"])

    assert {row.group["service"]: row.amount for row in report.spend.rows} == by_service
    (total,) = report.spend.totals
    assert total.amount == sum(by_service.values()) == Decimal("688.80")
    by_month = add_up(
        [each for each in bill() if each["charge_date"] <= FEBRUARY[1]],
        lambda one: f"{one['charge_date']:%Y-%m}-01",
    )
    (trend,) = report.trend.totals
    assert {month: amount for month, amount in trend.series.items() if amount is not None} == by_month
    assert len(trend.series) == 13
    assert [(row.amount, row.currency) for row in report.no_team_rows] == [(Decimal("30.80"), "USD")]


def test_each_section_is_the_answer_of_the_page_that_shows_it(account_with_report: Account) -> None:
    first, last = FEBRUARY
    report = report_of(account_with_report)

    days: dict[str, Any] = {"start_date": first, "end_date": last}
    spend = SpendQuery(**days, group_by=["service"], compare_to="previous_period")
    assert report.spend == query_spend(account_with_report, spend)
    assert report.change.answer == explain_spend_change(
        account_with_report, SpendChangeQuery(**days, limit=8)
    )
    statuses = {each.name: each for each in budget_statuses(account_with_report, day=last)}
    assert {each.name: each for each in report.budgets.answer or ()} == statuses
    assert report.savings.answer == list_savings(account_with_report, SavingsQuery(limit=5), evidence=0)
    (unit_cost,) = report.unit_costs
    question = UnitCostQuery(unit_metric="Cost per call", mode="total", compare_to="previous_period", **days)
    assert unit_cost.section.answer == query_unit_cost(account_with_report, question)
    assert report.teams is not None
    assert report.teams.answer is not None
    teams = {row.group["team"]: row.amount for row in report.teams.answer.rows}
    assert teams["Core"] == list_teams(account_with_report).teams[0].costs[0].amount


def test_a_report_of_a_team_has_its_cost_and_its_budgets(account_with_report: Account) -> None:
    report = report_of(account_with_report, team="core")

    assert report.scope.team == "Core"
    assert report.spend.totals[0].amount == Decimal("658.00")
    assert [each.name for each in report.budgets.answer or ()] == ["Core cloud"]
    assert report.teams is None
    assert report.no_team_rows == []
    assert all(row.group["service"] != "Storage" for row in report.spend.rows)


def test_a_month_in_progress_counts_its_days_and_says_so_first(
    cast: Cast, account_with_report: Account
) -> None:
    page = get_page(signed_in(cast.viewer), PAGE, month="2026-03")

    assert "Month in progress: Mar 1 – 20." in page
    assert page.index("Month in progress") < page.index("Budgets at risk")
    report = report_of(account_with_report, "2026-03")
    assert report.spend.period.name == "month_to_date"
    assert report.spend.totals[0].amount == 19 * (Decimal("10.25") + Decimal("1.10") + 3)


def test_the_page_is_of_the_newest_month_that_is_over_and_has_every_section(
    cast: Cast, account_with_report: Account
) -> None:
    page = get_page(signed_in(cast.viewer), PAGE)

    assert "February 2026" in page
    assert "$688.80" in page
    assert "$30.80 (4.5%) not allocated to a team." in page
    for section in ("Trend", "Movers", "Services", "Teams", "Budgets", "Anomalies", "Savings", "Unit cost"):
        assert section in page
    assert "Exceeded" in page
    assert page.index("not allocated to a team") < page.index("Budgets at risk")


def test_the_trend_is_drawn_with_a_name_for_those_who_do_not_see_it(
    cast: Cast, account_with_report: Account
) -> None:
    html = signed_in(cast.viewer).get(PAGE).content.decode()

    assert '<svg class="drawing drawing-wide"' in html
    assert 'aria-label="Spend by month in USD: Dec 2025 $444.85, Feb $688.80"' in html


def test_csv_has_every_figure_exactly(cast: Cast, account_with_report: Account) -> None:
    rows = csv_rows(signed_in(cast.viewer).get(PAGE, {"month": "2026-02", "format": "csv"}))

    figures = {(row["section"], row["name"], row["period"], row["figure"]): row["value"] for row in rows}
    days = "2026-02-01 to 2026-02-28"
    assert Decimal(figures["Summary", "Total", days, "spend"]) == Decimal("688.80")
    assert Decimal(figures["Summary", "Not allocated", days, "spend"]) == Decimal("30.80")
    assert Decimal(figures["Services", "Compute", days, "spend"]) == Decimal("574.00")
    assert Decimal(figures["Teams", "Core", days, "spend"]) == Decimal("658.00")
    assert Decimal(figures["Trend", "Compute", "2026-01", "spend"]) == 31 * Decimal("10.25")
    assert Decimal(figures["Budgets", "Everything", days, "amount"]) == 600
    assert figures["Budgets", "Everything", days, "status"] == "exceeded"
    assert Decimal(figures["Unit cost", "Cost per call", days, "unit cost"]) == Decimal("688.80") / 2800
    exact = report_of(account_with_report).spend.totals[0].change
    assert exact is not None
    assert exact.ratio is not None
    ratio = Decimal(figures["Summary", "Total", days, "change ratio"])
    assert abs(ratio - exact.ratio) < Decimal("1e-17")


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"month": "2026-13"}, "month: '2026-13' is not a month. Use YYYY-MM."),
        ({"month": "2024-05"}, "month: May 2024 has no cost data. Data is from Dec 2025 – Mar 2026."),
        ({"team": "Corr"}, "team: 'Corr' does not exist. Nearest: 'Core'."),
    ],
)
def test_a_bad_question_says_what_to_do(
    cast: Cast, account_with_report: Account, query: dict[str, str], problem: str
) -> None:
    page = text_of(signed_in(cast.viewer).get(PAGE, query), status=400)

    assert problem in page


def test_an_account_without_cost_is_led_to_its_sources(cast: Cast, acme: Account) -> None:
    page = get_page(signed_in(cast.viewer), PAGE)

    assert "No reports yet" in page
    assert "View connections" in page


def test_a_section_that_cannot_be_read_says_so_and_the_others_stand(
    cast: Cast, account_with_report: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_fields: object) -> None:
        raise UserError("The query took too long.")

    monkeypatch.setattr("finops.reports.queries.list_savings", refuse)
    client = signed_in(cast.viewer)

    assert "The query took too long." in get_page(client, PAGE)
    rows = csv_rows(client.get(PAGE, {"format": "csv"}))
    assert [row["reason"] for row in rows if row["figure"] == "problem"] == ["The query took too long."]


def test_several_currencies_are_one_at_a_time_and_never_added(
    cast: Cast, account_with_report: Account
) -> None:
    add_source(account_with_report, daily_cost(*FEBRUARY, 2, currency="EUR", service="Mail"), name="Euro")

    report = report_of(account_with_report)

    assert {total.currency: total.amount for total in report.spend.totals} == {
        "USD": Decimal("688.80"),
        "EUR": Decimal("56"),
    }


def test_one_currency_of_several_says_first_what_the_others_cost(
    cast: Cast, account_with_report: Account
) -> None:
    add_source(account_with_report, daily_cost(*FEBRUARY, 2, currency="EUR", service="Mail"), name="Euro")
    Account.objects.filter(pk=account_with_report.pk).update(currencies=["USD", "EUR"])
    client = signed_in(cast.viewer)

    page = get_page(client, PAGE, currency="only-USD")

    assert "€56.00 in EUR not included." in page
    assert page.index("not included") < page.index("Budgets at risk")
    rows = csv_rows(client.get(PAGE, {"currency": "only-USD", "format": "csv"}))
    left_out = [row for row in rows if row["figure"] == "not included"]
    assert [(Decimal(row["value"]), row["unit"]) for row in left_out] == [(Decimal(56), "EUR")]
    assert {row["unit"] for row in rows if row["section"] == "Services" and row["figure"] == "spend"} == {
        "USD"
    }


def test_incomplete_days_are_said_first_with_their_amount(cast: Cast, acme: Account, tmp_path: Path) -> None:
    bills = Bills(cast, tmp_path)
    with at(date(2026, 3, 1)):
        bills.source("Bill", settle_days=5)
    lines = usage({"Compute": lambda _day: 10}, date(2026, 1, 1), date(2026, 2, 28))
    bills.bring("Bill", lines, on=date(2026, 3, 1))

    with at(date(2026, 3, 1)):
        page = get_page(signed_in(cast.viewer), PAGE, month="2026-02")

    assert "$40.00 on Feb 25 – 28 is incomplete." in page
    assert page.index("is incomplete") < page.index("Budgets at risk")


def test_categories_left_out_and_days_without_bills_are_said_first(
    cast: Cast, acme: Account, tmp_path: Path
) -> None:
    bills, first, today = Bills(cast, tmp_path), date(2026, 1, 1), date(2026, 3, 3)
    tax = usage({"Tax": lambda _day: 2}, first, date(2026, 2, 26), ChargeCategory="Tax")
    bills.bring("AWS", [*usage({"Compute": lambda _day: 10}, first, date(2026, 2, 26)), *tax], on=today)
    bills.bring("GCP", usage({"Run": lambda _day: 5}, first, date(2026, 2, 10)), on=date(2026, 2, 11))
    change_cost_view(account=acme, actor=ACTOR, basis="billed", charge_categories=["Usage"])

    with at(today):
        page = get_page(signed_in(cast.viewer), PAGE, month="2026-02")
        (note, *_rows) = csv_rows(signed_in(cast.viewer).get(PAGE, {"month": "2026-02", "format": "csv"}))

    assert "$310.00 in February 2026, without $52.00 of Tax: " in page
    assert "; no cost lines after Feb 26; 'GCP' has no cost lines after Feb 10." in page
    assert page.count("has no cost lines after") == 1
    assert "without $52.00 of Tax" in note["value"]


def test_late_sources_are_said_first(cast: Cast, account_with_report: Account) -> None:
    with at(date(2026, 3, 1)):
        add_source(account_with_report, daily_cost(FIRST, date(2026, 2, 26), 2, service="Mail"), name="Late")
        page = get_page(signed_in(cast.viewer), PAGE, month="2026-02")

    position = page.index("Data is complete through Feb 26. Later days are incomplete.")
    assert position < page.index("Budgets at risk")


def test_a_stranger_does_not_see_it(cast: Cast, account_with_report: Account, client: Client) -> None:
    assert signed_in(cast.stranger).get(PAGE).status_code == 404
    assert client.get(PAGE).status_code == 302


def test_the_page_asks_the_lake_as_often_as_it_says(
    cast: Cast, account_with_report: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries: list[str] = []
    run = engine.run

    def count(*args: Any, **fields: Any) -> Any:
        queries.append("a lake query")
        return run(*args, **fields)

    monkeypatch.setattr(engine, "run", count)

    get_page(signed_in(cast.viewer), PAGE)

    assert len(queries) <= 11


def test_all_sections_read_the_files_of_one_manifest(account_with_report: Account, cast: Cast) -> None:
    """Asked for once: sections of which one came before an import and one after would contradict each other."""
    client = signed_in(cast.owner)

    with CaptureQueriesContext(connection) as statements:
        assert client.get(PAGE, {"month": "2026-02"}).status_code == 200

    # Django has no text of a server-side prepared statement whose values it cannot compose.
    texts = [each["sql"] or "" for each in statements.captured_queries]
    manifest = [text for text in texts if "lake_lakesegment" in text]
    assert sum("kind = 'usage'" not in sql and "checksum" in sql for sql in manifest) <= 1
    assert len(manifest) <= 4


def test_a_report_begun_before_an_import_has_the_lines_of_before_in_each_section(
    account_with_report: Account,
) -> None:
    sources = load_sources(account_with_report)
    scope = resolve_scope(account_with_report, ReportQuery(month="2026-02"), sources)
    add_source(account_with_report, daily_cost(*FEBRUARY, "1000", service="Late"), name="Late")

    report = build_report(account_with_report, scope, sources=sources)

    (spend,), (trend,) = report.spend.totals, report.trend.totals
    assert spend.amount == trend.series["2026-02-01"] == Decimal("688.80")
    assert report.change.answer is not None
    assert [total.current_amount for total in report.change.answer.totals] == [Decimal("688.80")]
    assert report.teams is not None
    assert report.teams.answer is not None
    assert [total.amount for total in report.teams.answer.totals] == [Decimal("688.80")]
