"""Azure's FocusCost exports of each version, as CSV and as Parquet, from a real Blob server: sums by hand of the lines written."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal

import pytest

from accounts.scoping import account_scope
from tests.cast import Cast
from tests.factories.imports import cost_by
from tests.finops.connections.azurite import AzureExport
from tests.finops.connections.connectors import azure_focus
from tests.finops.connections.connectors.azure_steps import MAY, connect
from tests.finops.connections.connectors.lake_sums import sums_in_lake
from tests.finops.connections.syncs.sync_steps import actions, sync_now

pytestmark = pytest.mark.django_db

Sums = dict[tuple[str, ...], tuple[Decimal, Decimal]]


def sums(lines: list[azure_focus.Line]) -> Sums:
    """Billed and effective by service, account, month and currency."""
    by_group: dict[tuple[str, ...], list[Decimal]] = defaultdict(lambda: [Decimal(0), Decimal(0)])
    for line in lines:
        month = f"{line['BillingPeriodStart']:%Y-%m}"
        group = by_group[(line["ServiceName"], line["SubAccountId"], month, line["BillingCurrency"])]
        group[0] += line["BilledCost"]
        group[1] += line["EffectiveCost"]
    return {key: (billed, effective) for key, (billed, effective) in by_group.items()}


@pytest.mark.parametrize("version", sorted(azure_focus.SCHEMA_OF))
@pytest.mark.parametrize("form", ["csv.gz", "snappy.parquet"])
def test_an_export_of_each_version_arrives_to_the_cent(
    cast: Cast, export: AzureExport, version: str, form: str
) -> None:
    lines = azure_focus.lines(version)
    write = azure_focus.as_csv if form == "csv.gz" else azure_focus.as_parquet
    parts = {f"part_{number}_0001.{form}": write(version, lines[number::2]) for number in range(2)}
    export.deliver(MAY, parts)
    row = connect(cast, export.container)
    with account_scope(cast.account):
        sync = sync_now(row)

        assert (sync.error, actions(sync)) == ("", {"2026-05": "imported"})
        assert sums_in_lake(cast.account) == sums(lines)
        categories = {name: amounts[0] for name, amounts in cost_by(cast.account, "charge_category").items()}
        assert categories == {
            name: sum(line["BilledCost"] for line in lines if line["ChargeCategory"] == name)
            for name in azure_focus.ENUMERATED["ChargeCategory"]
        }


def test_columns_of_a_version_are_those_that_microsoft_publishes() -> None:
    old, new = azure_focus.columns("1.0"), azure_focus.columns("1.2-preview")

    assert (len(old), len(new)) == (96, 106)
    assert {"InvoiceId", "PricingCurrency", "SkuMeter", "ServiceSubcategory"} <= new.keys() - old.keys()
