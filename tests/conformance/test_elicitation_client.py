"""The official Python SDK client asks its person which of several similar names is meant, against a real server process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import CallToolResult, ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from mcpserver.elicitation import NO_NAME
from tests.conformance.requirements import requirement
from tests.isolation.marks import MARK
from tests.servers import LiveServer

pytestmark = pytest.mark.xdist_group("mcp-clients")


class Person:
    """Sees the questions of the client, and chooses."""

    def __init__(self, choice: str) -> None:
        self.choice = choice
        self.questions: list[ElicitRequestFormParams] = []

    async def reply(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.questions.append(params)
        return ElicitResult(action="accept", content={"choice": self.choice})


def usage_of(server: LiveServer, key: str, person: Person | None) -> dict[str, Any]:
    async def session() -> CallToolResult:
        callback = person.reply if person else None
        async with (
            create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http,
            Client(
                streamable_http_client(server.mcp_url, http_client=http),
                mode="2026-07-28",
                cache=None,
                elicitation_callback=callback,
            ) as client,
        ):
            return await client.call_tool("queryUsage", {"customers": [MARK], "period": "last_30_days"})

    result = asyncio.run(session())
    assert not result.is_error
    answer = result.structured_content
    assert isinstance(answer, dict)
    return answer


@requirement("clients:sdk")
def test_the_person_of_a_real_client_chooses(live_server_process: LiveServer, keys: dict[str, str]) -> None:
    person = Person(f"{MARK} 1")

    answer = usage_of(live_server_process, keys["read"], person)

    (question,) = person.questions
    assert question.message == (f"customer: no customer with the ID or name '{MARK}'. Which one do you mean?")
    options = question.requested_schema["properties"]["choice"]["enum"]
    assert options == [f"{MARK} 0", f"{MARK} 1", f"{MARK} 2", NO_NAME]
    assert answer["quantity"] == 5
    assert answer["active_customers"] == 1


@requirement("clients:sdk")
def test_without_a_choice_and_without_a_person_the_answer_is_the_same(
    live_server_process: LiveServer, keys: dict[str, str]
) -> None:
    with_person = usage_of(live_server_process, keys["read"], Person(NO_NAME))
    without = usage_of(live_server_process, keys["read"], None)

    assert "Nearest: " in " ".join(without["warnings"])
    assert {**with_person, "receipt": ""} == {**without, "receipt": ""}
