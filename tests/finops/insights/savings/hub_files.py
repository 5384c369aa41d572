"""Exports of AWS Cost Optimization Hub, as AWS Data Exports writes them."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

VOLUME_ARN = "arn:aws:ec2:eu-west-1:111:volume/vol-1"

Row = dict[str, Any]


def row(**columns: Any) -> Row:
    """An EBS volume that may shrink; anything else by name."""
    return {
        "account_id": "111",
        "account_name": "prod",
        "action_type": "Rightsize",
        "currency_code": "USD",
        "current_resource_details": '{"ebsVolume":{"configuration":{"storage":{"type":"gp2","sizeInGb":900}}}}',
        "current_resource_summary": "gp2 900 GB",
        "current_resource_type": "EbsVolume",
        "estimated_monthly_cost_after_discount": 300.5,
        "estimated_monthly_cost_before_discount": 310.0,
        "estimated_monthly_savings_after_discount": 120.25,
        "estimated_monthly_savings_before_discount": 125.0,
        "implementation_effort": "VeryLow",
        "last_refresh_timestamp": datetime(2026, 2, 27, 6, tzinfo=UTC),
        "recommendation_id": "MTEx==",
        "recommendation_lookback_period_in_days": 14,
        "recommendation_source": "ComputeOptimizer",
        "recommended_resource_summary": "gp3 500 GB",
        "recommended_resource_type": "EbsVolume",
        "region": "eu-west-1",
        "resource_arn": VOLUME_ARN,
        "restart_needed": False,
        "rollback_possible": True,
        "tags": '[{"key":"env","value":"prod"}]',
        **columns,
    }


def as_csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for each in rows:
        writer.writerow(
            {
                name: str(value).lower() if isinstance(value, bool) else "" if value is None else value
                for name, value in each.items()
            }
        )
    return text.getvalue().encode()


def as_gzip(rows: Sequence[Row]) -> bytes:
    return gzip.compress(as_csv(rows))


def as_parquet(rows: Sequence[Row]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), file)
    return file.getvalue()
