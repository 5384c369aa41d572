"""The execution of a tool: scope, transaction, time limit, and handling of its failures."""

from __future__ import annotations

import dataclasses
import json
import time
from decimal import Decimal

import pytest
from django.db import connection
from django.urls import reverse

from accounts.credentials import Access, Credential, CredentialKind
from accounts.models import Account
from mcpserver.context import ToolCall
from mcpserver.execution import run_tool
from mcpserver.protocol import Headers, answer
from mcpserver.results import InsufficientScope, ToolOutcome
from tests.cast import Cast
from tests.conformance.requirements import requirement
from tests.isolation.discovery import fingerprint
from tests.mcpserver.mcp_client import McpClient, server_of
from tests.mcpserver.toys import make_toys

KEYS = frozenset({"accounts_mcpkey"})


def make_call(cast: Cast, *, seconds: float = 20.0, access: Access = Access.READ) -> ToolCall:
    credential = Credential(
        kind=CredentialKind.OAUTH,
        id=1,
        account=cast.account,
        access=access,
        label="Claude for member@example.com",
        actor=cast.actor,
    )
    return ToolCall(
        credential=credential, deadline=time.monotonic() + seconds, console="https://f.example/a/acme/"
    )


def run(name: str, call: ToolCall) -> ToolOutcome:
    tool = make_toys().get(name)
    assert tool is not None
    return run_tool(tool, {}, call)


@requirement("tools:read-only", "tools:crash")
def test_a_read_tool_that_writes_is_stopped_by_the_database(toys: McpClient) -> None:
    before = fingerprint(without=KEYS)

    problem = toys.problem("sly")

    assert problem.startswith("sly failed with a server error (incident ")
    assert fingerprint(without=KEYS) == before


def test_the_next_call_after_a_refused_write_works(writing_toys: McpClient, cast: Cast) -> None:
    writing_toys.problem("sly")

    assert writing_toys.call("rename", name="Acme 2")["isError"] is False
    assert Account.objects.get(pk=cast.account.pk).name == "Acme 2"


@requirement("tools:write-key", "tools:read-only")
def test_a_write_tool_with_a_read_key_says_where_to_mint_another(toys: McpClient) -> None:
    before = fingerprint(without=KEYS)

    problem = toys.problem("rename", name="Mine")

    assert ", is read-only. Nothing was changed. Members can create a Read/write key at" in problem
    assert f"Read/write key at http://127.0.0.1:8000{reverse('mcp_keys', args=['acme'])}." in problem
    assert fingerprint(without=KEYS) == before


@requirement("tools:step-up")
def test_a_write_tool_with_a_read_only_oauth_token_asks_the_client_to_step_up(cast: Cast) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "rename", "arguments": {"name": "M"}},
    }

    for payload in (body, [body]):
        with pytest.raises(InsufficientScope, match="rename"):
            answer(json.dumps(payload).encode(), Headers(), server_of(make_toys()), make_call(cast))

    assert Account.objects.get(pk=cast.account.pk).name == "Acme"


@requirement("tools:timeout")
def test_a_statement_that_outlives_the_call_is_stopped(cast: Cast) -> None:
    start = time.monotonic()

    outcome = run("slow", make_call(cast, seconds=0.2))

    assert time.monotonic() - start < 25  # it would sleep for 30
    assert outcome.problem == "slow timed out. Use a shorter period or less detail."


@requirement("tools:timeout")
def test_a_tool_has_twenty_seconds(toys: McpClient) -> None:
    with connection.cursor() as cursor:
        toys.call("echo")
        cursor.execute("SHOW statement_timeout")
        (limit,) = cursor.fetchone() or ("",)

    assert limit == "20s" or 19_000 < int(limit.removesuffix("ms")) <= 20_000


@requirement("tools:crash")
def test_a_tool_that_fails_says_an_incident_that_the_log_has(
    toys: McpClient, caplog: pytest.LogCaptureFixture
) -> None:
    problem = toys.problem("broken")

    incident = problem.removeprefix("broken failed with a server error (incident ").removesuffix(
        "). Retry once."
    )
    assert len(incident) == 12
    assert f"incident {incident}: tool broken of account" in caplog.text
    assert "secret detail of the inside" in caplog.text
    assert "secret" not in problem


@requirement("tools:arguments")
def test_errors_of_services_are_returned_unchanged(toys: McpClient) -> None:
    problem = toys.problem("picky")

    assert problem == ("service: 'Amazon EC3' does not exist. Nearest: Amazon EC2. Use listDimensionValues.")


@requirement("tools:rounding")
def test_amounts_are_numbers_of_at_most_six_places(toys: McpClient) -> None:
    text = toys.call("amounts")["content"][0]["text"]
    amounts = json.loads(text, parse_float=Decimal)["amounts"]

    assert '"amounts":[0.123457,0.123456,12.5,1000,0,98765432109876543210.123457,null]' in text
    assert [Decimal(amount) for amount in amounts[:4]] == [
        Decimal("0.123457"),
        Decimal("0.123456"),
        Decimal("12.5"),
        Decimal(1000),
    ]


def test_the_console_link_opens_the_same_query(toys: McpClient) -> None:
    answer = toys.ask("echo", group_by=["service", "tag:env"])

    assert answer["console_url"] == (
        "http://127.0.0.1:8000/a/acme/explorer/?group_by=service&group_by=tag%3Aenv"
    )


def test_a_call_has_its_remaining_time(cast: Cast) -> None:
    assert 0 < make_call(cast, seconds=5).remaining_seconds <= 5
    assert dataclasses.replace(make_call(cast), deadline=0.0).remaining_seconds == 0
