"""What is exported is imported again: the connections read an export as any other bucket, with the same sums."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.connections import services
from tests.finops.data_exports.bills import Bucket, allocate, spend
from tests.s3 import KEY, REGION


@pytest.mark.parametrize(
    ("connector", "place"),
    [
        ("bucket_focus", {"prefix": "finops/focus/data"}),
        ("aws_data_exports", {"prefix": "finops", "export": "focus"}),
    ],
)
def test_another_account_imports_an_export_with_the_same_sums(
    bucket: Bucket, connector: str, place: dict[str, Any]
) -> None:
    allocate(bucket)
    bucket.run(bucket.create())
    before = {
        by: spend(bucket.account, by, splits="before")
        for by in ("service", "account", "tag:env", "billing_period", "charge_category", "team")
    }

    other = bucket.cast.other_account
    _sync(bucket, other, connector, place)

    with account_scope(other):
        for by, amounts in before.items():
            same = "x_Team" if by == "team" else by
            assert spend(other, same) == amounts, by
        assert sum(spend(other, basis="amortized").values(), Decimal(0)) == sum(
            before["service"].values(), Decimal(0)
        )


def _sync(bucket: Bucket, account: Account, connector: str, place: dict[str, Any]) -> None:
    connection = services.create_connection(
        account=account,
        actor=bucket.cast.actor,
        name="Exported",
        connector=connector,
        values={
            **place,
            "bucket": bucket.s3.name,
            "endpoint": bucket.s3.endpoint,
            "region": REGION,
            "access": "access_key",
            "access_key_id": KEY,
            "secret_access_key": KEY,
        },
    )
    with account_scope(account):
        sync = connection.syncs.get()
        assert services.run_sync(sync.pk)
        sync.refresh_from_db()
    assert (sync.status, sync.error, sync.months_imported) == ("done", "", 3)
