"""create_budget at the endpoint: what it makes, what it refuses and how, for whom, and two calls at once."""

from __future__ import annotations

import json
import logging
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection, transaction

from accounts.models import Account, AuditEntry, MCPKey
from accounts.scoping import account_scope
from finops.allocation.models import CostTag, Team
from finops.budgets.models import Budget
from finops.costs.models import CostSource
from finops.lib import clock
from mcpserver.registry import registry
from tests.accounts.oauth.flow import OAuthClient
from tests.cast import Cast, make_cast, signed_in
from tests.factories.budgets import create_budget, daily_cost
from tests.factories.costs import add_source
from tests.mcpserver.mcp_client import McpClient, mint
from tests.mcpserver.tools.row_numbers import replace_row_number
from tests.waiting import threads, wait_until, waiting

TOOL = "create_budget"
LEAST: dict[str, Any] = {"name": "Core", "amount": 100, "currency": "USD"}


def request_budget(mcp_client: McpClient, /, **arguments: Any) -> dict[str, Any]:
    return mcp_client.ask(TOOL, **{**LEAST, **arguments})


def budget_refusal(mcp_client: McpClient, /, **arguments: Any) -> str:
    return mcp_client.problem(TOOL, **{**LEAST, **arguments})


def budgets(account: Account) -> list[str]:
    with account_scope(account):
        return sorted(Budget.objects.values_list("name", flat=True))


def spend(account: Account) -> None:
    """10 USD a day for the last 60 days, of the source Bills, tagged env: prod."""
    today = clock.today()
    lines = daily_cost(today - timedelta(days=60), today - timedelta(days=1), "10", tags={"env": "prod"})
    with account_scope(account):
        add_source(account, lines, name="Bills")


def test_a_budget_is_answered_as_the_list_shows_it_and_its_page_opens(cast: Cast, writer: McpClient) -> None:
    spend(cast.account)

    answer = request_budget(writer, amount="250.50", currency="usd", warning_percent=60)

    (listing,) = writer.ask("listBudgets")["budgets"]
    assert answer["budget"] == listing
    assert (listing["amount"], listing["currency"], listing["scope"]) == (250.5, "USD", "account")
    assert answer["summary"].startswith(
        f"Created budget 'Core' with id {listing['id']}: 250.50 USD per month"
    )
    path = answer["console_url"].removeprefix("http://127.0.0.1:8000")
    assert path == f"/a/acme/budgets/{listing['id']}/"
    assert signed_in(cast.viewer).get(path).status_code == 200


@pytest.mark.parametrize("scope", ["cost_source", "team", "cost_tag"])
def test_a_scope_is_named_or_given_by_its_id(cast: Cast, writer: McpClient, scope: str) -> None:
    with account_scope(cast.account):
        pk = {
            "cost_source": CostSource.objects.create(name="Mine"),
            "team": Team.objects.create(name="Mine"),
            "cost_tag": CostTag.objects.create(key="Mine"),
        }[scope].pk
    value = {"cost_tag_value": "x"} if scope == "cost_tag" else {}

    created = [
        request_budget(writer, name="By name", scope=scope, **{scope: "mINE"}, **value)["budget"],
        request_budget(writer, name="By id", scope=scope, **{scope: pk}, **value)["budget"],
        request_budget(writer, name="Its scope understood", **{scope: str(pk)}, **value)["budget"],
    ]

    assert {(row["scope"], row["scope_name"]) for row in created} == {
        (scope, "Mine: x" if value else "Mine"),
    }


def test_periods_have_amounts_of_their_own(cast: Cast, writer: McpClient) -> None:
    today = clock.today()

    answer = request_budget(writer, frequency="yearly", amounts={f"{today.year}-01-01": "99.99"})

    assert answer["budget"]["amount"] == 99.99
    assert (answer["budget"]["start_date"], answer["budget"]["period"]) == (f"{today.year}-01-01", "yearly")
    problem = budget_refusal(writer, name="Odd", amounts={"2026-03-02": 1, "2026-04-01": 2})
    assert "amounts: 2026-03-02 is not the first day of a monthly period" in problem
    assert "The period begins on 2026-03-01" in problem


@pytest.mark.parametrize(
    ("change", "expected_message"),
    [
        ({"name": "a\x00b"}, "name: "),
        ({"name": "   "}, "Enter a name."),
        ({"name": "x" * 101}, "name: "),
        ({"amount": 0}, "The amount must be more than 0."),
        ({"amount": -5}, "The amount must be more than 0."),
        ({"amount": "1e400"}, "amount: "),
        ({"amount": "NaN"}, "amount: "),
        ({"amount": "-Infinity"}, "amount: "),
        ({"amount": 1.001}, "amount: Ensure that there are no more than 2 decimal places."),
        ({"amount": 10**25}, "amount: Ensure that there are no more than 20 digits in total."),
        ({"amount": 123456789012345678901}, "amount: Ensure that there are no more than"),
        ({"amount": "a lot"}, 'amount: "a lot" is not a number.'),
        ({"amount": True}, "amount: true is not a number."),
        ({"amounts": {"soon": 1}}, 'amounts: "soon" is not a day. Write YYYY-MM-DD'),
        ({"amounts": {"2026-03-01": -1}}, "amounts: 2026-03-01: The amount must be more than 0."),
        ({"amounts": {"2026-03-01": "1e400"}}, "amounts.2026-03-01: "),
        ({"currency": "USDT"}, "currency: 'USDT' is not an ISO 4217 currency"),
        ({"currency": "dollars"}, "currency, such as USD or EUR. Nearest: USD, AUD, CAD, "),
        ({"currency": "US dollars"}, "currency, such as USD or EUR. Nearest: USD."),
        ({"currency": "€"}, "currency, such as USD or EUR. Nearest: EUR."),
        ({"currency": "U\x00D"}, "currency: "),
        ({"frequency": "weekly"}, "Valid: monthly, quarterly, yearly"),
        ({"scope": "planet"}, "Valid: account, cost_source, cost_tag, team"),
        ({"scope": "team"}, "team is missing: required for a budget of scope team. Use listTeams."),
        ({"team": "Cor"}, "team: 'Cor' does not exist. Nearest: 'Core'. Use listTeams."),
        ({"team": "Core", "cost_source": "Bills"}, "team is not allowed with scope cost_source"),
        ({"cost_tag_value": "x"}, "cost_tag is missing: required for a budget of scope cost_tag."),
        ({"cost_tag": "Unit"}, "cost_tag_value is missing"),
        ({"cost_tag": "Unit", "cost_tag_value": "\x00"}, "cost_tag_value: "),
        ({"cost_tag": "Unit", "cost_tag_value": "x" * 300}, "cost_tag_value: Ensure this value has at most"),
        ({"team": "a\x00b"}, "team: "),
        ({"team": 2**70}, "team: "),
        ({"team": [1]}, "team"),
        ({"warning_percent": 101}, "warning_percent: "),
        ({"owner": "me"}, "create_budget has no argument"),
    ],
    ids=str,
)
def test_an_invalid_budget_is_refused_with_a_correction(
    cast: Cast,
    writer: McpClient,
    caplog: pytest.LogCaptureFixture,
    change: dict[str, Any],
    expected_message: str,
) -> None:
    with account_scope(cast.account):
        CostSource.objects.create(name="Bills")
        Team.objects.create(name="Core")
        CostTag.objects.create(key="Unit")

    with caplog.at_level(logging.ERROR):
        problem = budget_refusal(writer, **change)

    assert expected_message in problem
    assert "incident" not in problem
    assert len(problem) < 1_000
    assert not caplog.records
    assert budgets(cast.account) == []


@pytest.mark.parametrize("value", ['"\\ud800"', '"a\\udfffb"', "NaN", "1e400", "-Infinity"])
def test_invalid_json_values_are_refused_before_any_tool(
    cast: Cast, writer: McpClient, caplog: pytest.LogCaptureFixture, value: str
) -> None:
    arguments = '{"name": VALUE, "amount": VALUE, "currency": "USD"}'.replace("VALUE", value)
    params = f'{{"name": "{TOOL}", "arguments": {arguments}}}'
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'

    with caplog.at_level(logging.ERROR):
        answer = writer.http(body.encode())

    error = json.loads(answer.content)["error"]
    assert (answer.status_code, error["code"]) == (400, -32700)
    assert "NaN, numbers beyond 1e308 and lone surrogates are not allowed." in error["message"]
    assert not caplog.records
    assert budgets(cast.account) == []


@pytest.mark.parametrize("scope", ["cost_source", "team", "cost_tag"])
def test_objects_of_another_account_are_answered_like_objects_that_do_not_exist(
    cast: Cast, writer: McpClient, scope: str
) -> None:
    with account_scope(cast.other_account):
        foreign_values = {
            "cost_source": CostSource.objects.create(name="Theirs"),
            "team": Team.objects.create(name="Theirs"),
            "cost_tag": CostTag.objects.create(key="Theirs"),
        }[scope].pk
    value = {"cost_tag_value": "x"} if scope == "cost_tag" else {}

    by_id = [
        writer.http(_request_body({**LEAST, "scope": scope, scope: reference, **value}))
        .content.decode()
        .replace(str(reference), "N")
        for reference in (foreign_values, foreign_values + 1_000_000)
    ]
    by_name = [budget_refusal(writer, scope=scope, **{scope: name}, **value) for name in ("Theirs", "Nobody")]

    assert by_id[0] == by_id[1]
    assert by_name[0].replace("Theirs", "Nobody") == by_name[1]
    assert f"{scope}: 'N' does not exist." in by_id[0]
    assert "Theirs" not in by_id[0]


def _request_body(arguments: dict[str, Any]) -> bytes:
    params = {"name": TOOL, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def test_a_cost_tag_value_of_another_account_answers_exactly_as_one_that_nobody_has(
    cast: Cast, writer: McpClient
) -> None:
    rules = [{"copy": {"keys": ["env"]}}]
    for account in (cast.account, cast.other_account):
        with account_scope(account):
            CostTag.objects.create(key="Unit", rules=rules)
    spend(cast.other_account)

    answers = []
    for value in ("prod", "none"):
        answer = request_budget(writer, cost_tag="Unit", cost_tag_value=value)
        text = json.dumps(replace_row_number(answer, answer["budget"]["id"]))
        answers.append(text.replace(f"Unit: {value}", "Unit: V"))
        with account_scope(cast.account):
            Budget.objects.all().delete()

    assert answers[0] == answers[1]


def test_a_name_that_another_account_has_is_free(cast: Cast, writer: McpClient) -> None:
    create_budget(cast.other_account, "Core")

    assert request_budget(writer)["budget"]["name"] == "Core"


def test_a_retried_create_names_the_budget_that_exists(cast: Cast, writer: McpClient) -> None:
    pk = request_budget(writer)["budget"]["id"]

    assert f"name: budget 'Core' already exists with id {pk}." in budget_refusal(writer, name=" cORE")
    assert budgets(cast.account) == ["Core"]


def test_the_cap_filled_in_the_app_refuses_in_the_tool_and_the_reverse(
    cast: Cast, writer: McpClient, settings: LazySettings
) -> None:
    settings.BUDGETS_PER_ACCOUNT = 1
    full = "The account has 1 budgets; the maximum is 1."
    member = signed_in(cast.member)
    form = {**LEAST, "scope": "account", "period": "monthly", "warning_percent": 80}

    member.post("/a/acme/budgets/new/", {**form, "name": "In the app"})
    assert full in budget_refusal(writer)
    with account_scope(cast.account):
        Budget.objects.all().delete()

    request_budget(writer, name="By the tool")
    page = member.post("/a/acme/budgets/new/", {**form, "name": "In the app"})
    assert (page.status_code, full in page.content.decode()) == (422, True)
    assert budgets(cast.account) == ["By the tool"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("tool", "arguments", "cap"),
    [
        (TOOL, LEAST, "BUDGETS_PER_ACCOUNT"),
        ("create_dashboard", {"widgets": [{"type": "total"}]}, "DASHBOARDS_PER_ACCOUNT"),
    ],
    ids=["budget", "dashboard"],
)
def test_one_of_two_concurrent_calls_at_the_limit_succeeds(
    settings: LazySettings, tool: str, arguments: dict[str, Any], cap: str
) -> None:
    setattr(settings, cap, 1)
    cast = make_cast()
    clients = [McpClient(mint(cast, "read_write")) for _ in range(2)]

    with threads(2) as call:
        with transaction.atomic():
            Account.objects.select_for_update(no_key=True).get(pk=cast.account.pk)
            bodies: list[Future[dict[str, Any]]] = []
            for number, mcp_client in enumerate(clients):
                bodies.append(call(mcp_client.call, tool, **{**arguments, "name": f"Number {number}"}))
                wait_until(lambda: waiting() == len(bodies) or any(each.done() for each in bodies))
        results = [each.result() for each in bodies]
    connection.close()

    assert [each["isError"] for each in results].count(True) == 1, results
    (refusal,) = (each["content"][0]["text"] for each in results if each["isError"])
    assert refusal.startswith("The account has 1 ")
    assert "; the maximum is 1." in refusal


def test_the_audit_log_names_the_key_or_the_person_and_the_app(cast: Cast, writer: McpClient) -> None:
    token = OAuthClient(client_name="Helper").connect(cast.member, access="read_write").access

    for tool, arguments in ((TOOL, {**LEAST, "amount": 99.5}), ("create_dashboard", {"name": "Board"})):
        for number, mcp_client in enumerate((writer, McpClient(token))):
            result = mcp_client.call(tool, **{**arguments, "name": f"{tool} {number}"})
            assert not result["isError"], result["content"][0]["text"]

    key = MCPKey.objects.unscoped().get()
    by_key, by_app = (
        (f"MCP key {key.name} ({key.masked_key})", None),
        ("member@example.com by Helper", cast.member),
    )
    for action in ("budget.create", "dashboard.create"):
        entries = AuditEntry.objects.unscoped().filter(action=action).order_by("pk")
        assert [(entry.actor_label, entry.actor_user) for entry in entries] == [by_key, by_app]
    entry = AuditEntry.objects.unscoped().get(action="budget.create", target="create_budget 0")
    assert entry.detail["amount"] == "99.5 USD"


def test_a_credential_that_may_only_read_makes_none(cast: Cast) -> None:
    token = OAuthClient().connect(cast.member).access

    problem = McpClient(mint(cast)).problem(TOOL, **LEAST)
    answer = McpClient(token).http(_request_body(LEAST))

    assert ", is read-only. Nothing was changed. Members can create a Read/write key at" in problem
    assert "create a Read/write key at http://127.0.0.1:8000/a/acme/settings/mcp-keys/." in problem
    assert (answer.status_code, "insufficient_scope" in answer["WWW-Authenticate"]) == (403, True)
    assert budgets(cast.account) == []


def test_its_hints_and_its_definition_are_small_and_right() -> None:
    tool = registry.get(TOOL)
    assert tool is not None

    assert tool.hints == {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": False,
        "openWorldHint": False,
    }
    shape = {"description": tool.description, "input": tool.input_schema}
    assert len(json.dumps(shape, separators=(",", ":"))) <= 1_700
