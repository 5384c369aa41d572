"""One person, one client, two accounts: a connection to each. Nothing of one reaches the other."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from accounts.audit import Actor
from accounts.models import Account, OAuthConnection, Role, User
from accounts.oauth.services import disconnect
from accounts.scoping import account_scope
from accounts.services import add_member, create_account
from finops.costs.models import CostSource
from finops.lib import clock
from finops.lib.periods import month_start
from mcpserver.registry import Tool, ToolAccess, registry
from tests.accounts.oauth.flow import OAuthClient, Tokens, mcp_status, tokens_of
from tests.cast import PASSWORD, Cast, make_cast, signed_in
from tests.conformance.person import Person, connect
from tests.factories.module_scope import module_account
from tests.finops.lake.facts import line, store
from tests.isolation.marks import MARK, fill_with_marks
from tests.isolation.test_together import ASKED, DAILY, QUESTIONS, THREADS
from tests.servers import LiveServer

READ_TOOLS = [tool for tool in registry if tool.access is ToolAccess.READ]


@dataclasses.dataclass
class TwoConnections:
    """What the client holds: a connection to Acme, whose every word is MARK, and one to Elsewhere."""

    client: OAuthClient
    acme: Tokens
    elsewhere: Tokens


@pytest.fixture(scope="module")
def both_accounts(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cast]:
    with module_account(django_db_blocker, tmp_path_factory.mktemp("twice"), clock.now()):
        cast = make_cast()
        fill_with_marks(cast.account)
        _fill_plainly(cast.other_account)
        yield cast


@pytest.fixture
def cast(both_accounts: Cast, db: None) -> Cast:
    return both_accounts


@pytest.fixture
def two_connections(cast: Cast) -> TwoConnections:
    client = OAuthClient()
    acme = client.connect(cast.both, "acme", "read_write")
    return TwoConnections(client, acme, client.connect(cast.both, "elsewhere", "read"))


def _fill_plainly(account: Account) -> None:
    with account_scope(account):
        source = CostSource.objects.create(name="Plain bill")
    day = clock.today() - timedelta(days=1)
    rows = [line(day, "1", source=str(source.pk), service=f"Service {number}") for number in range(5)]
    store(account, rows, source_id=source.pk, month=month_start(day))


def call(token: str, name: str, arguments: dict[str, Any], path: str = "/api/mcp", **headers: str) -> str:
    params = {"name": name, "arguments": arguments}
    answer = Client().post(
        path,
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}),
        content_type="application/json",
        headers={
            "authorization": f"Bearer {token}",
            "mcp-protocol-version": "2025-11-25",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        },
    )
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def account_of(message: str) -> str:
    return str(json.loads(message)["result"]["structuredContent"]["account"]["slug"])


def cursors_of(token: str) -> Iterator[str]:
    """A cursor of each tool that gives one."""
    arguments_by_tool: dict[str, dict[str, Any]] = {
        "listDimensionValues": {"dimension": "service", "limit": 1},
        "listUsageEvents": {"limit": 1},
    }
    for name, arguments in arguments_by_tool.items():
        content = json.loads(call(token, name, arguments))["result"]["structuredContent"]
        if content["cursor"]:
            yield content["cursor"]


def values_of_first_account(cast: Cast, two_connections: TwoConnections) -> list[str]:
    """What a client of Acme has seen and could send to Elsewhere."""
    source = CostSource.objects.unscoped().get(account=cast.account)
    connection = OAuthConnection.objects.unscoped().filter(account=cast.account).get()
    ids = [cast.account.pk, source.pk, connection.pk, cast.account.slug, cast.account.name]
    return [MARK[:5], *map(str, ids), *cursors_of(two_connections.acme.access)]


@pytest.mark.slow
@pytest.mark.parametrize("tool", READ_TOOLS, ids=lambda tool: tool.name)
def test_no_argument_reaches_the_other_account(
    cast: Cast, two_connections: TwoConnections, tool: Tool
) -> None:
    properties = tool.input_schema["properties"]
    texts = [name for name, schema in properties.items() if schema.get("type") == "string"]

    answers = [
        call(two_connections.elsewhere.access, tool.name, {**example, name: value})
        for value in values_of_first_account(cast, two_connections)
        for example in (tool.examples or [{}])[:1]
        for name in [*texts, "account", "account_id"]
    ]

    assert [answer for answer in answers if MARK in answer] == []


def test_a_cursor_of_one_account_opens_nothing_of_the_other(two_connections: TwoConnections) -> None:
    cursors = list(cursors_of(two_connections.acme.access))
    assert cursors

    for cursor in cursors:
        for name, arguments in (
            ("listDimensionValues", {"dimension": "service", "limit": 1}),
            ("listUsageEvents", {"limit": 1}),
        ):
            assert MARK not in call(two_connections.elsewhere.access, name, {**arguments, "cursor": cursor})


def test_only_the_token_selects_the_account(cast: Cast, two_connections: TwoConnections) -> None:
    cookie = signed_in(cast.both).cookies.output(header="", sep=";").strip()

    answers = [
        call(two_connections.elsewhere.access, "getAccountContext", {}, **where)
        for where in (
            {"path": "/api/mcp?account=acme&account_id=1"},
            {"x_account": "acme"},
            {"x_account_id": str(cast.account.pk)},
            {"referer": "http://testserver/a/acme/"},
            {"cookie": cookie},
        )
    ]

    assert [account_of(answer) for answer in answers] == ["elsewhere"] * 5
    assert account_of(call(two_connections.acme.access, "getAccountContext", {})) == "acme"


@pytest.mark.parametrize("name", ["account", "account_id", "connection", "connection_id", "user"])
def test_a_refresh_stays_with_its_account(cast: Cast, two_connections: TwoConnections, name: str) -> None:
    for value in ("acme", str(cast.account.pk)):
        fresh = tokens_of(two_connections.client.refresh(two_connections.elsewhere.refresh, **{name: value}))

        assert account_of(call(fresh.access, "getAccountContext", {})) == "elsewhere"


def test_a_refresh_takes_no_scope_from_the_other_connection(two_connections: TwoConnections) -> None:
    answer = two_connections.client.refresh(two_connections.elsewhere.refresh, scope="mcp:read mcp:write")

    assert tokens_of(answer).scope == "mcp:read"


def test_disconnecting_one_leaves_the_other(cast: Cast, two_connections: TwoConnections) -> None:
    there = OAuthConnection.objects.unscoped().get(account=cast.other_account)

    disconnect(connection=there, actor=Actor.of_user(cast.both))

    assert mcp_status(two_connections.elsewhere.access) == 401
    assert mcp_status(two_connections.acme.access) == 200
    assert two_connections.client.refresh(two_connections.elsewhere.refresh).status_code == 400
    tokens_of(two_connections.client.refresh(two_connections.acme.refresh))


# Both at once, over HTTP, of one real server process.


def one_person() -> None:
    """In the server's process: somebody in two accounts that differ in their daily amount alone."""
    both = User.objects.create_user("twice@example.com", PASSWORD)
    for slug, amount in DAILY.items():
        owner = User.objects.create_user(f"owner-{slug}@example.com", "a long enough secret")
        account = create_account(name=slug.capitalize(), owner=owner, slug=f"twice-{slug}")
        add_member(account=account, user=both, role=Role.VIEWER, actor=Actor.of_user(owner))
        fill_with_marks(account, Decimal(amount))


@pytest.mark.xdist_group("mcp-clients")
def test_eight_threads_of_one_person_each_get_the_account_of_their_token(
    live_server_process: LiveServer,
) -> None:
    live_server_process.run("tests.isolation.test_two_connections:one_person")
    person = Person("twice@example.com")
    tokens = {slug: connect(live_server_process.url, person, account=f"twice-{slug}") for slug in DAILY}

    def ask(turn: int) -> tuple[str, str, float]:
        slug = ("first", "second")[turn % 2]
        params = {"name": "querySpend", "arguments": QUESTIONS[turn % len(QUESTIONS)]}
        answer = client.post(
            live_server_process.mcp_url,
            headers={"Authorization": f"Bearer {tokens[slug]}", "MCP-Protocol-Version": "2025-11-25"},
            json={"jsonrpc": "2.0", "id": turn, "method": "tools/call", "params": params},
        ).json()
        content = answer["result"]["structuredContent"]
        return slug, content["account"]["slug"], content["totals"][0]["amount"]

    with httpx.Client(timeout=60) as client, ThreadPoolExecutor(THREADS) as threads:
        answers = set(threads.map(ask, range(ASKED)))

    assert answers == {(slug, f"twice-{slug}", float(Decimal(amount) * 7)) for slug, amount in DAILY.items()}
