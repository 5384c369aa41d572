"""OpenCost's allocations by hand: what each comes to is its totalCost, to a billionth."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tests.finops.costs.native.truth.bills import Bill, Part, csv_rows, number, parquet_rows, write_csv

CURRENCY: Final = {"BillingCurrency": "EUR"}
PARTS: Final = (
    "cpuCost",
    "ramCost",
    "gpuCost",
    "pvCost",
    "networkCost",
    "loadBalancerCost",
    "sharedCost",
    "externalCost",
)


def allocations(seed: int = 13) -> Iterator[dict[str, Any]]:
    chance = random.Random(seed)
    for place in range(150):
        costs = {name: chance.randrange(0, 64) / 64 if chance.random() < 0.6 else 0.0 for name in PARTS}
        adjustment = -chance.randrange(0, 8) / 64
        remainder = chance.choice([0.0, 0.25])
        start = f"2026-{chance.choice(['05', '06'])}-{1 + place % 28:02d}T10:00:00Z"
        cluster = chance.choice(["prod-eu", "prod-us"])
        yield {
            "name": f"{cluster}/__idle__" if place % 9 == 0 else f"{cluster}/shop/pod-{place % 7}",
            **costs,
            "cpuCostAdjustment": adjustment,
            "totalCost": sum(costs.values()) + adjustment + remainder,
            "properties.cluster": cluster,
            "properties.namespace": None if place % 9 == 0 else "shop",
            "window.start": start,
            "window.end": start.replace("T10", "T11"),
        }


def parquet_parts(files: Sequence[bytes]) -> Iterator[Part]:
    for row in parquet_rows(files[0]):
        cost = number(row["totalCost"])
        yield Part(
            cost, cost, "Kubernetes", row["properties.cluster"], None, "Usage", row["window.start"][:7], "EUR"
        )


def csv_parts(files: Sequence[bytes]) -> Iterator[Part]:
    for row in csv_rows(files[0]):
        cost = number(row["TotalCost"])
        yield Part(cost, cost, "Kubernetes", "prod", None, "Usage", row["Date"][:7], "EUR")


def parquet_bill() -> Bill:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(allocations())), sink)
    return Bill([sink.getvalue()], parquet_parts, defaults=CURRENCY)


def csv_bill() -> Bill:
    rows = [
        {
            "Date": each["window.start"][:10],
            "Namespace": each["properties.namespace"] or "",
            "Pod": each["name"].rpartition("/")[2],
            "CPUCost": str(each["cpuCost"]),
            "RAMCost": str(each["ramCost"]),
            "TotalCost": str(each["totalCost"]),
        }
        for each in allocations()
    ]
    return Bill([write_csv(rows)], csv_parts, defaults={**CURRENCY, "SubAccountId": "prod"})
