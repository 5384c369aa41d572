"""Azure's exports by hand, in each header that they have. Sources: Microsoft, “Understand usage details fields” and “Convert Cost
Management data to FOCUS”; names of services and regions are of its open data."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final

from tests.finops.costs.native.truth.bills import Bill, Part, Row, csv_rows, number, write_csv

SAMPLES: Final = Path(__file__).parents[4] / "data" / "native" / "azure"

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "cost": (
        "CostInBillingCurrency",
        "costInBillingCurrency",
        "Cost",
        "PreTaxCost",
        "preTaxCost",
        "costinbillingcurrency",
    ),
    "currency": ("BillingCurrencyCode", "billingCurrency", "BillingCurrency", "Currency", "currency"),
    "date": ("Date", "date", "UsageDateTime", "usageDateTime"),
    "period": ("BillingPeriodStartDate", "billingPeriodStartDate"),
    "subscription": (
        "SubscriptionId",
        "subscriptionId",
        "SubscriptionGuid",
        "subscriptionGuid",
        "subscriptionid",
    ),
    "location": ("ResourceLocation", "resourceLocation", "resourcelocation"),
    "meter": ("MeterCategory", "meterCategory"),
    "consumed": ("ConsumedService", "consumedService"),
    "resource": ("ResourceId", "resourceId", "InstanceId", "InstanceName"),
    "charge": ("ChargeType", "chargeType"),
    "model": ("PricingModel", "pricingModel"),
    "reservation": ("ReservationId", "reservationId"),
    "benefit": ("benefitId",),
}
"""What the headers call a field; translated ones have the name in brackets."""

SERVICES: Final = {
    ("Microsoft.Compute", "Microsoft.Compute/virtualMachines/vm"): "Virtual Machines",
    ("Microsoft.Storage", "Microsoft.Storage/storageAccounts/st"): "Storage Accounts",
    ("Microsoft.Sql", "Microsoft.Sql/servers/s/databases/db"): "Azure SQL Database",
    ("Contoso.New", ""): "New Thing",
}
REGIONS: Final = {"uksouth": "uksouth", "EU West": "westeurope", "US East": "eastus"}
ORDER: Final = "Microsoft.Capacity/reservationOrders/1/reservations/2"
CATEGORIES: Final = {
    "Usage": "Usage",
    "UnusedReservation": "Usage",
    "UnusedSavingsPlan": "Usage",
    "Purchase": "Purchase",
    "Refund": "Purchase",
    "Tax": "Tax",
    "Credit": "Credit",
}
KINDS: Final = {
    "OnDemand": {"charge": "Usage", "model": "OnDemand"},
    "Spot": {"charge": "Usage", "model": "Spot"},
    "Marketplace": {"charge": "Purchase", "model": "OnDemand"},
    "Tax": {"charge": "Tax", "model": ""},
    "Credit": {"charge": "Credit", "model": ""},
    "Rounding": {"charge": "RoundingAdjustment", "model": ""},
    "Bought": {
        "charge": "Purchase",
        "model": "Reservation",
        "reservation": "2",
        "benefit": f"/providers/{ORDER}",
    },
    "Refund": {
        "charge": "Refund",
        "model": "Reservation",
        "reservation": "2",
        "benefit": f"/providers/{ORDER}",
    },
    "Used": {"charge": "Usage", "model": "Reservation", "reservation": "2", "benefit": f"/providers/{ORDER}"},
    "Plan": {"charge": "Usage", "model": "SavingsPlan"},
    "Unused": {"charge": "UnusedReservation", "model": "Reservation", "reservation": "2"},
    "PlanUnused": {"charge": "UnusedSavingsPlan", "model": "SavingsPlan"},
}
AMORTIZED: Final = ("Used", "Plan", "Unused", "PlanUnused")


def header(sample: str) -> list[str]:
    with (SAMPLES / f"{sample}.csv").open(encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file))


def header_names(names: Sequence[str]) -> dict[str, str]:
    """Field -> the header's name of it."""
    return {
        field: name
        for field, spellings in FIELDS.items()
        for name in names
        if name in spellings or name.partition(" (")[2].removesuffix(")") in spellings
    }


def lines(kind_names: Sequence[str], *, amortized: bool, seed: int = 3) -> Iterator[dict[str, str]]:
    """Lines of both exports: the actual cost bills purchases and has use at 0, the amortized cost has use at its cost."""
    chance = random.Random(seed)
    for _ in range(160):
        kind = chance.choice(kind_names)
        cost = str(Decimal(chance.randrange(-20_000, 900_000)).scaleb(-6))
        (consumed, path), _ = chance.choice(list(SERVICES.items()))
        month, subscription = chance.choice(["09", "10"]), chance.choice(["1caaa5a3", "ED570627", "77bb"])
        where = chance.choice(list(REGIONS))
        resource = f"/subscriptions/{subscription}/resourceGroups/rg/providers/{path}" if path else ""
        currency = chance.choice(["EUR", "USD"]) if subscription == "77bb" else "EUR"
        if kind in (("Bought", "Refund") if amortized else ("Unused", "PlanUnused")):
            continue
        yield {
            "cost": cost if amortized or kind not in AMORTIZED else "0",
            "currency": currency,
            "date": f"{month}/{13 + len(path) % 9}/2023",
            "period": f"{month}/01/2023",
            "subscription": subscription,
            "location": where,
            "meter": "New Thing",
            "consumed": consumed,
            "resource": resource,
            **KINDS[kind],
        }


def export(sample: str, rows: Sequence[Mapping[str, str]]) -> bytes:
    names = header(sample)
    fields = header_names(names)
    return write_csv(
        [{fields[key]: value for key, value in row.items() if key in fields} for row in rows], names
    )


def raw(data: bytes) -> Iterator[Row]:
    """Rows by field."""
    for row in csv_rows(data):
        fields = header_names(list(row))
        yield {field: row[name] for field, name in fields.items()}


def part(row: Row, billed: Decimal, effective: Decimal) -> Part:
    path = row["resource"].partition("/providers/")[2]
    day = row.get("period") or row["date"]
    return Part(
        billed,
        effective,
        SERVICES[row["consumed"], path],
        f"/subscriptions/{row['subscription'].lower()}",
        REGIONS[row["location"]],
        CATEGORIES.get(row.get("charge", "Usage"), "Adjustment"),
        f"{day[6:]}-{day[:2]}",
        row["currency"],
    )


def is_committed(row: Row) -> bool:
    return row["model"] in ("Reservation", "SavingsPlan")


def pair_parts(files: Sequence[bytes]) -> Iterator[Part]:
    """Billed cost is that of the actual, effective cost that of the amortized cost."""
    actual, amortized = files
    for row in raw(actual):
        cost = number(row["cost"])
        if is_committed(row):
            yield part(row, cost, Decimal(0))
        else:
            yield part(row, cost, cost)
    for row in raw(amortized):
        if is_committed(row):
            yield part(row, Decimal(0), number(row["cost"]))


def alone_parts(files: Sequence[bytes]) -> Iterator[Part]:
    """Of an export that does not say what is of a commitment both measures are its cost."""
    for row in raw(files[0]):
        yield part(row, number(row["cost"]), number(row["cost"]))


def pair(sample: str) -> Bill:
    kinds = list(KINDS)
    if "benefit" not in header_names(header(sample)) and "reservation" not in header_names(header(sample)):
        raise ValueError(f"{sample} does not name commitments")
    files = [export(sample, list(lines(kinds, amortized=each))) for each in (False, True)]
    return Bill(files, pair_parts, names=["ActualCost.csv", "AmortizedCost.csv"])


def alone(sample: str) -> Bill:
    kinds = ["OnDemand"]
    return Bill([export(sample, list(lines(kinds, amortized=False)))], alone_parts)
