"""Configuration as code over REST: the credential decides who reads and who writes, and a file is applied whole or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import AuditEntry, Membership
from accounts.services import change_role
from accounts.services.suspension import suspend_account
from finops.activity.models import CallOutcome
from finops.budgets.models import Budget
from finops.configuration.kinds import KINDS
from mcpserver.rest.openapi import document
from tests.accounts.oauth.flow import OAuthClient
from tests.cast import Cast, signed_in
from tests.factories.budgets import create_budget
from tests.finops.activity.call_helpers import stored_calls
from tests.isolation.discovery import fingerprint
from tests.mcpserver.rest.rest_client import RestClient, problem_of

PATH = "/api/v1/configuration"
FILE = b"version: 1\nbudgets:\n  - {name: Core, amount: 1500.50, currency: USD}\n"
PATHS = [(PATH, "GET"), (f"{PATH}/plan", "POST"), (f"{PATH}/apply", "POST")]
CALLS = frozenset({"activity_assistantcall", "accounts_mcpkey"})


def changes(rest_client: RestClient, action: str, body: bytes = FILE) -> list[dict[str, Any]]:
    response = rest_client.http(f"{PATH}/{action}", body)
    assert response.status_code == 200, response.content
    answer = json.loads(response.content)
    schemas = document()["components"]["schemas"]
    Draft202012Validator(schemas["ConfigurationChanges"]).validate(answer)
    entries: list[dict[str, Any]] = answer["changes"]
    return entries


def budgets(cast: Cast) -> list[str]:
    return [row.name for row in Budget.objects.unscoped().filter(account=cast.account)]


def test_a_file_is_planned_applied_and_exported(cast: Cast, writer: RestClient, reader: RestClient) -> None:
    creation = {"action": "create", "kind": "budgets", "name": "Core", "fields": {}}
    assert changes(writer, "plan") == [creation]
    assert budgets(cast) == []

    assert changes(writer, "apply") == [creation]

    assert changes(writer, "apply") == []
    exported = reader.http(f"{PATH}?kind=budgets", method="GET")
    assert exported["Content-Type"] == "application/yaml"
    assert yaml.safe_load(exported.content)["budgets"] == [
        {"name": "Core", "amount": "1500.5", "currency": "USD"}
    ]
    whole = yaml.safe_load(reader.http(PATH, method="GET").content)
    assert list(whole) == ["version", *(kind.name for kind in KINDS)]
    entry = AuditEntry.objects.unscoped().get(account=cast.account, action="budget.create")
    assert "tests read_write" in entry.actor_label


def test_a_change_has_the_values_before_and_after_and_deletes_only_on_request(
    cast: Cast, writer: RestClient
) -> None:
    create_budget(cast.account, "Core", 1_000)
    create_budget(cast.account, "Other", 5)

    (change,) = changes(writer, "plan")
    assert change["fields"] == {"amount": {"before": "1000", "after": "1500.5"}}
    assert [each["action"] for each in changes(writer, "apply?delete=true")] == ["change", "delete"]
    assert budgets(cast) == ["Core"]
    assert problem_of(writer.http(f"{PATH}/plan?delete=maybe", FILE), 422)["field"] == "delete"


def test_a_read_only_key_exports_and_is_refused_the_rest(cast: Cast, reader: RestClient) -> None:
    before = fingerprint(without=CALLS)

    for action in ("plan", "apply"):
        problem = problem_of(reader.http(f"{PATH}/{action}", FILE), 403)
        assert "needs write access" in problem["detail"]
    assert reader.http(PATH, method="GET").status_code == 200

    assert fingerprint(without=CALLS) == before


def test_a_viewer_is_refused_and_a_token_without_scope_asks_for_more(cast: Cast) -> None:
    token = OAuthClient().connect(cast.member, access="read_write").access
    membership = Membership.objects.get(account=cast.account, user=cast.member)
    change_role(membership=membership, role="viewer", actor=Actor.of_user(cast.owner))

    for action in ("plan", "apply"):
        response = RestClient(token).http(f"{PATH}/{action}", FILE)
        problem_of(response, 403)
        assert 'error="insufficient_scope"' in response["WWW-Authenticate"]
    assert budgets(cast) == []


def test_a_stranger_reads_and_writes_her_own_account_alone(cast: Cast, writer: RestClient) -> None:
    changes(writer, "apply")
    _key, text = mint_mcp_key(
        account=cast.other_account, actor=cast.other_actor, name="other", scope="read_write"
    )
    stranger = RestClient(text)

    assert yaml.safe_load(stranger.http(PATH, method="GET").content)["budgets"] == []
    nothing = b"version: 1\nbudgets: []\n"
    assert changes(stranger, "apply?delete=true", nothing) == []
    assert budgets(cast) == ["Core"]


@pytest.mark.parametrize(("path", "method"), PATHS)
def test_no_credential_a_session_and_a_suspended_account_are_refused(
    cast: Cast, writer: RestClient, path: str, method: str
) -> None:
    assert problem_of(RestClient(None).http(path, FILE, method), 401)
    assert problem_of(RestClient("fmcp_unknown").http(path, FILE, method), 401)
    session = signed_in(cast.owner).generic(method, path, FILE, "application/yaml")
    assert problem_of(session, 401)
    other = "GET" if method == "POST" else "POST"
    assert problem_of(writer.http(path, FILE, other), 405)
    suspend_account(account=cast.account, actor=cast.actor)
    assert problem_of(writer.http(path, FILE, method), 403)


def test_a_file_that_is_refused_leaves_everything_as_it_was(cast: Cast, writer: RestClient) -> None:
    before = fingerprint(without=CALLS)
    text = FILE + b"  - {name: Team, amount: 1, currency: USD, team: Nobody}\n"

    for action in ("plan", "apply"):
        problem = problem_of(writer.http(f"{PATH}/{action}", text), 422)
        assert problem["detail"].startswith("budgets: team: 'Nobody' does not exist")
        assert problem["field"] == "team"
        assert "not YAML" in problem_of(writer.http(f"{PATH}/{action}", b"version: ["), 422)["detail"]
    assert problem_of(writer.http(f"{PATH}?kind=colours", method="GET"), 422)["field"] == "kind"

    assert fingerprint(without=CALLS) == before


def test_calls_are_recorded(cast: Cast, writer: RestClient, reader: RestClient) -> None:
    changes(writer, "apply?delete=true")
    reader.http(f"{PATH}/apply", FILE)

    assert sorted((call.name, call.outcome) for call in stored_calls(cast.account)) == [
        ("applyConfiguration", CallOutcome.OK),
        ("applyConfiguration", CallOutcome.REFUSED),
    ]


def test_a_file_that_is_not_utf_8_changes_nothing(cast: Cast, writer: RestClient) -> None:
    body = "version: 1\nbudgets:\n  - {name: Büro, amount: 1, currency: EUR}\n".encode("latin-1")

    assert "not UTF-8" in problem_of(writer.http(f"{PATH}/apply", body), 422)["detail"]
    assert budgets(cast) == []
