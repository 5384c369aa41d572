"""Resources: the account's own context, as text, by the same rules in every revision."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from accounts.keys import mint_mcp_key
from accounts.models import Account, GlossaryTerm
from finops.activity.models import CallMethod, CallOutcome
from finops.allocation.rules.yaml import read_yaml
from finops.configuration.services import apply_configuration, plan_configuration
from tests.cast import ACTOR, Cast
from tests.conformance import schemas
from tests.conformance.requirements import requirement
from tests.factories.budgets import create_budget
from tests.factories.dashboards import create_board
from tests.finops.activity.call_helpers import stored_calls
from tests.mcpserver.mcp_client import McpClient

COST_TAG = """
version: 1
cost_tags:
  - key: env
    rules:
      - value: production
        when: {dimension: account, op: in, values: ["123"]}
"""

each_revision = pytest.mark.parametrize("revision", schemas.REVISIONS)


def read(mcp_client: McpClient, uri: str, revision: str = schemas.MODERN) -> str:
    (content,) = mcp_client.result("resources/read", {"uri": uri}, revision=revision)["contents"]
    assert content["uri"] == uri
    return str(content["text"])


@requirement("resources:read")
@each_revision
def test_every_listed_resource_is_read_as_text_of_its_type(mcp_client: McpClient, revision: str) -> None:
    listing = mcp_client.result("resources/list", revision=revision)["resources"]

    assert {"finops://glossary", "finops://data-health"} < {each["uri"] for each in listing}
    for resource in listing:
        (content,) = mcp_client.result("resources/read", {"uri": resource["uri"]}, revision=revision)[
            "contents"
        ]
        assert content["mimeType"] == resource["mimeType"]
        assert len(content["text"].encode()) == resource.get("size", len(content["text"].encode()))
        assert ("title" in resource) == (revision != "2025-03-26")


def test_the_glossary_has_the_accounts_own_terms_first(mcp_client: McpClient, acme: Account) -> None:
    GlossaryTerm.objects.create(account=acme, term="GMV", meaning="Orders paid\u202e, net of returns")

    text = read(mcp_client, "finops://glossary")

    assert text.index("- **GMV**: Orders paid\\u202e, net of returns") < text.index("**Amortized cost**")


def test_data_health_is_what_the_tool_answers(mcp_client: McpClient) -> None:
    assert json.loads(read(mcp_client, "finops://data-health")) == mcp_client.ask("getDataHealth")


@requirement("resources:read")
@each_revision
def test_each_budget_cost_tag_and_dashboard_is_a_file_that_changes_nothing_when_it_is_applied(
    mcp_client: McpClient, acme: Account, revision: str
) -> None:
    create_budget(acme, "AWS / Q4 é")
    create_board(acme, "Weekly")
    apply_configuration(account=acme, actor=ACTOR, text=COST_TAG)

    names = {
        "finops://budgets/": "AWS / Q4 é",
        "finops://cost-tags/": "env",
        "finops://dashboards/": "Weekly",
    }
    for prefix, name in names.items():
        text = read(mcp_client, f"{prefix}{quote(name, safe='')}", revision)
        (kind,) = set(read_yaml(text)) - {"version"}
        assert len(read_yaml(text)[kind]) == 1
        assert plan_configuration(acme, text) == []


@each_revision
def test_names_of_a_template_are_completed(mcp_client: McpClient, acme: Account, revision: str) -> None:
    for name in ("Data", "AWS data", "Frontend"):
        create_budget(acme, name)

    answer = mcp_client.result(
        "completion/complete", completion("finops://budgets/{name}", "name", "da"), revision=revision
    )

    assert answer["completion"] == {"values": ["Data", "AWS data"], "total": 2, "hasMore": False}


def completion(template: str, argument: str, typed: str) -> dict[str, Any]:
    return {"ref": {"type": "ref/resource", "uri": template}, "argument": {"name": argument, "value": typed}}


@pytest.mark.parametrize(
    ("template", "argument"),
    [("finops://budgets/{id}", "id"), ("finops://budgets/{name}", "nme"), ("file:///{name}", "name")],
)
def test_a_template_or_argument_that_does_not_exist_is_refused_with_those_that_do(
    mcp_client: McpClient, template: str, argument: str
) -> None:
    error = mcp_client.error("completion/complete", completion(template, argument, ""))

    assert error["code"] == -32602
    assert "name of finops://budgets/{name}" in error["message"]


@each_revision
@pytest.mark.parametrize(
    "uri",
    [
        "finops://budgets/Nope",
        "finops://budgets/",
        "finops://nothing",
        "file:///etc/passwd",
        "",
        "x" * 5000,
        "finops://budgets/a\u0000",
    ],
)
def test_an_unknown_resource_is_not_found(mcp_client: McpClient, revision: str, uri: str) -> None:
    error = mcp_client.error("resources/read", {"uri": uri}, revision=revision)

    assert error["code"] == (-32602 if revision == schemas.MODERN else -32002)
    assert error["message"].startswith("Resource not found.")


def test_a_name_that_is_misspelt_gets_the_nearest(mcp_client: McpClient, acme: Account) -> None:
    create_budget(acme, "Frontend")

    assert (
        "Nearest: Frontend."
        in mcp_client.error("resources/read", {"uri": "finops://budgets/frontent"})["message"]
    )


def test_a_stranger_reads_nothing_of_another_account(cast: Cast, acme: Account) -> None:
    create_budget(acme, "Secret launch")
    _key, plaintext = mint_mcp_key(account=cast.other_account, actor=cast.other_actor, name="stranger")
    stranger = McpClient(plaintext)

    error = stranger.error("resources/read", {"uri": "finops://budgets/Secret%20launch"})
    names = stranger.result("completion/complete", completion("finops://budgets/{name}", "name", ""))

    assert error["message"] == "Resource not found. name: 'Secret launch' does not exist."
    assert names["completion"] == {"values": [], "total": 0, "hasMore": False}
    assert "Acme" not in read(stranger, "finops://glossary")


def test_each_read_is_in_the_activity_log_under_the_name_of_its_resource(
    mcp_client: McpClient, acme: Account
) -> None:
    read(mcp_client, "finops://glossary")
    mcp_client.error("resources/read", {"uri": "finops://budgets/Nope"})

    calls = [(call.method, call.name, call.outcome, call.arguments) for call in stored_calls(acme)]
    assert calls == [
        (CallMethod.RESOURCE, "unknown", CallOutcome.REFUSED, '{"uri":"finops://budgets/Nope"}'),
        (CallMethod.RESOURCE, "glossary", CallOutcome.OK, '{"uri":"finops://glossary"}'),
    ]


@each_revision
def test_capabilities_that_need_a_stream_are_not_offered(mcp_client: McpClient, revision: str) -> None:
    if revision == schemas.MODERN:
        capabilities = mcp_client.result("server/discover")["capabilities"]
    else:
        hello = {
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"},
        }
        capabilities = mcp_client.result("initialize", hello, revision=revision)["capabilities"]

    assert capabilities["resources"] == capabilities["tools"] == capabilities["prompts"] == {}
    status = 404 if revision == schemas.MODERN else 200
    for method in ("resources/subscribe", "resources/unsubscribe", "subscriptions/listen"):
        params = {"uri": "finops://data-health", "notifications": {}}
        error = mcp_client.error(method, params, revision=revision, status=status)
        assert error["code"] == -32601
