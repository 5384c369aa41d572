"""Elicitation before a dashboard is deleted, or replaced after a change by another person, where the client
supports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from accounts.audit import Actor
from accounts.scoping import account_scope
from finops.dashboards import services
from finops.dashboards.models import Dashboard
from tests.cast import Cast
from tests.factories.dashboards import create_board, widget
from tests.mcpserver.mcp_client import McpClient, mint

FORMS: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
LINKS_ALONE: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}}}


def call(mcp_client: McpClient, tool: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": dict(arguments), "_meta": FORMS, **more}
    return mcp_client.result("tools/call", params)


def reply(action: str, *, confirm: bool | None = None) -> dict[str, Any]:
    content = {} if confirm is None else {"content": {"confirm": confirm}}
    return {"confirm": {"action": action, **content}}


def is_there(cast: Cast, pk: int) -> bool:
    with account_scope(cast.account):
        return Dashboard.objects.filter(pk=pk).exists()


@pytest.fixture
def board(cast: Cast) -> int:
    with account_scope(cast.account):
        return create_board(cast.account, "Weekly").pk


def test_a_dashboard_is_deleted_when_the_person_agrees(cast: Cast, writer: McpClient, board: int) -> None:
    response = call(writer, "delete_dashboard", {"dashboard_id": board})

    assert response["resultType"] == "input_required"
    question = response["inputRequests"]["confirm"]["params"]["message"]
    assert question.startswith("Delete the shared dashboard 'Weekly'")
    assert is_there(cast, board)

    state = response["requestState"]
    result = call(
        writer,
        "delete_dashboard",
        {"dashboard_id": board},
        requestState=state,
        inputResponses=reply("accept", confirm=True),
    )

    assert result["resultType"] == "complete"
    assert not is_there(cast, board)


@pytest.mark.parametrize(
    "response", [reply("decline"), reply("cancel"), reply("accept", confirm=False), reply("accept")]
)
def test_without_the_persons_consent_no_row_is_deleted(
    cast: Cast, writer: McpClient, board: int, response: dict[str, Any]
) -> None:
    state = call(writer, "delete_dashboard", {"dashboard_id": board})["requestState"]

    refusal = call(
        writer, "delete_dashboard", {"dashboard_id": board}, requestState=state, inputResponses=response
    )

    assert refusal["isError"]
    assert refusal["content"][0]["text"].startswith("The person declined. Nothing was changed.")
    assert is_there(cast, board)


def test_agreement_to_another_question_does_not_count(cast: Cast, writer: McpClient, board: int) -> None:
    with account_scope(cast.account):
        other = create_board(cast.account, "Other").pk
    state = call(writer, "delete_dashboard", {"dashboard_id": other})["requestState"]
    someone = McpClient(mint(cast, "read_write"))

    for mcp_client, pk, sent in (
        (writer, board, state),
        (someone, other, state),
        (writer, other, f"{state}x"),
    ):
        again = call(
            mcp_client,
            "delete_dashboard",
            {"dashboard_id": pk},
            requestState=sent,
            inputResponses=reply("accept", confirm=True),
        )
        assert again["resultType"] == "input_required"
    assert is_there(cast, board)
    assert is_there(cast, other)


def test_a_board_that_another_person_changed_is_replaced_after_a_question(
    cast: Cast, writer: McpClient, board: int
) -> None:
    arguments = {"dashboard_id": board, "widgets": [{"type": "total"}]}
    with account_scope(cast.account):
        services.set_dashboard_widgets(
            dashboard=Dashboard.objects.get(pk=board),
            actor=Actor(label="kim@example.com", user=None),
            widgets=[widget("total", title="Mine")],
        )

    response = call(writer, "set_dashboard_widgets", arguments)

    assert "'kim@example.com' changed it last" in response["inputRequests"]["confirm"]["params"]["message"]
    call(
        writer,
        "set_dashboard_widgets",
        arguments,
        requestState=response["requestState"],
        inputResponses=reply("accept", confirm=True),
    )
    # Now it is her own, so nothing is asked.
    assert call(writer, "set_dashboard_widgets", arguments)["resultType"] == "complete"


def test_a_client_that_cannot_show_forms_calls_once(cast: Cast, writer: McpClient, board: int) -> None:
    params = {"name": "delete_dashboard", "arguments": {"dashboard_id": board}, "_meta": LINKS_ALONE}

    assert writer.result("tools/call", params)["resultType"] == "complete"
    assert not is_there(cast, board)


def test_a_mistake_is_answered_before_the_person_is_bothered(writer: McpClient) -> None:
    wrong = call(writer, "delete_dashboard", {"dashboard_id": 999_999})

    assert wrong["isError"]
    assert "does not exist" in wrong["content"][0]["text"]
