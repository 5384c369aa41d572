"""An operator raises the limits of one account: they count at every endpoint at once, and the account's audit log has them."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.limits import LIMITS, limit_of
from accounts.models import Account, AuditEntry, User
from accounts.services.limits import change_limits
from finops.lib.errors import UserError
from tests.accounts.oauth.flow import OAuthClient, mcp_status
from tests.cast import ACTOR, Cast, reauthenticated, signed_in
from tests.factories.budgets import create_budget
from tests.finops.connections.pushes.push_steps import create_cost_client
from tests.ingestion.push_client import create_push_client, event
from tests.mcpserver.mcp_client import McpClient, mint

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def url_of(account: Account) -> str:
    return f"/admin/accounts/account/{account.pk}/actions/limits/"


@pytest.fixture
def operator_client(operator: Client) -> Client:
    return reauthenticated(operator, User.objects.get(email="operator@example.com"))


def test_an_operator_sets_limits_and_removes_them_and_the_account_sees_it(
    cast: Cast, operator_client: Client
) -> None:
    page = operator_client.get(url_of(cast.account)).content.decode()
    operator_client.post(
        url_of(cast.account), {"BUDGETS_PER_ACCOUNT": "75", "USAGE_RATE_LIMIT_PER_MINUTE": "5000"}
    )
    raised = Account.objects.get(pk=cast.account.pk).limits
    operator_client.post(
        url_of(cast.account), {"BUDGETS_PER_ACCOUNT": "", "USAGE_RATE_LIMIT_PER_MINUTE": "5000"}
    )

    assert "Default: 1,000. Maximum: 100,000." in page
    assert raised == {"BUDGETS_PER_ACCOUNT": 75, "USAGE_RATE_LIMIT_PER_MINUTE": 5000}
    assert Account.objects.get(pk=cast.account.pk).limits == {"USAGE_RATE_LIMIT_PER_MINUTE": 5000}
    last, first = AuditEntry.objects.unscoped().filter(action="account.limits").order_by("-at", "-pk")
    assert (first.account, first.actor_label) == (cast.account, "Operator operator@example.com")
    assert first.detail == {"from": {}, "to": raised}
    assert last.detail["from"] == raised
    assert "account.limits" in signed_in(cast.owner).get("/a/acme/settings/audit-log/").content.decode()


@pytest.mark.parametrize("value", ["0", "-1", "x", "100001", "1.5"])
def test_a_value_out_of_range_is_shown_in_the_form_and_changes_nothing(
    cast: Cast, operator_client: Client, value: str
) -> None:
    answer = operator_client.post(url_of(cast.account), {"MCP_RATE_LIMIT_PER_MINUTE": value})

    assert answer.status_code == 422
    assert "is-invalid" in answer.content.decode()
    assert Account.objects.get(pk=cast.account.pk).limits == {}
    with pytest.raises(UserError):
        change_limits(account=cast.account, actor=ACTOR, limits={"LAKE_DEADLINE_SECONDS": 1})
    with pytest.raises(UserError, match="between 1 and 100,000"):
        change_limits(account=cast.account, actor=ACTOR, limits={"MCP_RATE_LIMIT_PER_MINUTE": 100_001})


def test_without_its_own_an_account_has_the_servers(cast: Cast, settings: Any) -> None:
    for limit in LIMITS:
        assert limit_of(cast.account, limit.name) == limit.default >= 0


def test_rates_of_an_account_apply_at_every_endpoint(cast: Cast, settings: Any) -> None:
    for name in ("MCP", "USAGE", "COST_PUSH"):
        setattr(settings, f"{name}_RATE_LIMIT_PER_MINUTE", 1)
        change_limits(account=cast.account, actor=ACTOR, limits={f"{name}_RATE_LIMIT_PER_MINUTE": 2})
    mcp_client, token = McpClient(mint(cast)), OAuthClient().connect(cast.member).access
    usage, cost = create_push_client(cast), create_cost_client(cast)
    elsewhere = create_push_client(cast, cast.other_account)

    assert [mcp_client.http(PING).status_code for _ in range(3)] == [200, 200, 429]
    assert [mcp_status(token) for _ in range(3)] == [200, 200, 429]
    pushes = [usage.push(event()) for _ in range(3)]
    assert [answer.status_code for answer in pushes] == [200, 200, 429]
    assert pushes[0].headers["RateLimit-Limit"] == "2"
    months = [cost.send("POST", "/api/costs/pushes", {"month": "2026-05"}) for _ in range(3)]
    assert [answer.status_code for answer in months] == [201, 201, 429]
    assert [elsewhere.push(event()).status_code for _ in range(2)] == [200, 429]


def test_the_api_pages_have_the_accounts_own_rate(cast: Cast) -> None:
    limits: dict[str, int | None] = {
        "MCP_RATE_LIMIT_PER_MINUTE": 1_111,
        "USAGE_RATE_LIMIT_PER_MINUTE": 2_222,
        "COST_PUSH_RATE_LIMIT_PER_MINUTE": 3_333,
    }
    change_limits(account=cast.account, actor=ACTOR, limits=limits)
    client = signed_in(cast.member)

    for name, rate in (("rest_api", "1,111"), ("usage_api", "2,222"), ("cost_api", "3,333")):
        assert rate in client.get(reverse(name, args=["acme"])).content.decode(), name


def test_a_cap_is_of_the_account(cast: Cast, settings: Any) -> None:
    settings.BUDGETS_PER_ACCOUNT = 1
    change_limits(account=cast.account, actor=ACTOR, limits={"BUDGETS_PER_ACCOUNT": 2})

    create_budget(cast.account, "First")
    create_budget(cast.account, "Second")
    with pytest.raises(UserError, match="the maximum is 2"):
        create_budget(cast.account, "Third")
