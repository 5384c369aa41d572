"""Costs of OpenAI: every digit of the JSON's numbers, by everything that a row is split by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import Account
from finops.connections.connector import AccessError, SourceError
from finops.connections.connectors import connector_of
from finops.connections.connectors.openai_costs import OpenAiConfig
from finops.connections.transports.http import RequestRefusal
from finops.lib import clock
from tests.cast import Cast
from tests.factories.days import NOON
from tests.factories.imports import cost_by
from tests.finops.connections.replay_server import ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, sync_now
from tests.finops.connections.vendors.openai_api import KEY, OpenAiApi
from tests.finops.connections.vendors.steps import (
    Amounts,
    billed_by,
    connect,
    fetch_rows,
    lake_amount,
    spend_by,
    sums_by_key,
)

MARCH = date(2026, 3, 1)
CONFIG = OpenAiConfig(api_key=KEY)
CONNECTOR = connector_of("openai_costs")


@pytest.fixture
def api(replay: ReplayServer, settings: Settings) -> OpenAiApi:
    settings.CONNECTOR_BASE_URLS = {"openai_costs": replay.url}
    return OpenAiApi(replay)


@pytest.fixture(autouse=True)
def _noon_of_20_march() -> Iterator[None]:
    with clock.frozen(NOON):
        yield


def by(api: OpenAiApi, key: Callable[[str, dict[str, Any]], str | None], month: str = "2026-03") -> Amounts:
    """The independent sum: from the recorded texts."""
    return sums_by_key(
        (key(day, result), Decimal(result["amount"]["value"]))
        for day, results in api.days(month)
        for result in results
    )


COLUMNS: list[tuple[str, Callable[[str, dict[str, Any]], str | None]]] = [
    ("SubAccountId", lambda _day, result: result["project_id"]),
    ("x_ApiKeyId", lambda _day, result: result["api_key_id"]),
    ("x_UserId", lambda _day, result: result["user_id"]),
    ("SkuMeter", lambda _day, result: result["line_item"]),
    ("x_Model", lambda _day, result: result["line_item"].rpartition(", ")[0] or None),
    ("ChargePeriodStart", lambda day, _result: day),
    ("BillingCurrency", lambda _day, result: result["amount"]["currency"].upper()),
]


@pytest.mark.parametrize(("column", "key"), COLUMNS, ids=[column for column, _ in COLUMNS])
def test_sums_equal_those_of_the_recorded_numbers(
    api: OpenAiApi, tmp_path: Path, column: str, key: Callable[[str, dict[str, Any]], str | None]
) -> None:
    rows = fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)
    assert billed_by(rows, column) == by(api, key)


def test_no_digit_of_an_amount_is_lost_in_floating_point(api: OpenAiApi, tmp_path: Path) -> None:
    result = '{"object": "organization.costs.result", "amount": {"value": 1234567.12345678901234567e-2, "currency": "usd"}}'
    api.texts = [
        f'{{"object": "bucket", "start_time": 1772323200, "end_time": 1772409600, "results": [{result}]}}'
    ]
    (row,) = fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)
    assert row["BilledCost"] == "12345.6712345678901234567"


def test_a_line_item_gives_model_token_type_and_tokens(api: OpenAiApi, tmp_path: Path) -> None:
    rows = fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)
    for row in rows:
        model, comma, kind = (row["SkuMeter"] or "").partition(", ")
        assert (row["x_Model"], row["x_TokenType"]) == ((model, kind) if comma else (None, None))
    tokens = sum(Decimal(row["ConsumedQuantity"] or "0") for row in rows if row["ConsumedUnit"] == "Tokens")
    factors = {"tokens": 1, "1000_tokens": 1000}
    assert tokens == sum(
        result["quantity"] * factors[result["quantity_unit"]]
        for _day, results in api.days("2026-03")
        for result in results
        if result["quantity_unit"] in factors
    )
    assert {row["ConsumedUnit"] for row in rows if not row["ConsumedQuantity"]} <= {None}


def test_projects_people_and_keys_have_names(api: OpenAiApi, tmp_path: Path) -> None:
    rows = fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)
    named = {(row["SubAccountId"], row["SubAccountName"]) for row in rows}
    assert named == {("proj_search", "Search"), ("proj_support", "Support"), (None, None)}
    assert {row["x_UserEmail"] for row in rows if row["x_UserId"] == "user-ada"} == {"ada@example.com"}
    assert {row["x_ApiKeyName"] for row in rows if row["x_ApiKeyId"] == "key_backend"} == {"backend"}


def test_a_key_that_may_read_usage_alone_gives_ids_for_names(api: OpenAiApi, tmp_path: Path) -> None:
    api.scopes -= {"management"}
    rows = fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)
    assert billed_by(rows, "SubAccountId") == by(api, lambda _day, result: result["project_id"])
    assert {row["SubAccountName"] for row in rows} == {None}


@pytest.mark.parametrize(
    ("refused", "left_out"),
    [
        ([{"user_id", "project_id"}], ["x_UserId"]),
        ([{"user_id", "project_id"}, {"api_key_id"}], ["x_UserId", "x_ApiKeyId"]),
        ([{"project_id"}], ["x_UserId", "x_ApiKeyId", "SubAccountId"]),
    ],
)
def test_dimensions_that_do_not_go_together_leave_the_finest_that_do(
    api: OpenAiApi, tmp_path: Path, refused: list[set[str]], left_out: list[str]
) -> None:
    api.refused = refused
    rows = fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)
    assert billed_by(rows, "SkuMeter") == by(api, lambda _day, result: result["line_item"])
    for column in ("x_UserId", "x_ApiKeyId", "SubAccountId"):
        assert ({row[column] for row in rows} == {None}) == (column in left_out)


def test_a_month_whose_every_grouping_is_refused_fails_with_the_vendors_words(
    api: OpenAiApi, tmp_path: Path
) -> None:
    listing = CONNECTOR.months(CONFIG)
    assert listing
    api.refused = [{"line_item"}]
    with pytest.raises(RequestRefusal, match="This combination of group_by fields is not supported"):
        fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)


def test_months_reach_back_to_the_first_cost(api: OpenAiApi) -> None:
    months = [each.month for each in CONNECTOR.months(CONFIG)]
    first = min(day for day, results in api.days() if results)
    assert months[0] == MARCH
    assert f"{months[-1]:%Y-%m}" == first[:7]
    assert len(api.replay.requests) == 2


def test_a_month_between_without_cost_is_listed(api: OpenAiApi) -> None:
    api.texts = [
        text for text in api.texts if not 1767225600 <= int(text.split('"start_time": ')[1][:10]) < 1769904000
    ]
    assert date(2026, 1, 1) in [each.month for each in CONNECTOR.months(CONFIG)]


def test_an_organization_without_cost_has_this_month_alone(api: OpenAiApi, tmp_path: Path) -> None:
    api.texts = []
    assert [each.month for each in CONNECTOR.months(CONFIG)] == [MARCH]
    assert fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path) == []


def test_a_correction_of_an_old_month_changes_its_fingerprint_alone(api: OpenAiApi) -> None:
    before = {each.month: each.fingerprint for each in CONNECTOR.months(CONFIG)}
    assert {each.month: each.fingerprint for each in CONNECTOR.months(CONFIG)} == before
    place = next(number for number, text in enumerate(api.texts) if '"value"' in text)
    api.texts[place] = api.texts[place].replace('"value": ', '"value": 9', 1)
    after = {each.month: each.fingerprint for each in CONNECTOR.months(CONFIG)}
    assert [month for month in before if before[month] != after[month]] == [min(before)]


def test_pages_of_days_are_read_to_the_last(api: OpenAiApi, tmp_path: Path) -> None:
    api.page_size = 3
    rows = fetch_rows(CONNECTOR, CONFIG, MARCH, tmp_path)
    assert billed_by(rows, "SkuMeter") == by(api, lambda _day, result: result["line_item"])


def test_a_page_that_promises_more_and_does_not_say_where_is_refused(api: OpenAiApi) -> None:
    api.replay.faults = [Reply.of_json({"data": [], "has_more": True, "next_page": None})]
    with pytest.raises(SourceError, match="more pages without an address"):
        CONNECTOR.months(CONFIG)


def test_a_check_names_the_missing_permission(api: OpenAiApi) -> None:
    assert [(each.title, each.is_ok) for each in CONNECTOR.check(CONFIG)] == [
        ("Read costs", True),
        ("Read names of projects", True),
    ]
    api.scopes = set()
    costs, names = CONNECTOR.check(CONFIG)
    assert (costs.is_ok, names.is_ok) == (False, False)
    assert "Use an Admin key with Usage: Read (api.usage.read)" in costs.fix
    assert costs.fix.endswith(
        "OpenAI: You have insufficient permissions for this operation. Missing scopes: api.usage.read."
    )
    with pytest.raises(AccessError):
        CONNECTOR.months(CONFIG)


def test_a_wrong_key_says_where_to_make_another(api: OpenAiApi) -> None:
    costs, _names = CONNECTOR.check(OpenAiConfig(api_key="sk-admin-of-somebody-else"))
    assert costs.fix.startswith(
        "The credential is not accepted: it may be mistyped, revoked or expired. Create a new Admin key"
    )


@pytest.mark.django_db
def test_a_sync_brings_every_month_in_both_currencies(api: OpenAiApi, acme: Account, cast: Cast) -> None:
    connection = connect(cast, "openai_costs", api_key=KEY)
    sync = sync_now(connection)
    assert sync.status == "done"
    results = [(day, result) for day, results in api.days() for result in results]
    months = {month: billed for month, (billed, _effective) in cost_by(acme, "billing_period").items()}
    assert months == sums_by_key(
        (day[:7], lake_amount(Decimal(result["amount"]["value"]))) for day, result in results
    )
    currencies = {code: billed for code, (billed, _effective) in cost_by(acme, "currency").items()}
    assert currencies == sums_by_key(
        (result["amount"]["currency"].upper(), lake_amount(Decimal(result["amount"]["value"])))
        for _day, result in results
    )
    assert set(currencies) == {"USD", "EUR"}
    actors = spend_by(acme, "actor", MARCH, date(2026, 3, 31))
    assert {"ada@example.com", "user-bob"} <= set(actors)
    api.replay.requests.clear()
    assert set(actions(sync_now(connection)).values()) == {"unchanged"}
    assert len(api.replay.requests) == 2
