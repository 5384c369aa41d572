"""First sentences of lists, of usage and of what was created: what they leave out, and days without data."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts.models import AlertChannel
from finops.allocation.services.splits import SplitDraft, create_split
from finops.costs.services.closed_months import close_month
from finops.costs.services.cost_view import change_cost_view
from finops.insights.models import AnomalyRun
from tests.cast import Cast
from tests.factories.bills import Bills, line, usage
from tests.factories.costs import add_source, cost
from tests.factories.days import NOON, at, days
from tests.factories.usage import add_usage, event
from tests.mcpserver.first_sentences import MARCH_TO_DATE, summary_of
from tests.mcpserver.mcp_client import McpClient


def add_march(account: Account, **columns: Any) -> None:
    """10 USD a day from 1 to 19 March; today is the 20th."""
    add_source(account, [cost(day, 10, **columns) for day in MARCH_TO_DATE], name=f"Bill {columns}")


def test_usage_names_the_days_without_events_and_today(acme: Account, mcp_client: McpClient) -> None:
    add_usage(acme, [event(day, "globex", 5) for day in [*MARCH_TO_DATE, NOON.date()] if day.day % 2 == 0])

    assert "'requests' from 2026-02-18 to 2026-03-19: 45 in total; events on 9 of 30 days" in summary_of(
        mcp_client, "queryUsage"
    )
    assert "50 in total; 2026-03-20 is incomplete; events on 10 of 20 days" in summary_of(
        mcp_client, "queryUsage", period="month_to_date"
    )
    assert "events on" not in summary_of(mcp_client, "queryUsage", period="today")


def test_usage_of_every_day_before_today_needs_no_clause(acme: Account, mcp_client: McpClient) -> None:
    add_usage(acme, [event(day, "globex", 5) for day in MARCH_TO_DATE])

    assert summary_of(mcp_client, "queryUsage", period="month_to_date") == (
        "'Acme', 'requests' from 2026-03-01 to 2026-03-20: 95 in total."
    )


def test_usage_names_filters_that_the_metric_does_not_have(acme: Account, mcp_client: McpClient) -> None:
    regions = [event(day, "globex", 5, dimensions={"region": "eu"}) for day in MARCH_TO_DATE]
    seats = [event(MARCH_TO_DATE[0], "globex", 1, metric="seats", dimensions={"plan": "pro"})]
    add_usage(acme, [*regions, *seats])

    def of(*values: str, dimension: str = "region") -> str:
        filters = [{"dimension": dimension, "values": list(values)}]
        return summary_of(
            mcp_client, "queryUsage", usage_metric="requests", period="month_to_date", filters=filters
        )

    assert of("EU", "us") == (
        "'Acme', 'requests' within the filters from 2026-03-01 to 2026-03-20: 95 in total; "
        "no events of 'requests' on these days have region 'us'."
    )
    assert "has no matching events of 'requests'" in of("us")
    assert "; no events of 'requests' on these days have region 'us'." in of("us")
    assert "; no events of 'requests' have dimension 'plan'." in of("pro", dimension="plan")
    assert "; no events of 'requests' have dimension 'zone'." in of("a", dimension="zone")
    assert "no events" not in of("eu")


def test_usage_events_name_the_days_of_the_question(acme: Account, mcp_client: McpClient) -> None:
    add_usage(acme, [event(day, "globex", 5) for day in MARCH_TO_DATE if day.day % 2])

    assert "10 usage events from 2026-03-01 12:00:00 to 2026-03-19 12:00:00 UTC; events on 10 of 20 days" in (
        summary_of(mcp_client, "listUsageEvents", period="month_to_date")
    )
    assert summary_of(mcp_client, "listUsageEvents", start_date="2025-01-01", end_date="2025-01-31") == (
        "'Acme' has no usage event from 2025-01-01 to 2025-01-31."
    )


def test_charge_categories_that_are_not_counted_are_listed_with_their_amount(
    acme: Account, mcp_client: McpClient
) -> None:
    add_source(
        acme,
        [
            *(cost(day, 10) for day in MARCH_TO_DATE),
            cost(MARCH_TO_DATE[0], 50, charge_category="Tax"),
            cost(MARCH_TO_DATE[0], -7, charge_category="Credit"),
        ],
    )

    sentence = summary_of(mcp_client, "querySpend", period="month_to_date", charge_categories=["Usage"])

    assert "spent 190.00 USD from" in sentence
    assert "(billed, Usage charge categories, without 50.00 USD of Tax and -7.00 USD of Credit)" in sentence
    assert "without" not in summary_of(mcp_client, "querySpend", period="month_to_date")


def test_the_same_amount_of_other_days_says_which_days(bills: Bills, mcp_client: McpClient) -> None:
    bills.bring("AWS", usage({"Compute": lambda _day: 10}, date(2026, 2, 1), NOON.date()), on=NOON.date())

    with at(NOON.date()), account_scope(bills.account):
        sentence = summary_of(mcp_client, "querySpend", period="month_to_date", compare_to="previous_period")

    assert "spent 200.00 USD (the same as before, on complete days: 170.00 USD)" in sentence


def test_a_change_of_nothing_is_as_much_as_before(acme: Account, mcp_client: McpClient) -> None:
    add_march(acme)

    assert "spent as much (70.00 USD) from 2026-03-13 to 2026-03-19 as from" in summary_of(
        mcp_client, "explainSpendChange", period="last_7_days"
    )


def test_a_tag_key_without_any_value_has_none(acme: Account, mcp_client: McpClient) -> None:
    add_march(acme, tags={"team": "core"})

    assert summary_of(mcp_client, "listDimensionValues", dimension="tag:cost-center").startswith(
        "Tag 'cost-center' has no value in the cost lines from"
    )
    assert "has 1 value in" in summary_of(mcp_client, "listDimensionValues", dimension="tag:team")


def test_lists_say_that_no_rate_converts_their_amounts(
    acme: Account, cast: Cast, mcp_client: McpClient
) -> None:
    february = days(date(2026, 2, 1), date(2026, 2, 28))
    add_source(acme, [cost(day, 1, service=name) for day in february for name in ("Compute", "Storage")])
    add_march(acme, tags={"team": "core"})
    draft = SplitDraft("Storage", "service", "Storage", "even", targets=[("Compute", "")])
    create_split(account=acme, actor=cast.actor, draft=draft)
    clause = "; amounts in USD are not converted: there is no exchange rate to JPY"

    for tool, arguments in (
        ("listDimensionValues", {"dimension": "service"}),
        ("listSharedCostSplits", {}),
        ("listTagRecommendations", {}),
    ):
        assert clause in summary_of(mcp_client, tool, **arguments, display_currency="JPY"), tool
        assert "not converted" not in summary_of(mcp_client, tool, **arguments), tool


def test_budgets_say_which_cost_they_do_not_count(acme: Account, writer: McpClient) -> None:
    add_march(acme)
    add_march(acme, currency="EUR")

    created = summary_of(writer, "create_budget", name="Cloud", amount=1500, currency="USD")
    listing = summary_of(writer, "listBudgets")
    in_yen = summary_of(writer, "listBudgets", display_currency="JPY")

    assert ": 1,500.00 USD per month for the account, now from 2026-03-01 to 2026-03-31" in created
    assert "; not counted: 190.00 EUR in other currencies. Spent 190.00 USD" in created
    assert "; not counted, in other currencies: 190.00 EUR of 'Cloud'" in listing
    assert "; not counted, without an exchange rate: 190.00 EUR of 'Cloud'" in in_yen
    assert "; amounts stay in the currency of each budget, USD" in in_yen


def test_budgets_name_the_cost_of_charge_categories_that_they_do_not_count(
    acme: Account, cast: Cast, writer: McpClient
) -> None:
    add_march(acme)
    add_source(acme, [cost(MARCH_TO_DATE[0], 50, charge_category="Tax")], name="Taxes")
    change_cost_view(account=acme, actor=cast.actor, basis="billed", charge_categories=["Usage"])

    created = writer.ask("create_budget", name="Cloud", amount=1500, currency="USD")
    listing = summary_of(writer, "listBudgets")
    change_cost_view(account=acme, actor=cast.actor, basis="billed", charge_categories=[])

    assert (
        "; not counted: 50.00 USD of charge categories outside the cost view. Spent 190.00 USD"
        in (created["summary"])
    )
    assert "Not counted: 50.00 USD of charge categories" in created["budget"]["status_reason"]
    assert "; not counted, of charge categories outside the cost view: 50.00 USD of 'Cloud'" in listing
    whole = summary_of(writer, "listBudgets")
    assert "not counted" not in whole


def test_a_budget_with_amounts_of_single_periods_says_so(acme: Account, writer: McpClient) -> None:
    add_march(acme)

    sentence = summary_of(
        writer, "create_budget", name="Cloud", amount=100, currency="USD", amounts={"2026-02-01": 5}
    )

    assert "100.00 USD per month, another amount in 1 period, for the account" in sentence


def test_a_forecast_names_restated_months(bills: Bills, mcp_client: McpClient) -> None:
    january = usage({"Compute": lambda _day: 10}, date(2026, 1, 1), date(2026, 1, 31))
    february = usage({"Compute": lambda _day: 10}, date(2026, 2, 1), date(2026, 3, 19))
    bills.bring("AWS", [*january, *february], on=NOON.date())
    with at(NOON.date()), account_scope(bills.account):
        close_month(account=bills.account, actor=bills.cast.actor, month=date(2026, 2, 1))
    bills.bring("AWS", [line(date(2026, 2, 1), 5), *february], on=NOON.date() + timedelta(days=1))

    with at(NOON.date() + timedelta(days=1)), account_scope(bills.account):
        sentence = summary_of(mcp_client, "forecastSpend")

    assert "; 2026-02 was closed and restated since: +5.00 USD in the account" in sentence


def test_days_that_no_bill_covers_have_no_anomalies_for_that_reason(
    acme: Account, mcp_client: McpClient
) -> None:
    add_march(acme)

    ahead = summary_of(mcp_client, "listAnomalies", start_date="2027-01-01", end_date="2027-01-31")

    assert "no open anomaly that matches the filters" in ahead
    assert "; no bill covers these days" in ahead
    assert "no bill" not in summary_of(
        mcp_client, "listAnomalies", start_date="2026-03-01", end_date="2026-03-31"
    )


def test_no_anomaly_after_a_detection_that_failed_says_so(acme: Account, mcp_client: McpClient) -> None:
    add_march(acme)
    AnomalyRun.objects.create(account=acme, finished_at=NOON, error="The query took too long.")

    assert summary_of(mcp_client, "listAnomalies") == (
        "'Acme' has no open anomaly; the last anomaly detection failed."
    )


def test_an_alert_that_can_never_be_sent_says_so(acme: Account, writer: McpClient) -> None:
    add_march(acme)
    acme.currencies = ["USD"]
    acme.save(update_fields=["currencies"])
    AlertChannel.objects.create(name="Ops", kind="email")
    arguments = {"channel": "Ops", "trigger": "anomaly", "minimum_impact": 5}

    in_yen = summary_of(writer, "create_alert_subscription", **arguments, currency="JPY")
    in_dollars = summary_of(writer, "create_alert_subscription", **arguments, currency="USD")

    assert "; it sends nothing: cost is in USD, so nothing reaches an amount in JPY" in in_yen
    assert "sends nothing" not in in_dollars


def test_a_value_that_no_line_has_is_in_the_first_sentence(acme: Account, mcp_client: McpClient) -> None:
    add_march(acme, service="Compute")

    sentence = summary_of(
        mcp_client, "querySpend", filters=[{"dimension": "service", "values": ["Compute", "Quantum"]}]
    )

    assert "spent 190.00 USD within the filters" in sentence
    assert "; no cost on these days has service 'Quantum'" in sentence


def test_a_source_that_stopped_is_named_next_to_the_amount_of_its_incomplete_days(
    bills: Bills, mcp_client: McpClient
) -> None:
    bills.bring(
        "AWS", usage({"Compute": lambda _day: 10}, date(2026, 2, 1), date(2026, 3, 19)), on=NOON.date()
    )
    bills.bring(
        "GCP", usage({"Run": lambda _day: 7}, date(2026, 2, 1), date(2026, 3, 5)), on=date(2026, 3, 6)
    )

    with at(NOON.date()), account_scope(bills.account):
        sentence = summary_of(mcp_client, "querySpend", period="month_to_date")

    assert "'GCP' from 2026-03-04 (no cost lines after 2026-03-05)" in sentence
    assert sentence.count("GCP") == sentence.count("no cost lines after") == 1
