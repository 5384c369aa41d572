"""Oracle's cost report by hand. Source: Oracle, “Cost and Usage Reports”."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final

from tests.finops.costs.native.truth.bills import Bill, Part, csv_rows, number, write_csv

SAMPLE: Final = Path(__file__).parents[4] / "data" / "native" / "oracle" / "cost.csv"


def lines(seed: int = 11) -> Iterator[dict[str, str]]:
    """Two months, tenancies and currencies; corrections, overage and lines without a cost."""
    chance = random.Random(seed)
    for place in range(200):
        is_correction = chance.random() < 0.1
        cost = Decimal(chance.randrange(1, 900_000)).scaleb(-9)
        start = f"2026-{chance.choice(['05', '06'])}-{1 + place % 28:02d}T{place % 24:02d}:00Z"
        tenancy = chance.choice(["aaaa", "bbbb"])
        yield {
            "lineItem/referenceNo": f"r{place}",
            "lineItem/tenantId": f"ocid1.tenancy.oc1..{tenancy}",
            "lineItem/intervalUsageStart": start,
            "lineItem/intervalUsageEnd": start,
            "product/service": chance.choice(["COMPUTE", "DATABASE", "NEW"]),
            "product/region": chance.choice(["us-phoenix-1", "eu-frankfurt-1"]),
            "product/resourceId": "ocid1.instance.oc1.phx.cccc",
            "usage/billedQuantity": "1",
            "cost/productSku": "B97384",
            "cost/unitPrice": "0.03",
            "cost/myCost": "" if chance.random() < 0.1 else str(-cost if is_correction else cost),
            "cost/myCostOverage": str(cost / 2) if chance.random() < 0.2 else "",
            "cost/currencyCode": "EUR" if tenancy == "bbbb" else "USD",
            "lineItem/isCorrection": str(is_correction).lower(),
            "lineItem/backreferenceNo": "r0" if is_correction else "",
        }


def parts(files: Sequence[bytes]) -> Iterator[Part]:
    for file in files:
        for row in csv_rows(file):
            cost = number(row["cost/myCost"])
            yield Part(
                cost,
                cost,
                row["product/service"],
                row["lineItem/tenantId"],
                row["product/region"],
                "Usage",
                row["lineItem/intervalUsageStart"][:7],
                row["cost/currencyCode"],
            )


def report() -> Bill:
    return Bill([write_csv(list(lines()))], parts)


def sample() -> Bill:
    return Bill([SAMPLE.read_bytes()], parts)
