"""Langfuse as a usage source, from a server that answers as its metrics API does."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connectors import langfuse
from finops.connections.models import CostConnection
from finops.lib import clock
from ingestion.queries import query_usage
from ingestion.usage_query import UsageFilter, UsageQuery
from tests.cast import Cast
from tests.factories.days import NOON
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, sync_now

VALUES: dict[str, Any] = {"public_key": "pk-lf-0123456789", "secret_key": "sk-lf-9876543210"}
FIRST = NOON.replace(day=1, hour=9, minute=0, second=0, microsecond=0)


class Call(NamedTuple):
    moment: datetime
    userId: str | None
    providedModelName: str | None
    tokens: tuple[int, int]
    cost: str
    environment: str = "production"


class LangfuseApi:
    """Groups its calls as the query says; days without any are filled, as Langfuse does."""

    def __init__(self, replay: ReplayServer) -> None:
        self.replay = replay
        self.queries: list[dict[str, Any]] = []
        self.calls = [
            Call(FIRST, "acme", "gpt-5", (1_000, 200), "0.00325"),
            Call(FIRST + timedelta(hours=1), "acme", "gpt-5", (500, 100), "0.001625"),
            Call(FIRST + timedelta(days=1), "beta", "claude-sonnet-4-5", (10, 20), "0.00033"),
            Call(FIRST + timedelta(days=1), None, "gpt-5", (7, 7), "0.1", "staging"),
            Call(FIRST + timedelta(days=1), "beta", None, (0, 0), "0"),
        ]
        replay.routes["/api/public/metrics"] = self._answer

    def with_second_version(self) -> None:
        self.replay.routes["/api/public/v2/metrics"] = self._answer

    def _answer(self, request: ReplayRequest) -> Reply:
        if not request.headers.get("authorization", "").startswith(
            "Basic cGstbGYtMDEyMzQ1Njc4OTpzay1sZi05ODc2"
        ):
            return Reply.of_json({"message": "Invalid credentials"}, 401)
        query = json.loads(request.param("query"))
        self.queries.append(query)
        fields = [each["field"] for each in query["dimensions"]]
        if "v2" in request.path and "userId" in fields:
            return Reply.of_json({"message": "High cardinality dimension"}, 400)
        start, end = (datetime.fromisoformat(query[name]) for name in ("fromTimestamp", "toTimestamp"))
        groups = defaultdict(list)
        for call in self.calls:
            if start <= call.moment <= end:
                key = (call.moment.date().isoformat(), *(getattr(call, name) for name in fields))
                groups[key].append(call)
        rows = [
            {
                "time_dimension": day,
                **dict(zip(fields, names, strict=True)),
                "count_count": str(len(calls)),
                "sum_inputTokens": str(sum(each.tokens[0] for each in calls)),
                "sum_outputTokens": str(sum(each.tokens[1] for each in calls)),
                "sum_totalCost": float(sum(Decimal(each.cost) for each in calls)) or None,
            }
            for (day, *names), calls in groups.items()
        ]
        filled = {"time_dimension": start.date().isoformat(), "count_count": "0", "sum_inputTokens": "0"}
        return Reply.of_json({"data": [*rows, filled][: query["config"]["row_limit"]]})


@pytest.fixture
def api(replay: ReplayServer) -> Iterator[LangfuseApi]:
    with clock.frozen(NOON):
        yield LangfuseApi(replay)


def connect(cast: Cast, api: LangfuseApi, **more: Any) -> CostConnection:
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Langfuse",
        connector="langfuse",
        values={**VALUES, "url": api.replay.url, **more},
    )


def used_quantity(cast: Cast, metric: str = "llm_tokens", **more: Any) -> Decimal | None:
    query = UsageQuery(usage_metric=metric, start_date=FIRST.date(), end_date=NOON.date(), **more)
    with account_scope(cast.account):
        return query_usage(cast.account, query).quantity


@pytest.mark.django_db(transaction=True)
def test_tokens_calls_and_cost_are_stored_once_by_user_and_model(cast: Cast, api: LangfuseApi) -> None:
    connection = connect(cast, api)
    with account_scope(cast.account):
        first, again = sync_now(connection), sync_now(connection)
        api.calls.append(Call(FIRST + timedelta(hours=2), "acme", "gpt-5", (1, 0), "0"))
        changed = sync_now(connection)

    assert (first.status, first.error) == ("done", "")
    assert "1 sums by day and model have no user and were left out." in str(first.periods)
    assert set(actions(again).values()) == {"unchanged"}
    assert list(actions(changed).values()).count("imported") == 1
    assert used_quantity(cast) == 1_831
    assert used_quantity(cast, filters=[UsageFilter(dimension="token_type", values=["input"])]) == 1_511
    assert used_quantity(cast, filters=[UsageFilter(dimension="model", values=["gpt-5"])]) == 1_801
    assert used_quantity(cast, "llm_calls") == 4
    assert used_quantity(cast, "llm_cost_usd") == Decimal("0.005205")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has_second_version", [True, False])
def test_another_field_is_read_by_the_version_that_the_server_has(
    cast: Cast, api: LangfuseApi, has_second_version: bool
) -> None:
    if has_second_version:
        api.with_second_version()
    connection = connect(cast, api, customer_field="environment")
    with account_scope(cast.account):
        sync = sync_now(connection)

    assert (sync.status, sync.error) == ("done", "")
    assert used_quantity(cast, filters=[UsageFilter(dimension="customer", values=["staging"])]) == 14
    assert used_quantity(cast) == 1_844
    assert ("/api/public/metrics" in api.replay.paths()) is not has_second_version


@pytest.mark.django_db(transaction=True)
def test_a_full_answer_is_read_again_in_parts_that_add_up(
    cast: Cast, api: LangfuseApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(langfuse, "MAX_ROWS", 6)
    api.calls = [
        Call(FIRST + timedelta(hours=hour), f"user-{user}", "gpt-5", (1, 2), "0.001")
        for hour in range(12)
        for user in range(4)
    ]
    connection = connect(cast, api)
    with account_scope(cast.account):
        sync = sync_now(connection)
        api.calls += [Call(FIRST, f"more-{user}", "gpt-5", (1, 2), "0") for user in range(4)]
        failed = sync_now(connection)

    assert (sync.status, sync.error) == ("done", "")
    assert used_quantity(cast) == 12 * 4 * 3
    assert failed.status == "failed"
    assert "6 or more customers and models in the hour of" in failed.error
    assert used_quantity(cast) == 12 * 4 * 3


@pytest.mark.django_db(transaction=True)
def test_a_limit_and_a_fault_pass(cast: Cast, api: LangfuseApi, sleeps: list[float]) -> None:
    connection = connect(cast, api)
    api.replay.faults = [Reply(429, b"{}", {"Retry-After": "3"}), Reply(200, b'{"data": [', cut=0.5)]
    with account_scope(cast.account):
        sync = sync_now(connection)

    assert (sync.status, sync.error) == ("done", "")
    assert sum(sleeps) >= 3
    assert used_quantity(cast) == 1_830


def test_the_check_names_customers_and_hides_keys(cast: Cast, api: LangfuseApi) -> None:
    def findings(**more: Any) -> list[Any]:
        values = {**VALUES, "url": api.replay.url, **more}
        return services.check_config(account=cast.account, connector="langfuse", values=values)

    api.calls = [each._replace(moment=NOON.astimezone(UTC) - timedelta(hours=1)) for each in api.calls]
    good, bad = findings(), findings(secret_key="sk-lf-wrong-wrong")

    assert all(each.is_ok for each in good)
    assert "acme, beta" in good[-1].title
    assert "address of your region" in bad[0].fix
    assert "sk-lf-wrong" not in str(bad)
