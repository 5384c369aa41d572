"""BigQuery, Snowflake and Databricks as cost sources: their statements run for real, their answers come in parts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from accounts.scoping import account_scope
from finops.connections.connector import CheckFinding, Fetch, SourceUnavailable
from finops.connections.connectors import connector_of, snowflake
from finops.connections.connectors.databricks import LIST_PRICE_LINES
from finops.connections.schemas import PeriodResult
from finops.costs.queries.spend import query_spend
from finops.costs.spend_query import SpendQuery
from tests.cast import Cast
from tests.finops.connections.databases.lines import ROWS
from tests.finops.connections.databases.vendors import (
    ACCOUNT,
    KEY,
    Vendor,
    bigquery_vendor,
    databricks_vendor,
    snowflake_vendor,
)
from tests.finops.connections.replay_server import ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, sync_now


@pytest.fixture(params=[bigquery_vendor, snowflake_vendor, databricks_vendor], ids=lambda make: make.__name__)
def vendor(request: pytest.FixtureRequest, server: ReplayServer) -> Vendor:
    make: Callable[[ReplayServer], Vendor] = request.param
    return make(server)


@pytest.mark.django_db(transaction=True)
def test_a_sync_brings_each_month_to_the_last_digit_and_skips_it_after(cast: Cast, vendor: Vendor) -> None:
    vendor.warehouse.add(ROWS)
    connection = vendor.connect(cast)

    with account_scope(cast.account):
        first, second = sync_now(connection), sync_now(connection)

        assert (first.status, first.error) == ("done", "")
        assert actions(first) == {"2026-07": "imported", "2026-06": "imported", "2026-05": "imported"}
        assert set(actions(second).values()) == {"unchanged"}
        # An aggregation a look, whatever the number of months.
        assert sum("GROUP BY" in each for each in vendor.warehouse.statements) == 2
        expected: dict[str, Decimal] = defaultdict(Decimal)
        for billed, *_others, service in ROWS:
            expected[service] += Decimal(billed)
        query = SpendQuery(
            start_date=date(2026, 5, 1), end_date=date(2026, 7, 31), group_by=["service"], basis="billed"
        )
        answer = query_spend(cast.account, query)
        assert {row.group["service"]: row.amount for row in answer.rows} == expected


@pytest.mark.django_db(transaction=True)
def test_lines_that_arrive_during_a_sync_are_there_after_the_next(cast: Cast, vendor: Vendor) -> None:
    vendor.warehouse.add(ROWS)
    arriving = [("2", "2", "2026-06-01T00:00:00Z", "2026-06-09T00:00:00Z", "Compute")]

    def arrive(statement: str) -> bool:
        """July is read: a line of June arrives."""
        if "GROUP BY" not in statement and "WHERE" in statement and "1 = 0" not in statement and arriving:
            vendor.warehouse.add([arriving.pop()])
        return False

    vendor.warehouse.refuse = arrive
    connection = vendor.connect(cast)
    query = SpendQuery(start_date=date(2026, 6, 1), end_date=date(2026, 6, 30), basis="billed")

    with account_scope(cast.account):
        sync_now(connection)
        second, third = sync_now(connection), sync_now(connection)

        assert actions(second) == {"2026-07": "unchanged", "2026-06": "imported", "2026-05": "unchanged"}
        assert set(actions(third).values()) == {"unchanged"}
        assert query_spend(cast.account, query).totals[0].amount == 102


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("type_", ["DATE", "VARCHAR"])
def test_billing_periods_may_be_days_or_texts(cast: Cast, vendor: Vendor, type_: str) -> None:
    vendor.warehouse.database.execute(f"ALTER TABLE lines ALTER BillingPeriodStart TYPE {type_}")
    vendor.warehouse.add([row for row in ROWS if not row[2] or "T00" in row[2]])
    connection = vendor.connect(cast)

    with account_scope(cast.account):
        sync = sync_now(connection)

    assert (sync.error, sync.rows) == ("", 4)
    assert actions(sync) == {"2026-06": "imported", "2026-05": "imported"}


@pytest.mark.django_db(transaction=True)
def test_a_month_that_a_warehouse_refuses_fails_with_its_words(cast: Cast, vendor: Vendor) -> None:
    vendor.warehouse.add(ROWS)
    connection = vendor.connect(cast)
    vendor.warehouse.refuse = lambda statement: "WHERE" in statement and "1 = 0" not in statement

    with account_scope(cast.account):
        sync = sync_now(connection)

    assert set(actions(sync).values()) == {"failed"}
    assert sync.error.startswith("2026-07: ")
    assert "not today" in sync.error


@pytest.mark.django_db
def test_the_check_tries_a_query_the_columns_and_the_months(cast: Cast, vendor: Vendor) -> None:
    vendor.warehouse.add(ROWS)

    assert [(each.is_ok, each.fix) for each in vendor.findings(cast)[:3]] == [(True, "")] * 3


@pytest.mark.django_db
def test_lines_without_a_billing_period_are_counted_and_not_left_out(cast: Cast, vendor: Vendor) -> None:
    vendor.warehouse.add([*ROWS, ("5", "5", None, "2026-05-03T00:00:00Z", "Storage")])

    failed = [each for each in vendor.findings(cast) if not each.is_ok]

    assert [each.title for each in failed] == ["Find billing months"]
    assert "BillingPeriodStart is empty in 1 rows" in failed[0].fix


@pytest.mark.django_db
def test_rows_that_a_warehouse_does_not_give_fail_the_query(cast: Cast, vendor: Vendor) -> None:
    vendor.warehouse.add(ROWS)
    vendor.warehouse.extra_rows = 1

    assert "The database returned" in next(each.fix for each in vendor.findings(cast) if not each.is_ok)


@pytest.mark.django_db(transaction=True)
def test_a_token_that_expires_within_a_sync_is_renewed(
    cast: Cast, vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snowflake's are made here, of the time of day."""
    vendor.warehouse.add(ROWS)
    vendor.warehouse.tokens.lifetime = 3
    monkeypatch.setattr(
        "finops.connections.connectors.snowflake._token", lambda _config: vendor.warehouse.tokens.issue()
    )
    connection = vendor.connect(cast)

    with account_scope(cast.account):
        sync = sync_now(connection)

    assert (sync.status, sync.error, sync.rows) == ("done", "", len(ROWS))
    assert vendor.warehouse.tokens.issued > 7


@pytest.mark.django_db
def test_a_token_that_was_never_accepted_is_not_renewed(cast: Cast, vendor: Vendor) -> None:
    vendor.warehouse.tokens.lifetime = 0

    failed = vendor.findings(cast)

    assert [each.is_ok for each in failed] == [False]
    assert failed[0].fix.startswith("The credential has expired.")
    assert vendor.warehouse.tokens.issued <= 1


@pytest.mark.parametrize(
    ("reason", "message", "words"),
    [
        ("resourcesExceeded", "Resources exceeded during query execution.", "a view without sorting"),
        ("bytesBilledLimitExceeded", "Query exceeded limit for bytes billed.", "more than 2 TiB"),
        ("quotaExceeded", "Quota exceeded: too many concurrent queries.", "The next sync tries again"),
        (
            "notFound",
            "Not found: Dataset shop:billing was not found in location US",
            "not in this location",
        ),
        ("billingNotEnabled", "Billing has not been enabled.", "Billing is off"),
        ("stopped", "Job execution was cancelled.", "was canceled in BigQuery"),
        ("brandNew", "Something else.", "The query failed"),
    ],
)
@pytest.mark.parametrize("as_job", [True, False], ids=["job", "request"])
def test_a_job_of_bigquery_that_failed_says_why_and_what_to_do(
    cast: Cast, server: ReplayServer, reason: str, message: str, words: str, as_job: bool
) -> None:
    vendor = bigquery_vendor(server)
    error = {"reason": reason, "message": message}
    failed_job = {
        "jobComplete": True,
        "jobReference": {"jobId": "job_9", "location": "EU"},
        "status": {"state": "DONE", "errorResult": error},
        "errors": [error],
    }
    refusal = {"error": {"code": 400, "message": message, "errors": [error]}}
    reply = Reply.of_json(failed_job) if as_job else Reply.of_json(refusal, 400)
    server.routes["/bigquery/v2/projects/shop/queries"] = lambda _request: reply

    failed = vendor.findings(cast)

    assert [each.is_ok for each in failed] == [False]
    assert failed[0].fix.endswith(f"{message}")
    if as_job or reason != "brandNew":
        assert words in failed[0].fix


def test_a_quota_of_bigquery_is_no_missing_permission(server: ReplayServer) -> None:
    vendor = bigquery_vendor(server)
    connector = connector_of("bigquery")
    error = {"reason": "rateLimitExceeded", "message": "Too many."}
    refusal = Reply.of_json({"error": {"message": "Too many.", "errors": [error]}}, 403)
    server.routes["/bigquery/v2/projects/shop/queries"] = lambda _request: refusal

    with pytest.raises(SourceUnavailable, match="is rate limiting requests"):
        connector.months(connector.Config(**vendor.values))


def test_a_job_of_bigquery_that_never_ends_is_left(
    server: ReplayServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendor = bigquery_vendor(server)
    connector = connector_of("bigquery")
    monkeypatch.setattr("finops.connections.vendor_apis.bigquery.JOB_SECONDS", -1)
    vendor.warehouse.add(ROWS)

    with pytest.raises(SourceUnavailable, match="took longer"):
        connector.months(connector.Config(**vendor.values))


def test_a_month_of_snowflake_is_that_in_utc_whatever_the_zone_of_its_times(
    server: ReplayServer, tmp_path: Path
) -> None:
    """TIMESTAMP_TZ keeps a zone; the test's database gives one to all times."""
    vendor = snowflake_vendor(server)
    vendor.warehouse.database.execute("SET TimeZone = 'Asia/Tokyo'")
    vendor.warehouse.database.execute("ALTER TABLE lines ALTER BillingPeriodStart TYPE TIMESTAMPTZ")
    # Noon in Tokyo on the last day of June: 14 hours later it is July there, and June in UTC.
    vendor.warehouse.add([("1", "1", "2026-06-30T12:00:00+09:00", "2026-06-30T12:00:00", "Storage")])
    connector = connector_of("snowflake")
    config = connector.Config(**vendor.values)

    (june,) = connector.months(config)
    (file,) = connector.fetch(config, june, Fetch(tmp_path))

    assert june.month == date(2026, 6, 1)
    assert pq.read_table(file.path)["BillingPeriodStart"].to_pylist() == ["2026-06-30T03:00:00+00:00"]


@pytest.mark.django_db
def test_a_credential_without_the_permission_says_which_one_is_missing(cast: Cast, vendor: Vendor) -> None:
    refusal = Reply.of_json({"error": {"message": "denied"}}, 403)
    vendor.server.faults = [refusal]

    failed = vendor.findings(cast)

    assert not failed[0].is_ok
    assert "permission" in failed[0].fix
    assert KEY.splitlines()[1] not in failed[0].fix


@pytest.mark.django_db
def test_a_relation_without_focus_columns_is_named(cast: Cast, vendor: Vendor) -> None:
    vendor.warehouse.database.execute("ALTER TABLE lines DROP COLUMN EffectiveCost")

    failed = [each for each in vendor.findings(cast) if not each.is_ok]

    assert [each.title for each in failed] == ["Read the columns"]
    assert failed[0].fix.startswith("There is no EffectiveCost. Name the columns")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("RENAME ServiceName TO service_title", "no ServiceName (it may be service_title now)"),
        ("ALTER BilledCost TYPE BOOLEAN USING true", "BilledCost is "),
        ("ALTER BilledCost TYPE DATE USING DATE '2026-05-01'", ", not a number"),
        ("ALTER BillingPeriodStart TYPE INTEGER USING 202605", ", not a time"),
        ("ALTER ChargePeriodStart TYPE DECIMAL USING 1", "ChargePeriodStart is "),
    ],
)
def test_a_change_of_the_view_names_its_columns(cast: Cast, vendor: Vendor, change: str, words: str) -> None:
    vendor.warehouse.add(ROWS)
    vendor.warehouse.database.execute(f"ALTER TABLE lines {change}")

    failed = [each for each in vendor.findings(cast) if not each.is_ok]

    assert [each.title for each in failed] == ["Read the columns"]
    assert words in failed[0].fix


@pytest.mark.django_db
def test_columns_that_are_not_read_are_named(cast: Cast, vendor: Vendor) -> None:
    vendor.warehouse.add(ROWS)
    for name in ("servce_category", "Remark", "x_Shop"):
        vendor.warehouse.database.execute(f"ALTER TABLE lines ADD COLUMN {name} VARCHAR")

    findings = vendor.findings(cast)

    assert [(each.is_ok, each.fix) for each in findings[:3]] == [(True, "")] * 3
    assert findings[1].title == (
        "Read the FOCUS columns. Not read, since FOCUS has none of these: servce_category (ServiceCategory?) and Remark"
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text",
    [
        "no JSON at all, however long it may be that somebody enters",
        json.dumps({**ACCOUNT, "private_key": "x"}),
    ],
)
def test_an_invalid_service_account_key_is_reported_at_its_field(
    cast: Cast, server: ReplayServer, text: str
) -> None:
    failed = bigquery_vendor(server).findings(cast, key=text)

    assert not failed[0].is_ok
    assert "Paste the " in failed[0].fix


DATABRICKS_TABLES = """
CREATE TABLE usage (
    account_id VARCHAR, workspace_id VARCHAR, sku_name VARCHAR, cloud VARCHAR, usage_start_time TIMESTAMP,
    usage_end_time TIMESTAMP, usage_date DATE, custom_tags JSON, usage_unit VARCHAR, usage_quantity DECIMAL(38, 18),
    usage_type VARCHAR, billing_origin_product VARCHAR, record_type VARCHAR);
CREATE TABLE list_prices (
    sku_name VARCHAR, cloud VARCHAR, currency_code VARCHAR, usage_unit VARCHAR, price_start_time TIMESTAMP,
    price_end_time TIMESTAMP, pricing STRUCT(effective_list STRUCT("default" DECIMAL(10, 4))));
INSERT INTO list_prices VALUES
    ('JOBS', 'AWS', 'USD', 'DBU', '2026-01-01', '2026-05-15', {'effective_list': {'default': 0.15}}),
    ('JOBS', 'AWS', 'USD', 'DBU', '2026-05-15', NULL, {'effective_list': {'default': 0.20}});
INSERT INTO list_prices VALUES
    ('JOBS', 'AWS', 'EUR', 'DBU', '2026-01-01', NULL, {'effective_list': {'default': 0.13}});
INSERT INTO usage VALUES
    ('a', 'w', 'PREVIEW', 'AWS', '2026-05-15 00:00', '2026-05-15 01:00', '2026-05-15', NULL, 'DBU', 7,
     'COMPUTE_TIME', 'PREVIEW', 'ORIGINAL'),
    ('a', 'w', 'JOBS', 'AWS', '2026-05-14 23:00', '2026-05-15 00:00', '2026-05-14', '{"team":"core"}', 'DBU', 10,
     'COMPUTE_TIME', 'JOBS', 'ORIGINAL'),
    ('a', 'w', 'JOBS', 'AWS', '2026-05-15 00:00', '2026-05-15 01:00', '2026-05-15', NULL, 'DBU', 10,
     'COMPUTE_TIME', 'JOBS', 'ORIGINAL'),
    ('a', 'w', 'JOBS', 'AWS', '2026-05-15 00:00', '2026-05-15 01:00', '2026-05-15', NULL, 'DBU', -10,
     'COMPUTE_TIME', 'JOBS', 'RETRACTION');
"""


def _databricks_usage(server: ReplayServer) -> Vendor:
    vendor = databricks_vendor(server)
    vendor.warehouse.tables = {"system.billing.usage": "usage", "system.billing.list_prices": "list_prices"}
    vendor.warehouse.database.execute(DATABRICKS_TABLES)
    return vendor


@pytest.mark.django_db(transaction=True)
def test_usage_of_databricks_costs_the_list_price_of_its_hour(cast: Cast, server: ReplayServer) -> None:
    vendor = _databricks_usage(server)
    connection = vendor.connect(cast, view="")

    with account_scope(cast.account):
        sync = sync_now(connection)

        assert (sync.status, sync.error) == ("done", "")
        query = SpendQuery(start_date=date(2026, 5, 1), end_date=date(2026, 5, 31), basis="billed")
        amounts = [(total.amount, total.currency) for total in query_spend(cast.account, query).totals]
        # 10 at 0.15 before the price changed; 10 at 0.20 that were taken back; the prices in euros are another bill's.
        assert amounts == [(Decimal("1.5"), "USD")]
        # The usage without a price is there, at 0.
        assert sync.rows == 4
        by_service = query_spend(cast.account, msgspec.structs.replace(query, group_by=["service"]))
        assert {row.group["service"]: row.amount for row in by_service.rows} == {"JOBS": 1.5, "PREVIEW": 0}

    assert [each.note for each in msgspec.convert(sync.periods, list[PeriodResult])] == [
        "1 lines have no list price in USD and cost 0: PREVIEW."
    ]


@pytest.mark.parametrize(
    ("currency", "prices", "finding"),
    [
        (
            "USD",
            "",
            CheckFinding("Find list prices in USD: 1 lines have none and cost 0, such as PREVIEW", True),
        ),
        (
            "USD",
            "DELETE FROM usage WHERE sku_name = 'PREVIEW'",
            CheckFinding("Find list prices in USD", True),
        ),
        (
            "CHF",
            "",
            CheckFinding(
                "Find list prices in CHF",
                False,
                "The price list only has EUR and USD. Choose it in this connection.",
            ),
        ),
    ],
)
def test_the_check_of_databricks_counts_usage_without_a_price(
    cast: Cast, server: ReplayServer, currency: str, prices: str, finding: CheckFinding
) -> None:
    vendor = _databricks_usage(server)
    vendor.warehouse.database.execute(prices or "SELECT 1")

    assert vendor.findings(cast, view="", currency=currency)[-1] == finding


def test_usage_without_a_list_price_says_so(server: ReplayServer) -> None:
    vendor = _databricks_usage(server)
    schema, rows = vendor.warehouse.run(f"SELECT * FROM {LIST_PRICE_LINES.format(currency='USD')}")
    lines = [dict(zip(schema.names, row, strict=True)) for row in rows]

    assert {(line["SkuId"], line["ChargeDescription"]) for line in lines} == {
        ("JOBS", "At list price; discounts are on the invoice"),
        ("PREVIEW", "No list price in USD: cost unknown, 0 here"),
    }
    assert [(line["BilledCost"], line["ListCost"]) for line in lines if line["SkuId"] == "PREVIEW"] == [
        (0, None)
    ]


def test_times_of_snowflake_are_read_whatever_their_zone() -> None:
    assert snowflake._moment("1616173619.123456789 1500") == "2021-03-19T17:06:59.123456+00:00"
    assert snowflake._day("18262") == "2020-01-01"
