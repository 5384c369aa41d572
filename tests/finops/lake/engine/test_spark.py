"""Questions on a real Spark Connect server (Sail): equal to DuckDB's answers to the last digit and type, or refused in time."""

from __future__ import annotations

import re
import socket
import time
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest
from django.conf import LazySettings
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from finops.lake import schema
from finops.lake.engine import engine, routing, spark
from finops.lake.engine.routing import Route
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage.storage import storage
from finops.lib import clock
from finops.lib.cost_access import CostLimit
from tests.cast import Cast
from tests.examples import examples
from tests.factories.days import NOON
from tests.finops.lake.engine.both_engines import rows_of
from tests.finops.lake.engine.test_engine import HOSTILE
from tests.finops.lake.facts import EVER, FEBRUARY, JANUARY, billed_by, line, store, total
from tests.ingestion.push_client import create_push_client, event
from tests.mcpserver.mcp_client import McpClient, mint

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(sail: str, settings: LazySettings) -> str:
    """Every question goes to it, and none is kept."""
    settings.SPARK_REMOTE, settings.SPARK_MIN_BYTES, settings.LAKE_ANSWERS_BYTES = sail, 0, 0
    settings.LAKE_DEADLINE_SECONDS = 120
    return sail


def routes(monkeypatch: pytest.MonkeyPatch) -> list[Route]:
    """The routes that questions take from now on."""
    route_log: list[Route] = []
    choose = routing.route

    def route(*arguments: Any) -> Route:
        route_log.append(choose(*arguments))
        return route_log[-1]

    monkeypatch.setattr(routing, "route", route)
    return route_log


def on_both(
    cast: Cast, build: Any, settings: LazySettings, kind: Kind = Kind.COST, **options: Any
) -> list[str]:
    """The rows of the cluster's answer, which are DuckDB's."""
    answer = engine.run(cast.account, kind, *EVER, build, **options)
    remote, settings.SPARK_REMOTE = settings.SPARK_REMOTE, ""
    local: pa.Table = engine.run(cast.account, kind, *EVER, build, **options)
    settings.SPARK_REMOTE = remote
    assert answer.schema == local.schema
    assert rows_of(answer) == rows_of(local)
    return rows_of(answer)


@pytest.mark.usefixtures("cluster")
def test_the_answer_has_the_digits_and_types_of_the_expression(cast: Cast, settings: LazySettings) -> None:
    store(
        cast.account,
        [line(JANUARY, Decimal("1.000000000000000001"), service="EC2"), line(JANUARY, 2, service=None)],
    )
    store(cast.account, [line(FEBRUARY, -4, service="S3")], month=FEBRUARY)
    on_both(cast, billed_by("service"), settings)
    on_both(
        cast,
        lambda cost: cost.group_by(week=cost.charge_date.truncate("W")).agg(
            lines=cost.count(),
            services=cost.service.nunique(),
            ones=ibis.cases((cost.service == "S3", 1), else_=0).sum(),
            most=cost.billed_cost.max(),
            any_s3=(cost.service == "S3").any(),
            none=cost.list_cost.sum(),
        ),
        settings,
    )


@pytest.mark.usefixtures("cluster")
def test_tag_keys_of_any_text_stay_separate(cast: Cast, settings: LazySettings) -> None:
    keys = ["Env", "env", "a b", 'qu"ote', "back`tick", "sla/sh\\", "日本", "a.b", "", "NULL"]
    store(cast.account, [line(JANUARY, 1, tags={key: f"of {key}" for key in keys}), line(JANUARY, 2)])
    store(cast.account, [line(FEBRUARY, 4, tags={"env": "february"})], month=FEBRUARY)
    for key in keys:
        assert len(on_both(cast, billed_by(schema.tag_column(key)), settings, tag_keys=[key])) >= 2
    on_both(cast, billed_by(schema.tag_column("Env")), settings, tag_keys=["Env", "env"])


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.usefixtures("cluster")
def test_a_hostile_filter_value_is_only_a_value(cast: Cast, text: str, settings: LazySettings) -> None:
    store(cast.account, [line(JANUARY, 1, service=text), line(JANUARY, 2, service="other")])
    column = engine.cost_table().service
    for condition in (column == text, column.isin([text, "nothing"]), column.contains(text)):
        rows = on_both(
            cast,
            lambda cost, condition=condition: cost.filter(condition).agg(total=cost.billed_cost.sum()),
            settings,
        )
        assert rows == ["{'total': Decimal('1.000000000000000000')}"]


amounts = st.decimals(min_value="-1e12", max_value="1e12", places=18, allow_nan=False)
lines = st.tuples(
    st.dates(JANUARY, date(2026, 1, 31)),
    amounts,
    st.sampled_from(["EC2", "S3", "ec2", "", None]),
    st.sampled_from([None, "a", "A", " a ", "é"]),
)


@pytest.mark.usefixtures("cluster")
@hypothesis_settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(15), deadline=None
)
@given(rows=st.lists(lines, min_size=1, max_size=40))
def test_any_bill_has_the_same_sums(
    cast: Cast, settings: LazySettings, rows: list[tuple[date, Decimal, str | None, str | None]]
) -> None:
    store(
        cast.account,
        [
            line(day, cost, service=service, tags={"t": tag} if tag else {})
            for day, cost, service, tag in rows
        ],
    )
    on_both(
        cast,
        lambda cost: cost.group_by(
            month=cost.charge_date.truncate("M"), service=cost.service, tag=cost["tag:t"].strip().lower()
        ).agg(
            total=cost.billed_cost.sum(),
            credits=cost.billed_cost.sum(where=cost.billed_cost < 0),
            largest=cost.billed_cost.abs().max(),
        ),
        settings,
        tag_keys=["t"],
    )


@pytest.mark.usefixtures("cluster")
def test_events_that_wait_in_the_inbox_count(cast: Cast, settings: LazySettings) -> None:
    push_client = create_push_client(cast)
    push_client.push(event(quantity=2.5), event(quantity=4, customer_id="b"))
    rows = on_both(
        cast,
        lambda usage: usage.group_by(customer=usage.customer_id).agg(total=usage.quantity.sum()),
        settings,
        Kind.USAGE,
    )
    assert len(rows) == 2


@pytest.mark.usefixtures("cluster")
def test_a_limited_reader_gets_her_lines_alone(
    cast: Cast, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(cast.account, [line(JANUARY, 1, service="EC2"), line(JANUARY, 2, service=None)])
    limit = CostLimit("EC2", lambda cost: cost.service == "EC2")
    monkeypatch.setattr(engine, "current_limit", lambda: limit)
    assert len(on_both(cast, billed_by("service"), settings)) == 1


@pytest.mark.usefixtures("cluster")
def test_an_answer_to_an_assistant_says_what_the_cluster_read(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1, service="EC2")])
    arguments = {"start_date": "2026-01-01", "end_date": "2026-01-31"}
    with clock.frozen(NOON):
        result = McpClient(mint(cast)).result("tools/call", {"name": "querySpend", "arguments": arguments})

    assert re.search(r"The Spark cluster read [\d.]+ kB for this\.", result["content"][0]["text"])


# Which questions go there


def test_small_questions_stay_here(
    cast: Cast, cluster: str, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(cast.account, [line(JANUARY, 1)])
    size = LakeSegment.objects.unscoped().get(account=cast.account).bytes
    route_log = routes(monkeypatch)
    for settings.SPARK_MIN_BYTES in (size, size + 1):
        total(cast.account)
    settings.SPARK_REMOTE = ""
    total(cast.account)

    assert route_log == [
        Route("spark", size),
        Route("duckdb", size, "fewer bytes than SPARK_MIN_BYTES"),
        Route("duckdb", size),
    ]


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("amount", "engine_name"),
    [("99999999999999", "spark"), ("999999999999999", "spark"), ("0.5", "spark")],
)
def test_a_few_large_amounts_are_proven_to_fit(
    cast: Cast, amount: str, engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(cast.account, [line(JANUARY, amount), line(JANUARY, f"-{amount}")])
    route_log = routes(monkeypatch)
    assert total(cast.account) == 0
    assert route_log[0].engine == engine_name


@pytest.mark.usefixtures("cluster")
def test_a_sum_that_could_pass_its_type_stays_here(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    store(cast.account, [line(JANUARY, "999999999999999") for _ in range(7_000)])
    route_log = routes(monkeypatch)
    assert total(cast.account) == 7_000 * Decimal("999999999999999")
    LakeSegment.objects.unscoped().update(magnitudes=None)
    total(cast.account)
    assert [route.reason for route in route_log] == ["a sum could pass DECIMAL(38)"] * 2


# What goes wrong


@pytest.mark.usefixtures("cluster")
def test_a_file_that_is_gone_is_a_clear_error(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    storage().delete(LakeSegment.objects.unscoped().get(account=cast.account).path)
    with pytest.raises(engine.LakeUnavailable, match="cannot be read right now"):
        total(cast.account)
    store(cast.account, [line(FEBRUARY, 2)], month=FEBRUARY)
    with pytest.raises(engine.LakeUnavailable, match="cannot be read right now"):
        total(cast.account)


@pytest.fixture
def silent_server_port() -> Any:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_cluster_that_hangs_ends_at_the_deadline(
    cast: Cast, cluster: str, silent_server_port: int, settings: LazySettings
) -> None:
    store(cast.account, [line(JANUARY, 1)])
    settings.SPARK_REMOTE, settings.LAKE_DEADLINE_SECONDS = f"sc://127.0.0.1:{silent_server_port}", 2.0
    start = time.monotonic()
    with pytest.raises(engine.LakeTimeout, match="fewer days"):
        total(cast.account)
    assert time.monotonic() - start < 60  # what gRPC and its retries would take
    settings.SPARK_REMOTE = cluster
    settings.LAKE_DEADLINE_SECONDS = 120
    assert total(cast.account) == 1


def test_a_cluster_that_is_gone_is_said_so(cast: Cast, cluster: str, settings: LazySettings) -> None:
    store(cast.account, [line(JANUARY, 1)])
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    settings.SPARK_REMOTE = f"sc://127.0.0.1:{port}"
    with pytest.raises(engine.LakeUnavailable, match="cluster does not answer"):
        total(cast.account)


def test_accounts_have_sessions_of_their_own_and_few(
    cast: Cast, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.close()
    monkeypatch.setattr(spark, "MAX_SESSIONS", 1)
    for account, cost in ((cast.account, 1), (cast.other_account, 2), (cast.account, 1)):
        store(account, [line(JANUARY, cost)])
        assert total(account) == cost
    sessions = spark._cluster().sessions
    assert list(sessions) == [cast.account.pk]
    assert sessions[cast.account.pk].client._user_id == f"account-{cast.account.pk}"


@pytest.mark.usefixtures("cluster")
def test_no_view_is_left(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    total(cast.account)
    session = spark._cluster().sessions[cast.account.pk]
    assert session.catalog.listTables() == []


def test_paths_are_those_of_the_lake(settings: LazySettings, tmp_path: Path) -> None:
    settings.LAKE_URL = str(tmp_path)
    assert spark._url("1/cost/a b.parquet") == f"file://{tmp_path}/1/cost/a%20b.parquet"
    settings.LAKE_URL = "s3://lake/prod"
    assert spark._url("1/x.parquet") == "s3://lake/prod/1/x.parquet"
    settings.SPARK_LAKE_URL = "s3a://lake/prod/"
    assert spark._url("1/x.parquet") == "s3a://lake/prod/1/x.parquet"
