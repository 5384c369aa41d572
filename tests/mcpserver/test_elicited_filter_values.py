"""A filter value that no line has, and several similar values: the person chooses, if the client can ask."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.audit import Actor
from accounts.models import Account, Membership
from accounts.scoping import account_scope
from finops.activity.models import AssistantCall
from finops.activity.recorder import recorder
from finops.cost_access.services import create_limit, limit_member
from finops.costs.spend_query import CostFilter
from finops.lake.engine import engine
from finops.lib import clock
from finops.receipts import records
from ingestion.models import Customer
from mcpserver import cached_answers
from mcpserver.elicitation import NO_NAME
from tests.accounts.oauth.flow import OAuthClient
from tests.cast import Cast
from tests.factories.costs import add_source, cost
from tests.factories.days import days
from tests.factories.usage import event, push_events
from tests.mcpserver.mcp_client import McpClient, mint
from tests.mcpserver.test_elicitation import FORMS, LINKS_ALONE, call
from tests.mcpserver.test_elicited_choice import choose

DAYS = {"start_date": "2026-03-01", "end_date": "2026-03-10"}
NODES, CONTROL = "Kube nodes", "Kube control"


def filter_arguments(*values: str, dimension: str = "service", op: str = "in", **more: Any) -> dict[str, Any]:
    return {**DAYS, "filters": [{"dimension": dimension, "op": op, "values": list(values)}], **more}


@pytest.fixture(autouse=True)
def bill(cast: Cast) -> None:
    with account_scope(cast.account):
        _bill(cast.account)


def _bill(account: Account) -> None:
    lines = [
        cost(date(2026, 3, 2), 30, service=NODES, region="eu-central-1", account_id="1", account_name="Shop"),
        cost(
            date(2026, 3, 2),
            12,
            service=CONTROL,
            region="eu-central-2",
            account_id="2",
            account_name="Shop-2",
        ),
        cost(date(2026, 3, 2), 5, service="Mail", region="us-east-1", account_id="9", account_name="Lab"),
        cost(date(2026, 1, 2), 7, service="Kub", region="eu", account_id="9", account_name="Lab"),
    ]
    lines += [
        cost(day, 1, service="Storage", region="us-east-1", account_id="9", account_name="Lab")
        for day in days(date(2026, 2, 15), date(2026, 3, 10))
    ]
    add_source(account, lines)


def names_of(result: dict[str, Any]) -> list[str]:
    """The names that the person can choose, sorted; last is always that it is none of them."""
    assert result["resultType"] == "input_required", result
    schema = result["inputRequests"]["choice"]["params"]["requestedSchema"]
    *names, last = schema["properties"]["choice"]["enum"]
    assert last == NO_NAME
    return sorted(names)


def call_with_response(
    mcp_client: McpClient, tool: str, arguments: dict[str, Any], response: dict[str, Any]
) -> dict[str, Any]:
    state = call(mcp_client, tool, arguments)["requestState"]
    result = call(mcp_client, tool, arguments, requestState=state, inputResponses=response)
    assert result["resultType"] == "complete"
    assert not result["isError"], result
    answer: dict[str, Any] = result["structuredContent"]
    return answer


def test_a_cached_answer_does_not_replace_the_question(mcp_client: McpClient) -> None:
    for _ in range(3):
        mcp_client.ask("querySpend", **filter_arguments("Kube"))
        assert records.recorder.flush()
    assert cached_answers._entries

    assert names_of(call(mcp_client, "querySpend", filter_arguments("Kube"))) == [CONTROL, NODES]


def test_the_person_chooses_the_value_and_the_answer_is_about_it(mcp_client: McpClient) -> None:
    response = call(mcp_client, "querySpend", filter_arguments("Kube"))

    assert names_of(response) == [CONTROL, NODES]
    message = response["inputRequests"]["choice"]["params"]["message"]
    assert message == "service: no cost has service 'Kube'. Which one do you mean?"

    answer = call_with_response(mcp_client, "querySpend", filter_arguments("Kube"), choose(CONTROL))
    assert [total["amount"] for total in answer["totals"]] == [12]
    assert not answer["warnings"]


@pytest.mark.parametrize(
    "response", [choose(NO_NAME), choose(NODES, "decline"), choose(NODES, "cancel"), choose("x")]
)
def test_without_a_choice_the_answer_is_that_of_a_client_that_cannot_ask(
    mcp_client: McpClient, response: dict[str, Any]
) -> None:
    plain = mcp_client.ask("querySpend", **filter_arguments("Kube"))

    answer = call_with_response(mcp_client, "querySpend", filter_arguments("Kube"), response)

    assert "Nearest: " in " ".join(plain["warnings"])
    assert {**answer, "receipt": ""} == {**plain, "receipt": ""}


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("explainSpendChange", {}),
        ("queryUnitCost", {"usage_metric": "orders"}),
        ("getCommitmentUtilization", {}),
        ("querySpend", {"op": "not_in"}),
    ],
)
def test_every_tool_with_filters_on_cost_asks(
    cast: Cast, mcp_client: McpClient, tool: str, more: dict[str, str]
) -> None:
    with account_scope(cast.account):
        push_events(cast.account, [event(date(2026, 3, 2), "globex", 1, metric="orders")])

    assert names_of(call(mcp_client, tool, filter_arguments("Kube", **more))) == [CONTROL, NODES]


def test_the_forecast_asks_too(mcp_client: McpClient) -> None:
    arguments = {"filters": [{"dimension": "region", "values": ["eu-central"]}]}

    with clock.frozen(datetime(2026, 3, 12, 12, tzinfo=UTC)):
        response = call(mcp_client, "forecastSpend", arguments)

    assert names_of(response) == ["eu-central-1", "eu-central-2"]


def test_an_unknown_value_next_to_a_valid_one_starts_an_elicitation(mcp_client: McpClient) -> None:
    response = call(mcp_client, "querySpend", filter_arguments("Mail", "Kube"))
    answer = call_with_response(mcp_client, "querySpend", filter_arguments("Mail", "Kube"), choose(NODES))

    assert names_of(response) == [CONTROL, NODES]
    assert answer["totals"][0]["amount"] == 35


def test_names_of_one_value_are_one_choice(mcp_client: McpClient) -> None:
    """Of an account that has an id and a name, both similar, the person sees one."""
    response = call(mcp_client, "querySpend", filter_arguments("Shopp", dimension="account"))

    assert names_of(response) == ["Shop", "Shop-2"]


def test_customers_of_usage_are_chosen(cast: Cast, mcp_client: McpClient) -> None:
    with account_scope(cast.account):
        push_events(
            cast.account,
            [event(date(2026, 3, 2), f"globex-{each}", amount) for each, amount in (("eu", 3), ("us", 4))],
        )
        Customer.objects.filter(customer_id="globex-eu").update(name="Globex Europe")
    arguments = {**DAYS, "customers": ["globex"]}

    response = call(mcp_client, "queryUsage", arguments)
    answer = call_with_response(mcp_client, "queryUsage", arguments, choose("globex-us"))

    assert names_of(response) == ["globex-eu", "globex-us"]
    assert answer["quantity"] == 4


def push_regions(account: Account) -> None:
    with account_scope(account):
        push_events(
            account,
            [
                event(date(2026, 3, 2), "globex", amount, dimensions={key: value})
                for key, value, amount in (
                    ("region", "eu-central-1", 3),
                    ("region", "eu-central-2", 4),
                    ("regime", "flat", 5),
                )
            ],
        )
        push_events(account, [event(date(2026, 2, 2), "globex", 1, dimensions={"region": "eu-central"})])


def usage_arguments(dimension: str, value: str = "eu-central-1") -> dict[str, Any]:
    return {**DAYS, "filters": [{"dimension": dimension, "values": [value]}]}


def test_values_of_usage_dimensions_are_chosen(cast: Cast, mcp_client: McpClient) -> None:
    push_regions(cast.account)
    arguments = usage_arguments("region", "eu-central-9")

    response = call(mcp_client, "queryUsage", arguments)
    answer = call_with_response(mcp_client, "queryUsage", arguments, choose("eu-central-2"))

    assert names_of(response) == ["eu-central-1", "eu-central-2"]
    assert answer["quantity"] == 4
    for value in ("eu-central", "moon"):
        plain = call(mcp_client, "queryUsage", usage_arguments("region", value))
        assert plain["resultType"] == "complete", value


def test_dimensions_of_usage_are_chosen(cast: Cast, mcp_client: McpClient) -> None:
    push_regions(cast.account)

    response = call(mcp_client, "queryUsage", usage_arguments("regio"))
    answer = call_with_response(mcp_client, "queryUsage", usage_arguments("regio"), choose("region"))

    assert names_of(response) == ["regime", "region"]
    assert answer["quantity"] == 3


def test_tag_keys_of_cost_are_chosen(cast: Cast, mcp_client: McpClient) -> None:
    with account_scope(cast.account):
        lines = [
            cost(date(2026, 3, 3), 2, service="Mail", tags={"team-a": "core"}),
            cost(date(2026, 3, 3), 3, service="Mail", tags={"team-b": "core"}),
        ]
        add_source(cast.account, lines, name="Tagged")
    arguments = filter_arguments("core", dimension="tag:team-c")

    response = call(mcp_client, "querySpend", arguments)
    answer = call_with_response(mcp_client, "querySpend", arguments, choose("tag:team-b"))

    assert names_of(response) == ["tag:team-a", "tag:team-b"]
    assert answer["totals"][0]["amount"] == 3


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(filter_arguments("Mial"), id="one name is similar"),
        pytest.param(filter_arguments("Databricks"), id="none is similar"),
        pytest.param(filter_arguments("Kub"), id="it has cost on other days"),
        pytest.param(filter_arguments("Kube", op="contains"), id="part of a value"),
        pytest.param(filter_arguments("Kube", "Kube"), id="twice in the arguments"),
        pytest.param(filter_arguments("prod", dimension="tag:env"), id="a tag key that no line has"),
    ],
)
def test_there_is_no_question_without_a_choice_to_make(
    mcp_client: McpClient, arguments: dict[str, Any]
) -> None:
    result = call(mcp_client, "querySpend", arguments)

    assert result["resultType"] == "complete"
    assert not result["isError"]


def test_a_client_that_cannot_ask_has_no_additional_query(
    mcp_client: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake: list[object] = []
    run = engine.run

    def run_and_count(*args: Any, **options: Any) -> Any:
        lake.append(args)
        return run(*args, **options)

    monkeypatch.setattr(engine, "run", run_and_count)

    def count(meta: dict[str, Any]) -> tuple[int, int, str]:
        lake.clear()
        with CaptureQueriesContext(connection) as statements:
            params = {"name": "querySpend", "arguments": filter_arguments("Kube"), "_meta": meta}
            result = mcp_client.result("tools/call", params)
        return len(statements), len(lake), result["resultType"]

    count({})  # caches
    without, with_links = count({}), count(LINKS_ALONE)
    lake.clear()
    assert call(mcp_client, "querySpend", filter_arguments("Kube"))["resultType"] == "input_required"

    assert without == with_links
    assert without[2] == "complete"
    assert len(lake) == without[1] + 1


def test_an_older_revision_has_no_questions(mcp_client: McpClient) -> None:
    params = {"name": "querySpend", "arguments": filter_arguments("Kube"), "_meta": FORMS}

    assert not mcp_client.result("tools/call", params, revision="2025-11-25")["isError"]


def test_there_is_one_question_a_call(mcp_client: McpClient) -> None:
    arguments = filter_arguments("Kube")
    arguments["filters"].append({"dimension": "region", "values": ["eu-central"]})

    answer = call_with_response(mcp_client, "querySpend", arguments, choose(NODES))

    assert any("'eu-central'" in each for each in answer["warnings"])


def test_a_choice_is_of_the_credential_and_call_that_were_asked(cast: Cast, mcp_client: McpClient) -> None:
    state = call(mcp_client, "querySpend", filter_arguments("Kube"))["requestState"]
    viewer = McpClient(OAuthClient().connect(cast.viewer).access)

    for other, arguments in (
        (viewer, filter_arguments("Kube")),
        (mcp_client, filter_arguments("Kube", basis="billed")),
    ):
        again = call(other, "querySpend", arguments, requestState=state, inputResponses=choose(NODES))
        assert again["resultType"] == "input_required"


def test_a_stranger_is_offered_only_her_own_values(cast: Cast) -> None:
    with account_scope(cast.other_account):
        add_source(
            cast.other_account,
            [cost(date(2026, 3, 2), 1, service=f"Kube of {name}") for name in ("hers", "theirs")],
        )
    stranger = McpClient(OAuthClient().connect(cast.stranger, cast.other_account.slug).access)

    assert names_of(call(stranger, "querySpend", filter_arguments("Kube"))) == [
        "Kube of hers",
        "Kube of theirs",
    ]


def test_a_viewer_with_limited_cost_access_is_not_offered_values_beyond_it(cast: Cast) -> None:
    """Of the two similar services she sees one, so nothing is to be chosen."""
    viewer = limited_viewer(cast)

    result = call(viewer, "querySpend", filter_arguments("Kube"))

    assert result["resultType"] == "complete"
    assert NODES in str(result["structuredContent"]["warnings"])
    assert CONTROL not in str(result)


def test_a_limited_viewer_chooses_among_the_values_that_she_sees(cast: Cast) -> None:
    with account_scope(cast.account):
        add_source(
            cast.account,
            [cost(date(2026, 3, 3), 2, service="Kube backup", region="eu-central-1")],
            name="More",
        )
    viewer = limited_viewer(cast)

    response = call(viewer, "querySpend", filter_arguments("Kube"))
    refusal = call(
        viewer,
        "querySpend",
        filter_arguments("Kube"),
        requestState=response["requestState"],
        inputResponses=choose(CONTROL),
    )

    assert names_of(response) == ["Kube backup", NODES]
    assert CONTROL not in str(response)
    assert not refusal["structuredContent"]["totals"]


def test_a_value_outside_of_the_readers_limit_starts_an_elicitation(cast: Cast) -> None:
    """Whether a value has cost is answered by what she sees, too."""
    with account_scope(cast.account):
        lines = [cost(date(2026, 3, 3), 2, service=name, region="eu-central-1") for name in ("Kubik", "Kuby")]
        add_source(cast.account, lines, name="More")
    viewer = limited_viewer(cast)

    assert call(McpClient(mint(cast)), "querySpend", filter_arguments("Kub"))["resultType"] == "complete"
    assert {"Kubik", "Kuby"} <= set(names_of(call(viewer, "querySpend", filter_arguments("Kub"))))


def limited_viewer(cast: Cast) -> McpClient:
    token = OAuthClient().connect(cast.viewer).access
    admin = Actor.of_user(cast.admin)
    with account_scope(cast.account):
        inside = CostFilter(dimension="region", values=["eu-central-1"])
        limit = create_limit(account=cast.account, actor=admin, name="Europe", alternatives=[[inside]])
        limit_member(membership=Membership.objects.get(user=cast.viewer), limit=limit, actor=admin)
    return McpClient(token)


def test_the_activity_log_has_both_calls(cast: Cast, mcp_client: McpClient) -> None:
    call_with_response(mcp_client, "querySpend", filter_arguments("Kube"), choose(NODES))
    recorder.flush()

    with account_scope(cast.account):
        assert list(AssistantCall.objects.values_list("outcome", flat=True)) == ["ok", "ok"]
