"""The dashboard tools: what they write, refuse, and whom they let."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import LazySettings

from accounts.models import AuditEntry, MCPKey
from accounts.scoping import account_scope
from finops.dashboards.models import Dashboard, Widget
from mcpserver.registry import registry
from tests.accounts.oauth.flow import OAuthClient
from tests.cast import Cast
from tests.factories.dashboards import create_board, widget
from tests.mcpserver.mcp_client import McpClient, mint

WRITES = [
    ("create_dashboard", {"name": "New"}),
    ("set_dashboard_widgets", {"dashboard_id": 1, "widgets": []}),
    ("delete_dashboard", {"dashboard_id": 1}),
]


def shared_names(cast: Cast) -> list[str]:
    with account_scope(cast.account):
        return list(Dashboard.objects.filter(owner=None).values_list("name", flat=True))


def test_a_board_is_made_read_changed_and_deleted(cast: Cast, writer: McpClient) -> None:
    widgets = [
        {"type": "Spend by", "title": "Regions", "config": '{"group_by": "region", "limit": "3"}'},
        {"type": "total", "position": {"x": 6, "y": 0}},
        {"type": "anomalies", "config": {"minimum_impact": 12.5, "currency": "EUR"}},
    ]
    created = writer.ask("create_dashboard", name="Weekly", widgets=widgets)
    pk = created["dashboard"]["id"]

    assert created["console_url"].endswith(f"/a/acme/dashboards/{pk}/")
    assert created["dashboard"]["widgets"] == [
        {
            "type": "spend_by",
            "title": "Regions",
            "config": {"group_by": ["region"], "limit": 3},
            "position": {"x": 0, "y": 0, "w": 6, "h": 5},
        },
        {"type": "total", "title": "", "config": {}, "position": {"x": 6, "y": 0, "w": 3, "h": 3}},
        {
            "type": "anomalies",
            "title": "",
            "config": {"minimum_impact": 12.5, "currency": "EUR"},
            "position": {"x": 6, "y": 3, "w": 4, "h": 4},
        },
    ]
    assert writer.ask("getDashboard", dashboard_id=pk)["dashboard"] == created["dashboard"]
    listing = writer.ask("listDashboards")
    assert [(row["id"], row["name"], row["widgets"]) for row in listing["dashboards"]] == [(pk, "Weekly", 3)]
    assert listing["places_left"] == 19

    deleted = writer.ask("delete_dashboard", dashboard_id=pk)
    assert deleted["deleted_id"] == pk
    assert f"dashboard_id: {pk} does not exist" in writer.problem("delete_dashboard", dashboard_id=pk)


def test_writing_back_what_was_read_changes_nothing(cast: Cast, writer: McpClient) -> None:
    with account_scope(cast.account):
        dashboard = create_board(
            cast.account,
            "Weekly",
            widget("anomalies", minimum_impact="0.125", currency="USD"),
            widget("table", (3, 2, 9, 4), group_by=["service", "region"]),
            widget("total", (2, 2, 9, 4), filters=[{"dimension": "service", "values": ["x"]}]),
            widget("text", text="Überall ünïcode"),
        )
    before = list(Widget.objects.unscoped().order_by("pk").values())
    entries = AuditEntry.objects.unscoped().count()

    read = writer.ask("getDashboard")["dashboard"]
    after = writer.ask("set_dashboard_widgets", dashboard_id=dashboard.pk, widgets=read["widgets"])

    assert after["dashboard"] == read
    assert list(Widget.objects.unscoped().order_by("pk").values()) == before
    assert AuditEntry.objects.unscoped().count() == entries


def test_a_newer_layout_is_not_overwritten_by_one_made_of_an_older_version(
    cast: Cast, writer: McpClient
) -> None:
    pk = writer.ask("create_dashboard", name="Weekly", widgets=[{"type": "total"}])["dashboard"]["id"]
    read = writer.ask("getDashboard", dashboard_id=pk)["dashboard"]
    other = McpClient(mint(cast, "read_write"))
    newer = other.ask("set_dashboard_widgets", dashboard_id=pk, widgets=[{"type": "anomalies"}])
    change = {"dashboard_id": pk, "widgets": [{"type": "savings"}]}

    refused = writer.problem("set_dashboard_widgets", **change, version=read["version"])

    assert refused.startswith("version: dashboard 'Weekly' has a newer layout")
    assert writer.ask("getDashboard", dashboard_id=pk)["dashboard"] == newer["dashboard"]
    newest = newer["dashboard"]["version"]
    replaced = writer.ask("set_dashboard_widgets", **change, version=newest)
    assert [each["type"] for each in replaced["dashboard"]["widgets"]] == ["savings"]
    assert replaced["warnings"] == []
    # A retry finds what it wanted to write.
    assert writer.ask("set_dashboard_widgets", **change, version=newest) == replaced


def test_without_a_version_the_answer_says_who_changed_the_layout_before(
    cast: Cast, writer: McpClient
) -> None:
    pk = writer.ask("create_dashboard", name="Weekly", widgets=[{"type": "total"}])["dashboard"]["id"]
    change = {"dashboard_id": pk, "widgets": [{"type": "savings"}]}

    assert writer.ask("set_dashboard_widgets", **change)["warnings"] == []
    other = McpClient(mint(cast, "read_write"))
    (warning,) = other.ask("set_dashboard_widgets", **{**change, "widgets": []})["warnings"]
    assert "tests read_write" in warning
    assert "changed it last, at " in warning


def test_the_largest_layout_fits_into_an_answer_uncut(cast: Cast, writer: McpClient) -> None:
    widgets = [{"type": "text", "title": "\"'" * 50, "config": {"text": '"é' * 110}} for _ in range(40)]
    while "layout has" in (
        text := writer.call("create_dashboard", name="Full", widgets=widgets)["content"][0]["text"]
    ):
        widgets = widgets[:-1]

    layout = json.loads(text)
    assert len(widgets) > 20
    assert [each["config"] for each in layout["dashboard"]["widgets"]] == [each["config"] for each in widgets]


def test_two_widgets_at_one_place_are_refused_outright(cast: Cast, writer: McpClient) -> None:
    twins = [
        {"type": "total", "title": "One", "position": {"x": 0, "y": 4}},
        {"type": "text"},
        {"type": "spend_by", "title": "Other", "position": {"x": 0, "y": 4, "w": 2, "h": 2}},
    ]

    problem = writer.problem("create_dashboard", name="Twins", widgets=twins)

    assert "widgets[0] 'One' and widgets[2] 'Other' have the same position, x 0 and y 4" in problem
    assert shared_names(cast) == []


@pytest.mark.parametrize(
    ("bad", "expected_message"),
    [
        ({"type": "spend_bye"}, "widgets[0].type: 'spend_bye' does not exist. Nearest: spend_by"),
        (
            {"type": "spend_by", "config": {"groupby": "x"}},
            "widgets[0].config: config of spend_by has no argument",
        ),
        ({"type": "spend_by", "config": {"groupby": "x"}}, "Nearest: group_by"),
        ({"type": "total", "config": {"period": "last_moth"}}, "Nearest: last_month"),
        ({"type": "total", "config": {"filters": [{"dimension": "regoin", "values": ["x"]}]}}, "region"),
        ({"type": "budget_status", "config": {"budgets": [77]}}, "budgets: 77 does not exist"),
        ({"type": "unit_cost"}, "unit_metric is required"),
        ({"type": "total", "size": 3}, "widgets[0] has no field"),
    ],
    ids=["type", "field", "nearest field", "period", "dimension", "budget", "required", "widget field"],
)
def test_an_error_says_what_to_mend(
    cast: Cast, writer: McpClient, bad: dict[str, Any], expected_message: str
) -> None:
    assert expected_message in writer.problem("create_dashboard", name="Bad", widgets=[bad])
    assert shared_names(cast) == []


def test_a_retried_create_says_which_id_exists(writer: McpClient) -> None:
    created = writer.ask("create_dashboard", name="Weekly")["dashboard"]

    assert f"'Weekly' already exists with id {created['id']}" in writer.problem(
        "create_dashboard", name="weekly"
    )


def test_the_cap_of_the_app_binds_the_tool(cast: Cast, writer: McpClient, settings: LazySettings) -> None:
    settings.DASHBOARDS_PER_ACCOUNT = 1
    with account_scope(cast.account):
        create_board(cast.account, "Made in the app")

    assert "1 shared dashboards; the maximum is 1" in writer.problem("create_dashboard", name="More")


def test_a_personal_board_and_another_accounts_are_as_if_they_were_not_there(
    cast: Cast, writer: McpClient
) -> None:
    with account_scope(cast.account):
        own_board = create_board(cast.account, "Mine", widget("total"), owner=cast.member)
        create_board(cast.account, "Shared")
    with account_scope(cast.other_account):
        foreign_board = create_board(cast.other_account, "Theirs")

    calls: list[tuple[str, dict[str, Any]]] = [
        ("getDashboard", {}),
        ("set_dashboard_widgets", {"widgets": []}),
        ("delete_dashboard", {}),
    ]
    for tool, arguments in calls:
        problems = [
            writer.problem(tool, dashboard_id=pk, **arguments).replace(str(pk), "N")
            for pk in (own_board.pk, foreign_board.pk, 999_999, 2**70)
        ]
        assert len(set(problems)) == 1
        assert "Mine" not in problems[0]
        assert "Theirs" not in problems[0]
    assert [row["name"] for row in writer.ask("listDashboards")["dashboards"]] == ["Shared"]
    with account_scope(cast.account):
        assert own_board.widgets.count() == 1


@pytest.mark.parametrize(("tool", "arguments"), WRITES, ids=[name for name, _arguments in WRITES])
def test_a_credential_that_may_only_read_writes_nothing(
    cast: Cast, tool: str, arguments: dict[str, Any]
) -> None:
    key, token = mint(cast), OAuthClient().connect(cast.member).access
    with account_scope(cast.account):
        pk = create_board(cast.account, "Weekly", widget("total")).pk
    call_arguments = {**arguments, **({"dashboard_id": pk} if "dashboard_id" in arguments else {})}
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": call_arguments},
    }

    assert ", is read-only. Nothing was changed. Members can create a Read/write key at" in McpClient(
        key
    ).problem(tool, **call_arguments)
    refusal = McpClient(token).http(json.dumps(message).encode())

    assert (refusal.status_code, "insufficient_scope" in refusal["WWW-Authenticate"]) == (403, True)
    assert json.loads(refusal.content)["id"] == 1
    assert shared_names(cast) == ["Weekly"]
    assert Widget.objects.unscoped().count() == 1


def test_the_audit_log_names_the_credential(cast: Cast, writer: McpClient) -> None:
    writer.ask("create_dashboard", name="Weekly")

    key = MCPKey.objects.unscoped().get()
    entry = AuditEntry.objects.unscoped().get(action="dashboard.create")
    assert entry.actor_label == f"MCP key {key.name} ({key.masked_key})"


def test_only_deleting_is_destructive() -> None:
    hints = {name: registry.get(name).hints["destructiveHint"] for name, _arguments in WRITES}  # type: ignore[union-attr]

    assert hints == {"create_dashboard": False, "set_dashboard_widgets": False, "delete_dashboard": True}


def test_idempotent_requests_are_marked_as_such() -> None:
    hints = {name: registry.get(name).hints["idempotentHint"] for name, _arguments in WRITES}  # type: ignore[union-attr]

    assert hints == {"create_dashboard": False, "set_dashboard_widgets": True, "delete_dashboard": True}
