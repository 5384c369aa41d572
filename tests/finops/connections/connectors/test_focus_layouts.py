"""FOCUS as other programs lay it out in a bucket: their paths, their columns in their types, and what counts of them.

Sources: LiteLLM, integrations/focus (S3 and GCS destinations, transformer); OVHcloud, "Exporting billing data to a bucket" (lastUpdated
2026-08-28); IBM Cloud, "Exporting usage data in FOCUS format" (lastupdated 2026-09-14), whose columns are these; Tencent Cloud, "Store bills in COS buckets"; Google,
"Export statements in GoogleSQL", EXPORT DATA with a wildcard; Apache Spark's writer, with which Databricks jobs write.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.models import CostConnection
from finops.connections.pattern_files import PATTERNS
from finops.lake.schema import tag_column
from tests.cast import Cast
from tests.factories.imports import cost_by, total
from tests.finops.connections.conftest import S3TestBucket
from tests.finops.connections.gcs_emulator import GcsTestBucket, key_file
from tests.finops.connections.syncs.sync_steps import actions, month_rows, sync_now
from tests.s3 import KEY, REGION

pytestmark = pytest.mark.django_db

MAY = datetime(2026, 5, 1, tzinfo=UTC)
JUNE = datetime(2026, 6, 1, tzinfo=UTC)
PART = "part-00000-7d1b6f3e-1d1b-4c0e-9c55-3c3f0d1f2a11-c000.snappy.parquet"


def connect_s3(cast: Cast, s3: S3TestBucket, pattern: str) -> CostConnection:
    keys = {"access_key_id": KEY, "secret_access_key": KEY, "endpoint": s3.endpoint, "region": REGION}
    values = {"bucket": s3.name, "prefix": "focus", "pattern": pattern, **keys}
    return connect(cast, "bucket_focus", values)


def connect_gcs(cast: Cast, gcs: GcsTestBucket, pattern: str) -> CostConnection:
    values = {"bucket": gcs.name, "prefix": "focus", "pattern": pattern, "key": key_file()}
    return connect(cast, "google_bucket", values)


def connect(cast: Cast, connector: str, values: Mapping[str, object]) -> CostConnection:
    return services.create_connection(
        account=cast.account, actor=cast.actor, name="Bills", connector=connector, values=values
    )


def parquet(lines: Sequence[Mapping[str, Any]], types: Mapping[str, pa.DataType]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(lines), pa.schema(list(types.items()))), sink)
    return sink.getvalue()


LITELLM_AMOUNTS = (
    *("BilledCost", "ConsumedQuantity", "ContractedCost", "EffectiveCost", "ListCost", "ListUnitPrice"),
    *("PricingQuantity", "PricingCurrencyContractedUnitPrice", "PricingCurrencyEffectiveCost"),
)
LITELLM_TEXTS = (
    *("BillingAccountId", "BillingAccountName", "BillingAccountType", "BillingCurrency", "BillingPeriodEnd"),
    *("BillingPeriodStart", "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency"),
    *("ChargePeriodEnd", "ChargePeriodStart", "ConsumedUnit", "ContractedUnitPrice", "InvoiceIssuerName"),
    *("InvoiceId", "AvailabilityZone", "PricingCurrency", "PricingCategory", "PricingUnit", "ProviderName"),
    *("PublisherName", "RegionId", "RegionName", "ResourceId", "ResourceName", "ResourceType"),
    *("ServiceCategory", "ServiceSubcategory", "ServiceName", "SubAccountId", "SubAccountName"),
    *("SubAccountType", "Tags"),
)


def litellm(day: int, *spend: str) -> bytes:
    """A day of two teams. The billing period is the day, and times are texts."""
    types = {
        **dict.fromkeys(LITELLM_AMOUNTS, pa.decimal128(18, 6)),
        **dict.fromkeys(LITELLM_TEXTS, pa.string()),
    }
    start, end = f"2026-05-{day:02}T00:00:00Z", f"2026-05-{day + 1:02}T00:00:00Z"
    lines = [
        {
            **dict.fromkeys(("BilledCost", "ContractedCost", "EffectiveCost", "ListCost"), Decimal(cost)),
            **dict.fromkeys(("BillingPeriodStart", "ChargePeriodStart"), start),
            **dict.fromkeys(("BillingPeriodEnd", "ChargePeriodEnd"), end),
            **dict.fromkeys(("ProviderName", "PublisherName", "InvoiceIssuerName"), "anthropic"),
            **dict.fromkeys(("ResourceId", "ResourceName", "ResourceType", "ChargeDescription"), "claude"),
            "BillingAccountId": "sk-hash",
            "BillingAccountType": "API Key",
            "BillingCurrency": "USD",
            "ChargeCategory": "Usage",
            "ChargeFrequency": "Usage-Based",
            "ServiceCategory": "AI and Machine Learning",
            "ServiceSubcategory": "Generative AI",
            "ServiceName": "chat",
            "SubAccountId": f"team-{place}",
            "Tags": '{"team_id": "team", "user_email": "a@example.com"}',
        }
        for place, cost in enumerate(spend)
    ]
    return parquet(lines, types)


def check_litellm(cast: Cast, row: CostConnection) -> None:
    with account_scope(cast.account):
        sync = sync_now(row)

        assert (sync.error, actions(sync)) == ("", {"2026-05": "imported"})
        assert cost_by(cast.account, "account_id") == {
            "team-0": (Decimal("1.000003"), Decimal("1.000003")),
            "team-1": (Decimal("0.25"), Decimal("0.25")),
        }
        assert set(cost_by(cast.account, tag_column("user_email"), ("user_email",))) == {"a@example.com"}


def test_litellm_in_s3_every_hour(cast: Cast, s3: S3TestBucket) -> None:
    s3.put("focus/date=2026-05-03/hour=07/usage-1.parquet", litellm(3, "0.000003", "0.25"))
    s3.put("focus/date=2026-05-30/hour=23/usage-2.parquet", litellm(30, "1"))

    check_litellm(cast, connect_s3(cast, s3, pattern_of("LiteLLM")))


def test_litellm_in_google_cloud_storage_every_day(cast: Cast, gcs: GcsTestBucket) -> None:
    gcs.put("focus/date=2026-05-03/usage-1.parquet", litellm(3, "0.000003", "0.25"))
    gcs.put("focus/date=2026-05-30/usage-2.parquet", litellm(30, "1"))

    check_litellm(cast, connect_gcs(cast, gcs, "date={yyyymm}-??/*.parquet"))


def test_tencents_monthly_files_count_and_daily_files_that_repeat_them_do_not(
    cast: Cast, s3: S3TestBucket
) -> None:
    for day, costs in ((2, ["1"]), (3, ["1", "2"]), (31, ["1", "2", "4"])):
        s3.put(f"focus/FOCUS-bill_details-200020002001-202605{day:02}.CSV", month_rows("2026-05", *costs))
    s3.put("focus/FOCUS-bill_details-200020002001-202605.CSV", month_rows("2026-05", "1", "2", "4", "8"))
    s3.put("focus/FOCUS-bill_details-200020002001-202606.CSV", month_rows("2026-06", "0.5"))
    row = connect_s3(cast, s3, pattern_of("Tencent Cloud: closed months"))
    with account_scope(cast.account):
        assert actions(sync_now(row)) == {"2026-06": "imported", "2026-05": "imported"}
        assert total(cast.account) == Decimal("15.5")


def pattern_of(layout: str) -> str:
    """Of the layout that the wizard offers by this label."""
    return {label: pattern for pattern, label in PATTERNS}[layout]


def put_ovh(s3: S3TestBucket, path: str, *costs: str) -> None:
    """Each run exports the month up to its time."""
    s3.put(f"focus/{path}/focus.csv", month_rows("-".join(path.split("/")[1:3]), *costs))


def test_the_newest_of_ovhclouds_daily_files_of_each_account_counts(cast: Cast, s3: S3TestBucket) -> None:
    put_ovh(s3, "ab123-ovh/2026/05/14", "1")
    put_ovh(s3, "ab123-ovh/2026/05/15", "1", "2")
    put_ovh(s3, "cd456-ovh/2026/05/14", "100")
    put_ovh(s3, "ab123-ovh/2026/06/01", "0.5")
    row = connect_s3(cast, s3, pattern_of("OVHcloud: one file a day"))
    with account_scope(cast.account):
        sync = sync_now(row)

        assert (sync.error, actions(sync)) == ("", {"2026-06": "imported", "2026-05": "imported"})
        assert total(cast.account) == Decimal("103.5")

        put_ovh(s3, "cd456-ovh/2026/05/15", "100", "7")
        assert actions(sync_now(row)) == {"2026-06": "unchanged", "2026-05": "imported"}
        assert total(cast.account) == Decimal("110.5")


def test_the_newest_hour_of_ovhclouds_hourly_files_counts(cast: Cast, s3: S3TestBucket) -> None:
    put_ovh(s3, "ab123-ovh/2026/05/14/23", "1")
    put_ovh(s3, "ab123-ovh/2026/05/15/09", "1", "2")
    put_ovh(s3, "ab123-ovh/2026/05/15/10", "1", "2", "4")
    row = connect_s3(cast, s3, pattern_of("OVHcloud: one file an hour"))
    with account_scope(cast.account):
        assert actions(sync_now(row)) == {"2026-05": "imported"}
        assert total(cast.account) == Decimal(7)


def test_ovhclouds_file_of_a_month_that_is_replaced(cast: Cast, s3: S3TestBucket) -> None:
    put_ovh(s3, "ab123-ovh/2026/05", "1")
    put_ovh(s3, "cd456-ovh/2026/05", "100")
    row = connect_s3(cast, s3, pattern_of("OVHcloud: one file a month"))
    with account_scope(cast.account):
        assert actions(sync_now(row)) == {"2026-05": "imported"}
        put_ovh(s3, "ab123-ovh/2026/05", "1", "2")
        assert actions(sync_now(row)) == {"2026-05": "imported"}
        assert total(cast.account) == Decimal(103)


IBM_COLUMNS = (
    *("BilledCost", "BillingAccountId", "BillingAccountName", "BillingAccountType", "BillingCurrency"),
    *("BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory", "ChargeClass", "ChargeDescription"),
    *("ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart", "ConsumedQuantity", "ConsumedUnit"),
    *("ContractedCost", "ContractedUnitPrice", "EffectiveCost", "InvoiceIssuerName", "ListCost"),
    *("ListUnitPrice", "PricingCategory", "PricingCurrency", "PricingQuantity", "PricingUnit"),
    *("ProviderName", "PublisherName", "RegionId", "RegionName", "ResourceId", "ResourceName"),
    *("ResourceType", "ServiceCategory", "ServiceName", "ServiceSubcategory", "SkuId", "SkuMeter"),
    *("Tags", "x_DiscountId", "x_DiscountName", "x_DiscountQuantity", "x_OfferId", "x_OfferCredit"),
)


def ibm_report(month: str, *costs: str) -> bytes:
    file = io.StringIO()
    lines = csv.DictWriter(file, IBM_COLUMNS, restval="")
    lines.writeheader()
    for cost in costs:
        start = f"{month}-01T00:00:00Z"
        lines.writerow(
            {
                **dict.fromkeys(("BilledCost", "EffectiveCost", "ContractedCost", "ListCost"), cost),
                **dict.fromkeys(("BillingPeriodStart", "ChargePeriodStart"), start),
                **dict.fromkeys(("ProviderName", "PublisherName", "InvoiceIssuerName"), "IBM"),
                "BillingPeriodEnd": "2026-07-01T00:00:00Z",
                "ChargePeriodEnd": "2026-07-01T00:00:00Z",
                "BillingCurrency": "USD",
                "ChargeCategory": "Usage",
                "ServiceCategory": "Storage",
                "ServiceName": "Cloud Object Storage",
                "ResourceId": "crn:v1:bluemix:public:cloud-object-storage:global:a/1:2::",
                "x_OfferCredit": "0.5",
            }
        )
    return file.getvalue().encode()


def test_focus_reports_of_ibm_cloud_as_the_wizard_has_them_saved(cast: Cast, s3: S3TestBucket) -> None:
    s3.put("focus/ibm-focus-2026-05.csv", ibm_report("2026-05", "1.25", "2"))
    s3.put("focus/ibm-focus-2026-06.csv", ibm_report("2026-06", "4"))
    row = connect_s3(cast, s3, pattern_of("IBM Cloud: FOCUS reports by month"))
    with account_scope(cast.account):
        sync = sync_now(row)

        assert (sync.error, actions(sync)) == ("", {"2026-06": "imported", "2026-05": "imported"})
        assert cost_by(cast.account, "provider") == {"IBM": (Decimal("7.25"), Decimal("7.25"))}


BIGQUERY_TYPES = {
    **dict.fromkeys(("BilledCost", "EffectiveCost", "ListCost", "ContractedCost"), pa.decimal128(38, 9)),
    **dict.fromkeys(
        ("BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd"),
        pa.timestamp("us", tz="UTC"),
    ),
    **dict.fromkeys(
        ("BillingCurrency", "ChargeCategory", "ProviderName", "ServiceName", "SubAccountId"), pa.string()
    ),
    "Tags": pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())])),
    "x_Credits": pa.list_(pa.struct([("Id", pa.string()), ("Amount", pa.float64())])),
}
"""NUMERIC, TIMESTAMP, STRING and REPEATED RECORD as BigQuery writes them to Parquet."""


def focus_line(cost: str, month: datetime = MAY, **other: Any) -> dict[str, Any]:
    end = JUNE if month == MAY else datetime(2026, 7, 1, tzinfo=UTC)
    return {
        **dict.fromkeys(("BilledCost", "EffectiveCost", "ListCost", "ContractedCost"), Decimal(cost)),
        **dict.fromkeys(("BillingPeriodStart", "ChargePeriodStart"), month),
        **dict.fromkeys(("BillingPeriodEnd", "ChargePeriodEnd"), end),
        "BillingCurrency": "EUR",
        "ChargeCategory": "Usage",
        "ProviderName": "Google Cloud",
        "ServiceName": "BigQuery",
        "SubAccountId": "project-1",
        "Tags": [{"key": "env", "value": "prod"}],
        **other,
    }


def test_an_export_data_statement_of_bigquery_with_a_wildcard(cast: Cast, gcs: GcsTestBucket) -> None:
    lines = [
        focus_line("0.000000001", x_Credits=[{"Id": "SUD", "Amount": -1.5}]),
        focus_line("12.34", ServiceName="Cloud Run"),
        focus_line("-2.34", Tags=[]),
    ]
    for number in range(2):
        gcs.put(f"focus/202605/{number:012}.parquet", parquet(lines[number::2], BIGQUERY_TYPES))
    gcs.put("focus/202606/000000000000.parquet", parquet([focus_line("5", JUNE)], BIGQUERY_TYPES))
    row = connect_gcs(cast, gcs, "{yyyymm}/*.parquet")
    with account_scope(cast.account):
        sync = sync_now(row)

        assert (sync.error, actions(sync)) == ("", {"2026-06": "imported", "2026-05": "imported"})
        billed = {name: sums[0] for name, sums in cost_by(cast.account, "service").items()}
        assert billed == {"BigQuery": Decimal("2.660000001"), "Cloud Run": Decimal("12.34")}
        assert cost_by(cast.account, tag_column("env"), ("env",))["prod"][0] == Decimal("17.340000001")


def test_a_folder_that_a_spark_job_of_databricks_writes(cast: Cast, s3: S3TestBucket) -> None:
    types = {**BIGQUERY_TYPES, "Tags": pa.map_(pa.string(), pa.string())}
    data = parquet([focus_line("3.5", Tags=[("env", "prod")])], types)
    s3.put(f"focus/billing_period=2026-05/{PART}", data)
    for marker in ("_SUCCESS", "_committed_123", "_started_123", f".{PART}.crc"):
        s3.put(f"focus/billing_period=2026-05/{marker}", b"x")
    row = connect_s3(cast, s3, "**/*")
    with account_scope(cast.account):
        assert actions(sync_now(row)) == {"2026-05": "imported"}
        assert total(cast.account) == Decimal("3.5")
        assert set(cost_by(cast.account, tag_column("env"), ("env",))) == {"prod"}


def test_a_zip_file_as_alibaba_delivers_bills_is_imported(cast: Cast, s3: S3TestBucket) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("bill.csv", month_rows("2026-05", "1"))
    s3.put("focus/5500_26842_FOCUS_202605.zip", packed.getvalue())
    row = connect_s3(cast, s3, pattern_of("Alibaba Cloud: archives by month"))
    with account_scope(cast.account):
        sync = sync_now(row)

        assert actions(sync) == {"2026-05": "imported"}
        assert not sync.error
        assert total(cast.account) == 1
