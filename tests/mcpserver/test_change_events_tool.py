"""listChangeEvents: what it answers, how it narrows, how it repairs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import ChangeEvent
from finops.change_events.queries import events
from tests.cast import Cast
from tests.mcpserver.mcp_client import McpClient

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    with account_scope(cast.account):
        yield cast.account


def note(account: Account, title: str, **fields: Any) -> ChangeEvent:
    values = {"origin": "note", "kind": "note", "occurred_at": NOON, **fields}
    return ChangeEvent.objects.create(account=account, title=title, **values)


def titles(mcp_client: McpClient, **arguments: Any) -> list[str]:
    return [each["title"] for each in mcp_client.ask("listChangeEvents", **arguments)["events"]]


def test_an_event_has_its_time_kind_scope_and_origin(acme: Account, mcp_client: McpClient) -> None:
    note(acme, "checkout v142", kind="deployment", actor="ci", scope={"service": ["Amazon EC2"]})

    answer = mcp_client.ask("listChangeEvents")

    assert answer["events"] == [
        {
            "occurred_at": "2026-03-10T12:00:00Z",
            "kind": "deployment",
            "title": "checkout v142",
            "source": "Note",
            "actor": "ci",
            "scope": {"service": ["Amazon EC2"]},
        }
    ]
    assert answer["summary"] == "'Acme' has 1 change event; listed first: 'checkout v142' on 2026-03-10."
    assert answer["console_url"].endswith("/events/")


def test_the_tool_filters_by_days_and_kinds(acme: Account, mcp_client: McpClient) -> None:
    note(acme, "before", occurred_at=NOON - timedelta(days=1))
    note(acme, "note")
    note(acme, "incident", kind="incident")
    days = {"start_date": "2026-03-10", "end_date": "2026-03-10"}

    assert titles(mcp_client, **days) == ["incident", "note"]
    assert titles(mcp_client, **days, kinds=["incident"]) == ["incident"]
    assert titles(mcp_client, end_date="2026-03-09") == ["before"]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ({"Service": ["ec2"]}, ["all", "ec2"]),
        ({"service": ["Amazon Elastic Compute Cloud"], "region": ["eu-west-1"]}, ["all", "ec2"]),
        ({"service": ["EC2"], "region": ["us-east-1"]}, ["all"]),
        ({"service": ["S3", "EC2"]}, ["all", "ec2", "s3"]),
        ({"tag:team": ["Core"]}, ["all", "ec2", "s3"]),
    ],
    ids=str,
)
def test_an_event_that_names_another_value_of_an_asked_dimension_does_not_fit(
    acme: Account, mcp_client: McpClient, scope: dict[str, list[str]], expected: list[str]
) -> None:
    note(acme, "s3", scope={"service": ["Amazon Simple Storage Service"]})
    note(acme, "ec2", scope={"service": ["EC2"], "region": ["eu-west-1"]})
    note(acme, "all")

    filters = [{"dimension": name, "values": values} for name, values in scope.items()]

    assert sorted(titles(mcp_client, filters=filters)) == expected
    assert mcp_client.ask("listChangeEvents", filters=filters)["total_events"] == len(expected)


def test_filters_have_the_operators_of_filters_on_cost(acme: Account, mcp_client: McpClient) -> None:
    note(acme, "s3", scope={"service": ["Amazon Simple Storage Service"]})
    note(acme, "ec2", scope={"service": ["EC2"]})
    note(acme, "all")

    for op, expected in (("not_in", ["all", "s3"]), ("contains", ["all", "ec2"]), ("absent", ["all"])):
        values = [] if op == "absent" else ["ec2"]
        filters = [{"dimension": "service", "op": op, "values": values}]
        assert sorted(titles(mcp_client, filters=filters)) == expected


def test_pages_follow_each_other_while_events_come(acme: Account, mcp_client: McpClient) -> None:
    for number in range(5):
        note(acme, f"{number}", occurred_at=NOON + timedelta(minutes=number // 2))

    first = mcp_client.ask("listChangeEvents", limit=2)
    note(acme, "new", occurred_at=NOON + timedelta(hours=1))
    second = titles(mcp_client, limit=3, cursor=first["cursor"])

    assert [each["title"] for each in first["events"]] + second == ["4", "3", "2", "1", "0"]
    assert first["truncated"] == "2 of 5. Use cursor for older events."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start_date": "2026-03-02", "end_date": "2026-03-01"}, "is before start_date"),
        ({"filters": [{"dimension": "colour", "values": ["red"]}]}, "'colour' is no dimension of cost"),
        ({"cursor": "abc"}, "cursor does not belong to these arguments"),
    ],
)
def test_an_error_is_reported_with_instructions(
    acme: Account, mcp_client: McpClient, arguments: dict[str, Any], message: str
) -> None:
    assert message in mcp_client.problem("listChangeEvents", **arguments)


def test_an_answer_that_does_not_count_all_events_of_a_scope_says_so_first(
    acme: Account, mcp_client: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MAX_READ", 2)
    for number in range(3):
        note(acme, f"v{number}", scope={"service": ["EC2"]}, occurred_at=NOON + timedelta(hours=number))
        note(acme, f"s3 v{number}", scope={"service": ["S3"]}, occurred_at=NOON + timedelta(hours=number))

    answer = mcp_client.ask("listChangeEvents", filters=[{"dimension": "service", "values": ["amazon ec2"]}])

    assert answer["summary"].startswith("'Acme' has more than 2 change events that fit the filters")
    assert answer["warnings"] == ["Only the newest 2 of these events are listed. Use fewer days."]
    assert [each["title"] for each in answer["events"]] == ["v2", "v1"]
