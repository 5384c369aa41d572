"""Costs of Anthropic: every cent as an independent sum has it, by everything that a row is split by."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import Account
from finops.allocation.services.cost_tags import cost_tag_from_yaml, create_cost_tag
from finops.connections.connector import AccessError, Fetch, SourceError
from finops.connections.connectors import connector_of
from finops.connections.connectors.anthropic_costs import AnthropicConfig
from finops.costs.queries import account_context
from finops.costs.queries.spend import query_spend
from finops.costs.spend_query import Filter, SpendQuery
from finops.lib import clock
from tests.cast import Cast, signed_in
from tests.factories.days import NOON
from tests.factories.imports import cost_by
from tests.finops.connections.replay_server import ReplayServer
from tests.finops.connections.syncs.sync_steps import actions, sync_now
from tests.finops.connections.vendors.anthropic_api import KEY, AnthropicApi
from tests.finops.connections.vendors.steps import (
    Amounts,
    billed_by,
    connect,
    fetch_rows,
    lake_amount,
    spend_by,
    sums_by_key,
)

MARCH, FEBRUARY = date(2026, 3, 1), date(2026, 2, 1)
CONFIG = AnthropicConfig(api_key=KEY)
CONNECTOR = connector_of("anthropic_costs")


@pytest.fixture
def api(replay: ReplayServer, settings: Settings) -> AnthropicApi:
    settings.CONNECTOR_BASE_URLS = {"anthropic_costs": replay.url}
    return AnthropicApi(replay)


@pytest.fixture(autouse=True)
def _noon_of_20_march(request: pytest.FixtureRequest) -> Any:
    with clock.frozen(NOON):
        yield


def usd(row: dict[str, Any], name: str = "amount") -> Decimal:
    return Decimal(row["cost"][name]) / 100


def of_month(rows: list[dict[str, Any]], month: str = "2026-03") -> list[dict[str, Any]]:
    return [row for row in rows if row["starting_at"].startswith(month)]


def by(api: AnthropicApi, key: Callable[[dict[str, Any]], str | None], month: str = "2026-03") -> Amounts:
    """The independent sum: from the recorded texts."""
    return sums_by_key((key(row), usd(row)) for row in of_month(api.cost, month))


COLUMNS: list[tuple[str, Callable[[dict[str, Any]], str | None]]] = [
    ("SubAccountId", lambda row: row["group"]["workspace_id"]),
    ("x_ApiKeyId", lambda row: row["group"]["api_key_id"] or (row["group"]["actor"] or {}).get("api_key_id")),
    ("x_Model", lambda row: row["group"]["model"]),
    ("x_TokenType", lambda row: row["group"]["token_type"]),
    ("x_ServiceTier", lambda row: row["group"]["service_tier"]),
    ("x_CostType", lambda row: row["group"]["cost_type"]),
    ("x_UserEmail", lambda row: (row["group"]["actor"] or {}).get("email_address")),
    ("x_IamPrincipal", lambda row: (row["group"]["actor"] or {}).get("subject")),
    ("ChargePeriodStart", lambda row: row["starting_at"][:10]),
]


@pytest.mark.parametrize(("column", "key"), COLUMNS, ids=[column for column, _ in COLUMNS])
def test_sums_equal_those_of_the_recorded_texts(
    api: AnthropicApi, tmp_path: Path, column: str, key: Callable[[dict[str, Any]], str | None]
) -> None:
    rows = fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)
    assert billed_by(rows, column) == by(api, key)
    assert len(rows) == len(of_month(api.cost))


def test_a_row_is_focus_with_list_cost_and_its_tokens(api: AnthropicApi, tmp_path: Path) -> None:
    rows = fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)
    expected = of_month(api.cost)
    assert sum(Decimal(row["ListCost"] or "") for row in rows) == sum(
        usd(row, "list_amount") for row in expected
    )
    for column in ("EffectiveCost", "ContractedCost"):
        assert [row[column] for row in rows] == [row["BilledCost"] for row in rows]
    assert {row["BillingCurrency"] for row in rows} == {"USD"}
    assert {row["ServiceProviderName"] for row in rows} == {"Anthropic"}
    assert {row["ServiceCategory"] for row in rows} == {"AI and Machine Learning"}
    assert {row["SubAccountName"] for row in rows} == {"Production", "Research", None}
    assert {row["x_ApiKeyName"] for row in rows} >= {"backend", "nightly batch", None}
    assert {row["BillingAccountName"] for row in rows} == {"Acme AI"}
    assert (rows[0]["BillingPeriodStart"], rows[0]["BillingPeriodEnd"]) == ("2026-03-01", "2026-04-01")


def test_tokens_are_those_of_the_usage_report(api: AnthropicApi, tmp_path: Path) -> None:
    rows = fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)
    tokens = sum(int(row["ConsumedQuantity"] or 0) for row in rows if row["ConsumedUnit"] == "Tokens")
    searches = sum(int(row["ConsumedQuantity"] or 0) for row in rows if row["ConsumedUnit"] == "Searches")
    usage = [row["usage"] for row in of_month(api.usage)]
    assert tokens == sum(each["total_tokens"] for each in usage)
    assert searches == sum(each["server_tool_use"]["web_search_requests"] for each in usage)
    assert {row["ConsumedUnit"] for row in rows if row["x_CostType"] == "code_execution"} == {None}


def test_a_listing_at_all_months_costs_a_request_each_for_the_two_that_may_change(api: AnthropicApi) -> None:
    api.page_size = 1000
    months = CONNECTOR.months(CONFIG)
    assert [month.month for month in months] == [MARCH, FEBRUARY, date(2026, 1, 1)]
    assert len(api.replay.requests) == 2


def test_a_changed_day_changes_its_month_alone_and_a_new_hour_changes_nothing(api: AnthropicApi) -> None:
    before = {each.month: each.fingerprint for each in CONNECTOR.months(CONFIG)}
    with clock.frozen(NOON.replace(hour=18)):
        assert {each.month: each.fingerprint for each in CONNECTOR.months(CONFIG)} == before
    of_month(api.cost, "2026-02")[0]["cost"]["amount"] = "0.1"
    after = {each.month: each.fingerprint for each in CONNECTOR.months(CONFIG)}
    assert [month for month in before if before[month] != after[month]] == [FEBRUARY]


def test_a_month_is_read_once_more_when_it_settles(api: AnthropicApi) -> None:
    def february() -> str:
        return next(each.fingerprint for each in CONNECTOR.months(CONFIG) if each.month == FEBRUARY)

    open_one = february()
    with clock.frozen(NOON.replace(month=4)):
        settled = february()
    with clock.frozen(NOON.replace(month=5)):
        assert february() == settled != open_one


@pytest.mark.parametrize(("day", "oldest"), [("2027-03-20", "2026-04-01"), ("2027-04-01", "2026-05-01")])
def test_months_end_where_the_last_365_days_and_the_api_begin(
    api: AnthropicApi, day: str, oldest: str
) -> None:
    with clock.frozen(datetime.fromisoformat(f"{day}T12:00:00Z")):
        assert f"{CONNECTOR.months(CONFIG)[-1].month}" == oldest


def test_a_day_outside_of_the_month_is_not_counted_in_it(api: AnthropicApi, tmp_path: Path) -> None:
    """Both days in one answer, as of a server that ignores what it was asked."""
    stray = {**of_month(api.cost)[0], "starting_at": "2026-02-28T23:00:00-01:00"}
    api.cost.append(stray)
    other = {**stray, "starting_at": "2026-03-20T00:00:00Z", "cost": {**stray["cost"], "amount": "100"}}
    api.cost.append(other)
    rows = fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)
    expected = sum((usd(row) for row in of_month(api.cost)), usd(stray))
    assert sum(Decimal(row["BilledCost"] or "") for row in rows) == expected
    assert {str(row["ChargePeriodStart"])[:7] for row in rows} == {"2026-03"}


def test_a_key_without_the_scope_reads_the_older_report(api: AnthropicApi, tmp_path: Path) -> None:
    api.scopes -= {"analytics"}
    rows = fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)
    results = [
        (bucket["starting_at"][:10], result)
        for bucket in of_month(api.report)
        for result in bucket["results"]
    ]
    assert billed_by(rows, "SubAccountId") == sums_by_key(
        (result["workspace_id"], Decimal(result["amount"]) / 100) for _day, result in results
    )
    assert billed_by(rows, "x_Model") == sums_by_key(
        (result["model"], Decimal(result["amount"]) / 100) for _day, result in results
    )
    assert billed_by(rows, "ChargePeriodStart") == sums_by_key(
        (day, Decimal(result["amount"]) / 100) for day, result in results
    )
    assert {row["ListCost"] for row in rows} == {None}


def test_the_older_report_and_the_newer_have_other_fingerprints(api: AnthropicApi) -> None:
    newer = CONNECTOR.months(CONFIG)[0].fingerprint
    api.scopes -= {"analytics"}
    assert newer.split(":")[0] == "analytics"
    assert CONNECTOR.months(CONFIG)[0].fingerprint.split(":")[0] == "report"


def test_a_key_without_any_scope_names_the_missing_one(api: AnthropicApi) -> None:
    api.scopes = set()
    (finding,) = CONNECTOR.check(CONFIG)
    assert not finding.is_ok
    assert finding.fix == (
        "The credential lacks a permission. Use an Admin key or a key with the scope read:analytics. Workspace keys "
        "cannot read costs. Anthropic: Missing scopes: read:analytics."
    )
    with pytest.raises(AccessError, match="read:analytics"):
        CONNECTOR.months(CONFIG)


def test_a_wrong_key_says_where_to_make_another(api: AnthropicApi) -> None:
    (finding,) = CONNECTOR.check(AnthropicConfig(api_key="sk-ant-admin01-of-somebody-else"))
    assert finding.title == "Read costs"
    assert finding.fix.startswith(
        "The credential is not accepted: it may be mistyped, revoked or expired. Create a new key"
    )
    assert "somebody" not in finding.fix


def test_a_check_says_what_the_key_can_and_cannot(api: AnthropicApi) -> None:
    assert [(each.title, each.is_ok) for each in CONNECTOR.check(CONFIG)] == [
        ("Read costs", True),
        ("Read names of workspaces and API keys", True),
    ]
    api.scopes -= {"analytics", "names"}
    assert [(each.title, each.is_ok) for each in CONNECTOR.check(CONFIG)] == [
        (
            "Read costs by workspace and model. API keys and people need a key with the scope read:analytics",
            True,
        ),
        ("Ids of workspaces and API keys are shown, since names need an Admin key", True),
    ]


def test_a_key_that_may_read_costs_alone_gives_ids_for_names(api: AnthropicApi, tmp_path: Path) -> None:
    api.scopes -= {"names"}
    rows = fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)
    assert billed_by(rows, "SubAccountId") == by(api, lambda row: row["group"]["workspace_id"])
    assert {row["SubAccountName"] for row in rows} == {None}


@pytest.mark.parametrize("currency", ["", "dollars", "US$"])
def test_an_invalid_currency_is_refused(api: AnthropicApi, tmp_path: Path, currency: str) -> None:
    of_month(api.cost)[0]["cost"]["currency"] = currency
    with pytest.raises(SourceError, match="instead of a currency code such as USD"):
        fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "1e400", "1E-400"])
def test_an_invalid_amount_is_refused(api: AnthropicApi, tmp_path: Path, amount: str) -> None:
    bill_month = CONNECTOR.months(CONFIG)[0]
    of_month(api.cost)[0]["cost"]["amount"] = amount
    with pytest.raises(SourceError, match="instead of an amount or quantity"):
        CONNECTOR.fetch(CONFIG, bill_month, Fetch(tmp_path))


def test_an_empty_month_has_no_file(api: AnthropicApi, tmp_path: Path) -> None:
    api.cost, api.usage = [], []
    assert fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path) == []


@pytest.mark.django_db
def test_a_sync_brings_every_month_and_every_dimension(api: AnthropicApi, acme: Account, cast: Cast) -> None:
    connection = connect(cast, "anthropic_costs", api_key=KEY)
    sync = sync_now(connection)
    assert actions(sync) == {"2026-03": "imported", "2026-02": "imported", "2026-01": "imported"}
    assert sync.rows == len(api.cost)
    months = {month: billed for month, (billed, _effective) in cost_by(acme, "billing_period").items()}
    assert months == sums_by_key((row["starting_at"][:7], lake_amount(usd(row))) for row in api.cost)
    days = cost_by(acme, "charge_date")
    assert {day: billed for day, (billed, _effective) in days.items()} == sums_by_key(
        (row["starting_at"][:10], lake_amount(usd(row))) for row in api.cost
    )
    assert account_context(acme).x_columns == [
        *("x_ApiKeyId", "x_ApiKeyName", "x_CostType", "x_IamPrincipal", "x_Model", "x_ServiceTier"),
        *("x_TokenType", "x_UserEmail", "x_UserId", "x_UserName"),
    ]
    models = spend_by(acme, "x_Model", MARCH, date(2026, 3, 31))
    expected = by(api, lambda row: row["group"]["model"] or "(none)")
    assert {name: amount.quantize(Decimal("0.01")) for name, amount in models.items()} == {
        name: amount.quantize(Decimal("0.01")) for name, amount in expected.items()
    }
    assert "ada@example.com" in spend_by(acme, "actor", MARCH, date(2026, 3, 31))


@pytest.mark.django_db
def test_an_unchanged_source_is_not_read_again(api: AnthropicApi, acme: Account, cast: Cast) -> None:
    connection = connect(cast, "anthropic_costs", api_key=KEY)
    sync_now(connection)
    api.replay.requests.clear()
    api.page_size = 1000
    assert set(actions(sync_now(connection)).values()) == {"unchanged"}
    assert len(api.replay.requests) == 2


@pytest.mark.django_db
def test_model_token_type_and_service_tier_are_dimensions_of_pages_queries_and_cost_tags(
    api: AnthropicApi, acme: Account, cast: Cast
) -> None:
    sync_now(connect(cast, "anthropic_costs", api_key=KEY))
    page = signed_in(cast.viewer).get("/a/acme/cost-explorer/", {"group_by": "x_Model"}).content.decode()
    for name, title in (
        ("x_Model", "Model"),
        ("x_TokenType", "Token type"),
        ("x_ServiceTier", "Service tier"),
    ):
        assert re.search(rf'<option value="{name}"[^>]*>{title}</option>', page)
    march = MARCH, date(2026, 3, 31)
    for name, column in (
        ("model", "x_Model"),
        ("Token type", "x_TokenType"),
        ("service_tier", "x_ServiceTier"),
    ):
        query = SpendQuery(group_by=[name], start_date=march[0], end_date=march[1], basis="billed")
        sums = {row.group[column]: row.amount for row in query_spend(acme, query).rows}
        assert sums == spend_by(acme, column, *march)
    opus = Filter(dimension="Model", values=["claude-opus-5-5"])
    assert set(spend_by(acme, "x_TokenType", *march, filters=[opus])) <= {
        row["group"]["token_type"] or "(none)" for row in api.cost
    }
    text = (
        "key: size\ndescription: ''\ndefault_value: other\nrules:\n- name: Large\n  when:\n"
        "    dimension: x_Model\n    op: in\n    values: [claude-opus-5-5]\n  value: large\n"
    )
    draft = cost_tag_from_yaml(text)
    create_cost_tag(account=acme, actor=cast.actor, key=draft.key, rules=draft.rules)
    sizes = spend_by(acme, "cost_tag:size", *march)
    assert sizes["large"] == spend_by(acme, "x_Model", *march)["claude-opus-5-5"]
