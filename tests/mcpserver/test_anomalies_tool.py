"""listAnomalies: what it answers, how it narrows, how it repairs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.models import CostSource
from finops.insights.models import Anomaly
from tests.cast import Cast
from tests.factories.anomalies import add_anomaly
from tests.mcpserver.mcp_client import McpClient

CAUSE = {
    "dimension": "resource",
    "title": "Resource",
    "rows": [
        {"value": "vm-2", "actual": "90", "expected": "10", "excess": "80", "share": "0.8"},
        {"value": "vm-3", "actual": "40", "expected": "20", "excess": "20", "share": "0.2"},
    ],
    "other_values": 0,
    "other_excess": "0",
}


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    with account_scope(cast.account):
        yield cast.account


def an_anomaly(account: Account, number: int, **columns: Any) -> Anomaly:
    source = CostSource.objects.get_or_create(account=account, name="AWS")[0]
    fields: dict[str, Any] = {
        "key": f"anom_{number:016}",
        "value": f"Service {number}",
        "currency": "USD",
        "kind": "spike",
        "severity": "low",
        "first_day": date(2026, 3, 1),
        "last_day": date(2026, 3, 2),
        "actual": Decimal(130),
        "expected": Decimal(30),
        "impact": Decimal(100),
        "month_end_impact": Decimal(100),
        "days": [["2026-03-01", "60", "15", "10", "20"], ["2026-03-02", "70", "15", "10", "20"]],
        "causes": [CAUSE],
    }
    return add_anomaly(account, source, **{**fields, **columns})


def test_an_open_anomaly_has_its_figures_band_and_causes(acme: Account, mcp_client: McpClient) -> None:
    anomaly = an_anomaly(acme, 1)
    an_anomaly(acme, 2, state="resolved")

    answer = mcp_client.ask("listAnomalies")

    (row,) = answer["anomalies"]
    assert (row["id"], row["title"]) == (anomaly.key, "Resource: vm-2")
    assert (row["impact"], row["month_end_impact"], row["currency"]) == (100, 100, "USD")
    assert (row["expected_low"], row["expected"], row["expected_high"]) == (20, 30, 40)
    assert row["root_causes"] == [
        {"dimension": "resource", "value": "vm-2", "impact": 80, "currency": "USD", "share": 0.8}
    ]
    assert answer["summary"].startswith(
        "'Acme' has 1 open anomaly; listed first: 'Service 1' ('Resource: vm-2') of 'AWS'"
    )
    assert answer["console_url"].endswith("/a/acme/anomalies/?state=open")


def test_the_severest_come_first_then_the_newest(acme: Account, mcp_client: McpClient) -> None:
    an_anomaly(acme, 1)
    an_anomaly(acme, 2, last_day=date(2026, 3, 9))
    an_anomaly(acme, 3, severity="high")
    an_anomaly(acme, 4, severity="medium")

    rows = mcp_client.ask("listAnomalies")["anomalies"]

    assert [row["value"] for row in rows] == ["Service 3", "Service 4", "Service 2", "Service 1"]


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ({"status": "all"}, "1234"),
        ({"status": "expected"}, "4"),
        ({"start_date": "2026-03-05"}, "3"),
        ({"end_date": "2026-02-10"}, "2"),
        ({"minimum_impact": 150}, "2"),
        ({"currency": "eur"}, "3"),
        ({"search": "drop AWS"}, "2"),
        ({"search": "vm-2", "currency": "EUR"}, "3"),
    ],
    ids=str,
)
def test_the_tool_filters(
    acme: Account, mcp_client: McpClient, arguments: dict[str, Any], values: str
) -> None:
    an_anomaly(acme, 1)
    an_anomaly(acme, 2, impact=Decimal(-200), first_day=date(2026, 2, 1), kind="drop")
    an_anomaly(acme, 3, last_day=date(2026, 3, 9), currency="EUR")
    an_anomaly(acme, 4, state="expected", note="Planned")

    rows = mcp_client.ask("listAnomalies", **arguments)["anomalies"]

    assert {row["value"].removeprefix("Service ") for row in rows} == set(values)


def test_a_service_is_found_by_what_people_call_it(acme: Account, mcp_client: McpClient) -> None:
    an_anomaly(acme, 1, value="Amazon Virtual Private Cloud")
    an_anomaly(acme, 2)

    (row,) = mcp_client.ask("listAnomalies", search="VPC")["anomalies"]
    assert row["value"] == "Amazon Virtual Private Cloud"


def test_views_of_one_incident_are_one_and_what_two_share_is_named(
    acme: Account, mcp_client: McpClient
) -> None:
    service = an_anomaly(acme, 1)
    own_warnings = mcp_client.ask("listAnomalies")["warnings"]
    an_anomaly(acme, 2, dimension="team", value="Core", incident=service.incident)

    answer = mcp_client.ask("listAnomalies")
    assert [(each["id"], each["also_seen_as"]) for each in answer["anomalies"]] == [
        (service.key, ["team Core"])
    ]
    assert (answer["total_anomalies"], answer["warnings"]) == (1, own_warnings)

    an_anomaly(acme, 3, dimension="team", value="Edge", shared_impact=Decimal("1.5"))
    (new_warnings,) = set(mcp_client.ask("listAnomalies")["warnings"]) - set(own_warnings)
    assert new_warnings.startswith("'Edge': 1.50 USD of its impact is also in other anomalies")


def test_pages_follow_by_cursor_each_once(acme: Account, mcp_client: McpClient) -> None:
    for number in range(7):
        an_anomaly(acme, number)

    keys: list[str] = []
    cursor = ""
    while True:
        answer = mcp_client.ask("listAnomalies", limit=3, cursor=cursor)
        keys += [row["id"] for row in answer["anomalies"]]
        cursor = answer["cursor"]
        if not cursor:
            break

    assert len(keys) == len(set(keys)) == 7


def test_days_in_the_wrong_order_are_said(acme: Account, mcp_client: McpClient) -> None:
    problem = mcp_client.problem("listAnomalies", start_date="2026-03-09", end_date="2026-03-01")

    assert "end_date 2026-03-01 is before start_date 2026-03-09." in problem


def test_before_the_first_look_it_says_so(acme: Account, mcp_client: McpClient) -> None:
    answer = mcp_client.ask("listAnomalies")

    assert answer["anomalies"] == []
    assert answer["warnings"] == [
        "Anomaly detection has not run yet. It runs within minutes of a cost import."
    ]
