"""How many statements PostgreSQL sees for a prompt and for a completion: the key, the transaction's edges, and what is read."""

from __future__ import annotations

from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.mcpserver.mcp_client import McpClient
from tests.mcpserver.prompts.prompt_client import PROMPT_ARGUMENTS, completion, text_of

MOST = 7
MOST_OF_COMPLETION = 7
"""One more: the sources whose syncs fail, of each answer about cost."""


def count_queries(mcp_client: McpClient, prompt: str, argument: str = "", **arguments: str) -> int:
    for _ in range(2):  # the first also fills what a process keeps
        with CaptureQueriesContext(connection) as queries:
            completion(mcp_client, prompt, argument, **arguments) if argument else text_of(
                mcp_client, prompt, **arguments
            )
    return len(queries)


def test_a_prompt_reads_little(mcp_client: McpClient) -> None:
    assert all(count_queries(mcp_client, prompt) <= MOST for prompt in PROMPT_ARGUMENTS)


def test_a_completion_reads_little(mcp_client: McpClient) -> None:
    for prompt, arguments in PROMPT_ARGUMENTS.items():
        for argument in arguments:
            beside = {"filter_by": "region"} if argument == "value" else {}
            assert count_queries(mcp_client, prompt, argument, **beside) <= MOST_OF_COMPLETION, argument
