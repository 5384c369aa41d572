"""The five events: each is sent once, with its figures, from the subscription on. Today is 20 March 2026."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from accounts.models import Account, MCPKey
from finops.alerts import services
from finops.alerts.models import AlertDelivery, EventFiring, EventSubscription
from finops.alerts.services.evaluation_runs import due_accounts, evaluate_if_due
from finops.change_events.models import EventSource
from finops.connections.models import CostConnection
from finops.cost_access.creations import limit_key
from finops.cost_access.services import create_limit
from finops.costs.models import CostSource
from finops.costs.services import create_cost_source, import_files
from finops.costs.spend_query import CostFilter
from finops.insights.anomalies.services import detect_if_due
from finops.insights.models import Anomaly
from finops.lib import clock
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.bill_text import bill as bill_text
from tests.factories.bill_text import month_of
from tests.factories.budgets import create_budget, daily_cost
from tests.factories.costs import add_source, store_lines
from tests.factories.days import NOON
from tests.finops.insights.anomalies.bills import LAST, bill, with_extra
from tests.mcpserver.events.callback import Callback, send_all, subscribe, subscription
from tests.mcpserver.mcp_client import McpClient
from tests.pages import get_page

JANUARY, MARCH, YESTERDAY = date(2026, 1, 1), date(2026, 3, 1), date(2026, 3, 19)
SPIKE = LAST - timedelta(days=1)


@pytest.fixture
def spend(acme: Account) -> CostSource:
    """10 USD a day from January to yesterday."""
    return add_source(acme, daily_cost(JANUARY, YESTERDAY, 10))


def sent_events(acme: Account, callback: Callback) -> list[dict[str, Any]]:
    """Events that an evaluation sends; each fits the schema that events/list gives it."""
    first_new = len(callback.events)
    services.evaluate(acme)
    send_all()
    return callback.events[first_new:]


def check_payload(mcp_client: McpClient, event: dict[str, Any]) -> None:
    (entry,) = (each for each in mcp_client.result("events/list")["events"] if each["name"] == event["name"])
    Draft202012Validator(entry["payloadSchema"]).validate(event["data"])


def test_a_budget_that_reaches_a_threshold(
    acme: Account, mcp_client: McpClient, callback: Callback, spend: CostSource
) -> None:
    create_budget(acme, "Over before", 100)
    cloud = create_budget(acme, "Cloud", 230)
    answer = subscribe(mcp_client, "budget.threshold_reached", callback, thresholds=[90])
    assert sent_events(acme, callback) == []  # what is so already is no event

    store_lines(acme, spend, [*daily_cost(JANUARY, date(2026, 2, 28), 10), *daily_cost(MARCH, YESTERDAY, 11)])
    (event,) = sent_events(acme, callback)

    check_payload(mcp_client, event)
    delivery = AlertDelivery.objects.get()
    assert event["eventId"] == f"evt_{delivery.pk}"
    assert (event["name"], event["cursor"]) == ("budget.threshold_reached", None)
    assert event["timestamp"] == NOON.isoformat()
    assert event["data"]["title"] == "'Acme': budget 'Cloud' is at 90.9%"
    assert event["data"]["console_url"].endswith(f"/a/acme/budgets/{cloud.pk}/")
    assert event["data"]["account"] == {"slug": "acme", "name": "Acme"}
    assert event["data"]["figures"]["spent"] == {"amount": 209.0, "currency": "USD"}
    headers = callback.receiver.requests[-1].headers
    assert headers["webhook-id"] == event["eventId"]
    assert headers["x-mcp-subscription-id"] == answer["id"]
    assert headers["content-type"] == "application/json"
    assert sent_events(acme, callback) == []


@pytest.mark.parametrize("by", ["id", "name"])
def test_one_budget_alone_where_the_subscription_names_it(
    acme: Account, mcp_client: McpClient, callback: Callback, spend: CostSource, by: str
) -> None:
    own_budget, _other = create_budget(acme, "Mine", 500), create_budget(acme, "Other", 500)
    named = own_budget.pk if by == "id" else " mine "
    subscribe(mcp_client, "budget.threshold_reached", callback, budget=named, measure="forecast")
    assert EventSubscription.objects.get().arguments["budget"] == own_budget.pk
    sent_events(acme, callback)

    store_lines(acme, spend, daily_cost(JANUARY, YESTERDAY, 30))

    assert [each["data"]["figures"]["budget"] for each in sent_events(acme, callback)] == ["Mine"]


def test_an_anomaly_that_is_found_after_the_subscription(
    acme: Account, mcp_client: McpClient, callback: Callback
) -> None:
    source = add_source(acme, bill())
    subscribe(mcp_client, "anomaly.opened", callback, minimum_impact=100, currency="USD")
    store_lines(acme, source, bill(with_extra(SPIKE, LAST, "300")))
    detect_if_due(acme)

    (event,) = sent_events(acme, callback)

    check_payload(mcp_client, event)
    figures = event["data"]["figures"]
    assert figures["anomaly_id"] in event["data"]["console_url"]
    assert figures["impact"]["amount"] == pytest.approx(float(Anomaly.objects.get().impact))
    assert sent_events(acme, callback) == []
    with clock.frozen(NOON + timedelta(hours=1)):
        subscribe(McpClient(mcp_client.key), "anomaly.opened", callback)  # of other arguments: another one
        assert sent_events(acme, callback) == []


def test_a_small_anomaly_is_no_event_for_who_wants_large_ones(
    acme: Account, mcp_client: McpClient, callback: Callback
) -> None:
    source = add_source(acme, bill())
    subscribe(mcp_client, "anomaly.opened", callback, minimum_impact=100_000, currency="USD")
    store_lines(acme, source, bill(with_extra(SPIKE, LAST, "300")))
    detect_if_due(acme)

    assert sent_events(acme, callback) == []


def test_an_import_that_finished(
    acme: Account, mcp_client: McpClient, callback: Callback, tmp_path: Path
) -> None:
    source = create_cost_source(account=acme, name="Bills", actor=ACTOR)
    path = tmp_path / "february.csv"
    path.write_text(bill_text(month_of("2026-02", "15")))
    with clock.frozen(NOON - timedelta(minutes=5)):
        import_files(account=acme, source=source, paths=[path], actor=ACTOR)
    subscribe(mcp_client, "import.finished", callback)
    assert sent_events(acme, callback) == []
    path.write_text(bill_text(month_of("2026-02", "15.01")))

    import_files(account=acme, source=source, paths=[path], actor=ACTOR)

    (event,) = sent_events(acme, callback)
    check_payload(mcp_client, event)
    assert event["data"]["title"] == "'Acme': an import into 'Bills' finished"
    assert event["data"]["summary"] == "28 lines of 2026-02 from 'february.csv' are counted."
    assert sent_events(acme, callback) == []


def test_a_source_that_is_late_and_one_that_recovers(
    acme: Account, mcp_client: McpClient, callback: Callback
) -> None:
    subscribe(mcp_client, "connection.problem", callback)
    assert sent_events(acme, callback) == []
    source = add_source(acme, daily_cost(JANUARY, YESTERDAY, 10), name="Linked")
    connection = CostConnection.objects.create(
        account=acme, source=source, connector="s3", failures=2, failing_since=NOON - timedelta(hours=2)
    )

    (event,) = sent_events(acme, callback)

    check_payload(mcp_client, event)
    assert event["data"]["title"] == "'Acme': source 'Linked' is failing"
    assert event["data"]["figures"]["state"] == "failing"
    CostConnection.objects.filter(pk=connection.pk).update(failing_since=None, failures=0)
    (end,) = sent_events(acme, callback)
    assert end["data"]["figures"]["state"] == "resolved"


def test_a_pulled_event_source_that_fails_and_recovers(
    acme: Account, mcp_client: McpClient, callback: Callback
) -> None:
    subscribe(mcp_client, "connection.problem", callback)
    assert sent_events(acme, callback) == []
    source = EventSource.objects.create(account=acme, name="GitHub", kind="pull")
    CostConnection.objects.create(
        account=acme, event_source=source, connector="github", failures=2, failing_since=NOON
    )

    (event,) = sent_events(acme, callback)

    check_payload(mcp_client, event)
    assert event["data"]["title"] == "'Acme': source 'GitHub' is failing"
    CostConnection.objects.update(failing_since=None, failures=0)
    (end,) = sent_events(acme, callback)
    assert end["data"]["figures"]["state"] == "resolved"


def test_a_forecast_that_changed_by_more_than_the_subscription_says(
    acme: Account, mcp_client: McpClient, callback: Callback, spend: CostSource
) -> None:
    subscribe(mcp_client, "forecast.changed", callback, minimum_percent=20)
    assert sent_events(acme, callback) == []
    store_lines(acme, spend, daily_cost(JANUARY, YESTERDAY, 11))
    assert sent_events(acme, callback) == []  # a tenth
    store_lines(acme, spend, daily_cost(JANUARY, YESTERDAY, 13))

    (event,) = sent_events(acme, callback)

    check_payload(mcp_client, event)
    # Of the forecast of the last event, or of the beginning: small steps add up.
    assert event["data"]["figures"]["previous"] == {"amount": 310.0, "currency": "USD"}
    assert event["data"]["figures"]["expected"] == {"amount": 403.0, "currency": "USD"}
    assert event["data"]["summary"] == (
        "The forecast for Mar 31 is $403.00; it was $310.00. It rests on cost through Mar 19."
    )
    assert sent_events(acme, callback) == []


def test_an_account_is_evaluated_for_its_event_subscriptions_alone(
    acme: Account, mcp_client: McpClient, callback: Callback, spend: CostSource
) -> None:
    assert due_accounts() == []
    subscribe(mcp_client, "budget.threshold_reached", callback)

    assert due_accounts() == [acme.pk]
    assert evaluate_if_due(acme)
    assert due_accounts() == []


def test_a_limited_reader_gets_no_events_from_the_limit_on(
    acme: Account, cast: Cast, mcp_client: McpClient, callback: Callback, spend: CostSource
) -> None:
    subscribe(mcp_client, "budget.threshold_reached", callback)
    sent_events(acme, callback)
    limit = create_limit(
        account=acme,
        actor=cast.actor,
        name="EC2 alone",
        alternatives=[[CostFilter(dimension="service", values=["EC2"])]],
    )
    limit_key(key=MCPKey.objects.get(), limit=limit, actor=cast.actor)
    create_budget(acme, "Cloud", 100)

    assert sent_events(acme, callback) == []

    assert mcp_client.result("events/list")["events"] == []
    error = mcp_client.error("events/subscribe", subscription("import.finished", callback))
    assert error["code"] == -32012
    assert AlertDelivery.objects.order_by("pk")[0].attempts[-1]["answer"].startswith("Cost access")


def test_a_sent_report_is_in_the_list_of_deliveries(
    acme: Account, cast: Cast, mcp_client: McpClient, callback: Callback, spend: CostSource
) -> None:
    subscribe(mcp_client, "budget.threshold_reached", callback)
    sent_events(acme, callback)
    create_budget(acme, "Cloud", 100)
    sent_events(acme, callback)
    viewer, delivery = signed_in(cast.viewer), AlertDelivery.objects.get()

    page = get_page(viewer, "/a/acme/alerts/deliveries/")
    assert "Budget threshold reached" in page
    assert "Assistant event" in page
    detail = get_page(viewer, f"/a/acme/alerts/deliveries/{delivery.pk}/")
    assert "(deleted)" not in detail
    assert "Resend" not in detail


def test_a_member_sees_and_ends_subscriptions_and_a_viewer_only_sees_them(
    acme: Account, cast: Cast, mcp_client: McpClient, callback: Callback
) -> None:
    subscribe(mcp_client, "import.finished", callback)
    member, viewer, page = signed_in(cast.member), signed_in(cast.viewer), "/a/acme/alerts/channels/"
    row = EventSubscription.objects.get()
    end = f"/a/acme/alerts/event-subscriptions/{row.pk}/end/"

    assert "Event subscriptions of assistants" in get_page(viewer, page)
    assert "xXsecretpathXx" not in get_page(member, page)
    assert viewer.post(end).status_code == 403
    assert signed_in(cast.stranger).post(end).status_code == 404
    assert member.post(end).status_code == 302

    send_all()
    assert callback.ends[0]["error"]["data"] == {"reason": "Ended by member@example.com."}
    assert "Event subscriptions of assistants" not in get_page(member, page)


def test_two_concurrent_evaluations_send_one_event(
    acme: Account, mcp_client: McpClient, callback: Callback, spend: CostSource
) -> None:
    subscribe(mcp_client, "budget.threshold_reached", callback)
    sent_events(acme, callback)
    create_budget(acme, "Cloud", 100)

    assert len(services.evaluate(acme)) == 1
    assert services.evaluate(acme) == []
    assert EventFiring.objects.count() == 2  # thresholds 80 and 100
