"""Receipts that are as many as a test wants, each with figures of its own."""

from __future__ import annotations

from datetime import datetime

from finops.lake.storage.manifest import Manifest
from finops.receipts.records import ReceiptRecord


def numbered_record(account_id: int, number: int, at: datetime) -> ReceiptRecord:
    """Every hundred have other bills."""
    return ReceiptRecord(
        account_id=account_id,
        at=at,
        name="querySpend",
        arguments=b"{}",
        cost_access="",
        manifest=Manifest(account_id, f"bills {number // 100}".encode(), ()),
        source_state=("{}",),
        expressions="",
        rates="",
        engine="DuckDB",
        days=None,
        has_usage=False,
        answer=f'{{"totals": [{{"amount": {number}, "currency": "USD"}}]}}'.encode(),
        summary="",
    )
