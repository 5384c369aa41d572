"""Google's usage cost exports in BigQuery as a cost source: nested tables, credits, months of invoices, late lines."""

from __future__ import annotations

import ast
import csv
import random
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from accounts.scoping import account_scope
from finops.connections.connector import Fetch
from finops.connections.connectors import connector_of
from tests.cast import Cast
from tests.factories.imports import cost_by
from tests.finops.connections.databases.vendors import Vendor, bigquery_vendor
from tests.finops.connections.replay_server import ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, sync_now

SAMPLES = Path(__file__).parents[3] / "data" / "native" / "google"
TABLE = "shop.billing.gcp_billing_export_resource_v1_0A1B2C"

_TEXT, _FLOAT, _MOMENT = pa.string(), pa.float64(), pa.timestamp("us", tz="UTC")
_PAIRS = pa.list_(pa.struct({"key": _TEXT, "value": _TEXT}))
_CREDITS = pa.list_(
    pa.struct({"name": _TEXT, "amount": _FLOAT, "full_name": _TEXT, "id": _TEXT, "type": _TEXT})
)
SCHEMA = pa.schema(
    {
        "billing_account_id": _TEXT,
        "service": pa.struct({"id": _TEXT, "description": _TEXT}),
        "sku": pa.struct({"id": _TEXT, "description": _TEXT}),
        "usage_start_time": _MOMENT,
        "usage_end_time": _MOMENT,
        "project": pa.struct({"id": _TEXT, "name": _TEXT, "labels": _PAIRS, "ancestry_numbers": _TEXT}),
        "labels": _PAIRS,
        "system_labels": _PAIRS,
        "location": pa.struct({"location": _TEXT, "country": _TEXT, "region": _TEXT, "zone": _TEXT}),
        "export_time": _MOMENT,
        "cost": _FLOAT,
        "currency": _TEXT,
        "currency_conversion_rate": _FLOAT,
        "usage": pa.struct(
            {"amount": _FLOAT, "unit": _TEXT, "amount_in_pricing_units": _FLOAT, "pricing_unit": _TEXT}
        ),
        "credits": _CREDITS,
        "invoice": pa.struct({"month": _TEXT}),
        "cost_type": _TEXT,
        "resource": pa.struct({"name": _TEXT, "global_name": _TEXT}),
        "_PARTITIONTIME": _MOMENT,
    }
)
Lines = list[dict[str, Any]]


def sample_lines(kind: str) -> Lines:
    """The lines of a sample file as BigQuery has them, in records."""
    with (SAMPLES / f"{kind}.csv").open(newline="") as file:
        return [_record(line) for line in csv.DictReader(file)]


def _record(line: dict[str, str]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, text in line.items():
        first, _, subfield = name.partition(".")
        type_ = SCHEMA.field(first).type if first in SCHEMA.names else None
        if type_ is None:
            continue
        if subfield:
            record.setdefault(first, {})[subfield] = _value(text, type_.field(subfield).type)
        else:
            record[first] = _value(text, type_)
    return record


def _value(text: str, type_: pa.DataType) -> Any:
    if pa.types.is_list(type_):
        return ast.literal_eval(text or "[]")
    if not text:
        return None
    if pa.types.is_floating(type_):
        return float(text)
    return datetime.fromisoformat(text) if pa.types.is_timestamp(type_) else text


def line(month: str = "202605", **values: Any) -> dict[str, Any]:
    start = datetime(int(month[:4]), int(month[4:]), 9, 8, tzinfo=UTC)
    return {
        "billing_account_id": "0A1B2C",
        "service": {"id": "6F81", "description": "Compute Engine"},
        "sku": {"id": "6B8F", "description": "N1 core"},
        "usage_start_time": start,
        "usage_end_time": start + timedelta(hours=1),
        "project": {"id": "shop-1", "name": "Shop", "labels": [{"key": "team", "value": "core"}]},
        "labels": [{"key": "env", "value": "prod"}],
        "system_labels": [],
        "location": {"location": "us-central1", "region": "us-central1"},
        "export_time": start + timedelta(days=1),
        "cost": 1.0,
        "currency": "EUR",
        "usage": {"amount": 3600.0, "unit": "seconds"},
        "credits": [],
        "invoice": {"month": month},
        "cost_type": "regular",
        "resource": {"name": "i-1", "global_name": "//compute.googleapis.com/projects/1/zones/z/instance/7"},
        "_PARTITIONTIME": start + timedelta(days=1),
        **values,
    }


def many_lines(count: int = 400) -> Lines:
    """Of three months, three services, two currencies, with none to three credits each."""
    chance = random.Random(16)

    def credit() -> dict[str, Any]:
        kind = chance.choice(
            ["SUSTAINED_USAGE_DISCOUNT", "COMMITTED_USAGE_DISCOUNT", "PROMOTION", "FREE_TIER"]
        )
        return {
            "name": kind.title(),
            "amount": -round(chance.random() / chance.choice([1, 1e3, 1e7]), 15),
            "type": kind,
        }

    return [
        line(
            chance.choice(["202604", "202605", "202606"]),
            service={
                "id": "s",
                "description": chance.choice(["Compute Engine", "Cloud Storage", "BigQuery"]),
            },
            project={"id": chance.choice(["shop-1", "shop-2"]), "labels": []},
            cost=round(chance.random() * chance.choice([1e-6, 1, 1e4]), 15),
            cost_type=chance.choice(["regular", "regular", "tax", "adjustment"]),
            currency=chance.choice(["EUR", "USD"]),
            credits=[credit() for _ in range(chance.randrange(4))],
        )
        for _ in range(count)
    ]


@pytest.fixture
def vendor(server: ReplayServer) -> Vendor:
    return bigquery_vendor(server, {TABLE: "billing_export"}, TABLE, page_rows=50)


def load(vendor: Vendor, lines: Lines, without: Iterable[str] = ()) -> None:
    """Adds lines; the first ones make the table."""
    table = pa.Table.from_pylist(lines, SCHEMA).drop_columns(list(without))
    database = vendor.warehouse.database
    database.register("more", table)
    database.execute("CREATE TABLE IF NOT EXISTS billing_export AS SELECT * FROM more LIMIT 0")
    database.execute("INSERT INTO billing_export SELECT * FROM more")


def net(each: dict[str, Any]) -> Decimal:
    """Cost and credits, from the digits that Google's API sends."""
    return sum((Decimal(repr(credit["amount"])) for credit in each["credits"]), Decimal(repr(each["cost"])))


def sums(lines: Lines, *path: str) -> dict[str, tuple[Decimal, Decimal]]:
    totals: dict[str, Decimal] = defaultdict(Decimal)
    for each in lines:
        value: Any = each
        for name in path:
            value = value[name]
        totals[value or ""] += net(each)
    return {key: (amount, amount) for key, amount in totals.items()}


CATEGORIES = {"regular": "Usage", "tax": "Tax", "adjustment": "Adjustment"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["standard", "detailed", "many"])
def test_sums_with_credits_are_those_of_the_table(cast: Cast, vendor: Vendor, kind: str) -> None:
    lines = many_lines() if kind == "many" else sample_lines(kind)
    load(vendor, lines, without=["resource"] if kind == "standard" else [])

    with account_scope(cast.account):
        sync = sync_now(vendor.connect(cast))

    assert (sync.status, sync.error, sync.rows) == ("done", "", len(lines))
    account = cast.account
    assert {key or "": each for key, each in cost_by(account, "service").items()} == sums(
        lines, "service", "description"
    )
    assert {key or "": each for key, each in cost_by(account, "account_id").items()} == sums(
        lines, "project", "id"
    )
    assert cost_by(account, "currency") == sums(lines, "currency")
    by_month = {f"{key[:4]}-{key[4:]}": each for key, each in sums(lines, "invoice", "month").items()}
    assert cost_by(account, "billing_period") == by_month
    expected = {CATEGORIES[key]: each for key, each in sums(lines, "cost_type").items()}
    assert cost_by(account, "charge_category") == expected


@pytest.mark.django_db(transaction=True)
def test_lines_that_arrive_late_bring_their_month_again(cast: Cast, vendor: Vendor) -> None:
    """A credit of April that Google exports in June, below the smallest digit that a sum in floating point would show."""
    lines = [line("202604", cost=1234567.25), line("202605", cost=2.5), line("202606", cost=3.0)]
    load(vendor, lines)
    connection = vendor.connect(cast)
    late = line(
        "202604",
        cost=0.0,
        credits=[{"name": "Promotion", "amount": -1e-12, "type": "PROMOTION"}],
        export_time=datetime(2026, 6, 20, tzinfo=UTC),
        _PARTITIONTIME=datetime(2026, 6, 20, tzinfo=UTC),
    )

    with account_scope(cast.account):
        sync_now(connection)
        unchanged = sync_now(connection)
        load(vendor, [late])
        changed = sync_now(connection)

    assert set(actions(unchanged).values()) == {"unchanged"}
    assert actions(changed) == {"2026-06": "unchanged", "2026-05": "unchanged", "2026-04": "imported"}
    assert cost_by(cast.account, "billing_period")["2026-04"] == (Decimal("1234567.249999999999"),) * 2


@pytest.mark.django_db(transaction=True)
def test_a_table_by_day_of_arrival_is_read_from_the_month_on(cast: Cast, vendor: Vendor) -> None:
    vendor.warehouse.partitions = {TABLE: {"type": "DAY"}}
    just_arrived = line("202605", cost=4.0, _PARTITIONTIME=None)
    load(vendor, [line("202604"), line("202605", cost=2.5), just_arrived])

    with account_scope(cast.account):
        sync = sync_now(vendor.connect(cast))

    assert sync.error == ""
    assert cost_by(cast.account, "billing_period") == {
        "2026-04": (Decimal(1),) * 2,
        "2026-05": (Decimal("6.5"),) * 2,
    }
    reads = [each for each in vendor.warehouse.statements if "invoice`.`month` = '202605'" in each]
    assert all("_PARTITIONTIME >= TIMESTAMP '2026-04-29 00:00:00+00'" in each for each in reads)
    assert reads


@pytest.mark.parametrize(
    "answer", [{"timePartitioning": {"type": "DAY", "field": "usage_start_time"}}, {}, None]
)
def test_other_tables_and_views_are_read_by_the_month_alone(
    vendor: Vendor, tmp_path: Path, answer: dict[str, Any] | None
) -> None:
    """The last: a service account that may read the table's lines and not its description."""
    project, dataset, table = TABLE.split(".")
    vendor.server.routes[f"/bigquery/v2/projects/{project}/datasets/{dataset}/tables/{table}"] = (
        lambda _request: (
            Reply.of_json({"error": {"message": "denied"}}, 403) if answer is None else Reply.of_json(answer)
        )
    )
    load(vendor, [line()])
    connector = connector_of("bigquery")
    config = connector.Config(**vendor.values)

    (month,) = connector.months(config)
    assert connector.fetch(config, month, Fetch(tmp_path))
    assert not any("_PARTITIONTIME" in each for each in vendor.warehouse.statements)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("without", "title"),
    [
        ([], "Read the columns of the Google Cloud billing export (detailed usage cost)"),
        (["resource"], "Read the columns of the Google Cloud billing export (standard usage cost)"),
    ],
)
def test_the_check_says_which_export_it_is(
    cast: Cast, vendor: Vendor, without: list[str], title: str
) -> None:
    load(vendor, [line()], without)

    findings = vendor.findings(cast)

    assert [(each.is_ok, each.fix) for each in findings[:3]] == [(True, "")] * 3
    assert findings[1].title == title


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("without", "words"),
    [
        (["invoice"], "lacks invoice.month"),
        (["currency", "invoice"], "lacks currency and invoice.month"),
        (["service"], "neither the FOCUS export (it lacks BilledCost) nor the standard or detailed"),
    ],
)
def test_the_check_names_the_missing_columns_of_an_export(
    cast: Cast, vendor: Vendor, without: list[str], words: str
) -> None:
    load(vendor, [line()], without)

    failed = [each for each in vendor.findings(cast) if not each.is_ok]

    assert [each.title for each in failed] == ["Read the columns"]
    assert words in failed[0].fix


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("month", "words"),
    [(None, "invoice.month is empty in 2 lines"), ("May 2026", "no month such as 202605: 'May 2026'")],
)
def test_lines_of_no_invoice_are_counted_and_not_left_out(
    cast: Cast, vendor: Vendor, month: str | None, words: str
) -> None:
    load(vendor, [line(), *[line(invoice={"month": month})] * 2])

    failed = [each for each in vendor.findings(cast) if not each.is_ok]

    assert [each.title for each in failed] == ["Find billing months"]
    assert words in failed[0].fix
