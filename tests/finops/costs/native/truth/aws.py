"""Cost and Usage Reports by hand. Sources: AWS Cost and Usage Reports user guide, “Understanding Savings Plans”, “Understanding your
reservations”; FOCUS 1.2, ChargeCategory."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Final

from tests.finops.costs.native.cur_files import (
    Line,
    as_csv,
    as_legacy_csv,
    as_parquet,
    legacy_name,
    line,
    month,
)
from tests.finops.costs.native.truth.bills import Bill, Part, Row, csv_rows, number, parquet_rows

AWS: Final = Path(__file__).parents[4] / "data" / "native" / "aws"
CATEGORIES: Final = {"Usage": "Usage", "Fee": "Purchase", "Tax": "Tax", "Credit": "Credit"}
LOCATIONS: Final = {
    "US East (N. Virginia)": "us-east-1",
    "US West (Oregon)": "us-west-2",
    "US West (N. California)": "us-west-1",
}
Get = Callable[[Row, str], object]


@cache
def lines() -> list[Line]:
    """Every line type in two months, three accounts and two currencies; of one account a negation is of too much."""
    odd = line("SavingsPlanNegation", "-0.37", line_item_usage_account_id="210000000002")
    return [*month(600, seed=7), odd]


def of_2_0(row: Row, name: str) -> object:
    return row.get(name)


def of_legacy(row: Row, name: str) -> object:
    return row.get(legacy_name(name))


def parts(rows: Sequence[Row], get: Get, service: Callable[[Row], str]) -> Iterator[Part]:
    uncancelled: dict[tuple[str, ...], dict[tuple[str, str], Decimal]] = defaultdict(
        lambda: defaultdict(Decimal)
    )
    for row in rows:
        kind = str(get(row, "line_item_line_item_type"))
        where = (
            service(row),
            str(get(row, "line_item_usage_account_id")),
            str(get(row, "product_region_code")),
        )
        when = str(get(row, "bill_billing_period_start_date"))[:7], str(get(row, "line_item_currency_code"))
        if kind in ("SavingsPlanCoveredUsage", "SavingsPlanNegation"):
            key = where[0], where[2]
            uncancelled[where[1], *when][key] += number(get(row, "line_item_unblended_cost"))
        for category, billed, effective in costs(row, kind, get):
            yield Part(billed, effective, *where, category, *when)
    for (account, *when_), groups in uncancelled.items():
        if sum(groups.values()):
            for (name, region), amount in groups.items():
                yield Part(amount, Decimal(0), name, account, region, "Adjustment", *when_)


def costs(row: Row, kind: str, get: Get) -> Iterator[tuple[str, Decimal, Decimal]]:
    """Charge category, billed and amortized cost."""
    nothing = Decimal(0)

    def amount(name: str) -> Decimal:
        return number(get(row, name))

    cost = amount("line_item_unblended_cost")
    if kind == "SavingsPlanNegation":
        return
    if kind == "SavingsPlanCoveredUsage":
        yield "Usage", nothing, amount("savings_plan_savings_plan_effective_cost")
    elif kind == "DiscountedUsage":
        yield "Usage", cost, amount("reservation_effective_cost")
    elif kind == "RIFee":
        upfront = amount("reservation_unused_amortized_upfront_fee_for_billing_period")
        yield "Purchase", cost, nothing
        yield "Usage", nothing, upfront + amount("reservation_unused_recurring_fee")
    elif kind == "SavingsPlanRecurringFee":
        used = amount("savings_plan_used_commitment")
        yield "Purchase", cost, nothing
        yield "Usage", nothing, amount("savings_plan_total_commitment_to_date") - used
    elif kind == "SavingsPlanUpfrontFee" or (kind == "Fee" and get(row, "reservation_reservation_a_r_n")):
        yield "Purchase", cost, nothing
    else:
        yield CATEGORIES.get(kind, "Adjustment"), cost, cost


def cur_2_csv() -> Bill:
    return Bill(
        [as_csv(lines())],
        lambda files: parts(
            list(csv_rows(files[0])), of_2_0, lambda row: json.loads(row["product"])["product_name"]
        ),
    )


def cur_2_parquet(*, exact: bool) -> Bill:
    half = len(lines()) // 2
    return Bill(
        [as_parquet(lines()[:half], exact=exact), as_parquet(lines()[half:], exact=exact)],
        lambda files: parts(
            [row for file in files for row in parquet_rows(file)],
            of_2_0,
            lambda row: dict(row["product"])["product_name"],
        ),
    )


def legacy_csv() -> Bill:
    return Bill(
        [as_legacy_csv(lines())],
        lambda files: parts(list(csv_rows(files[0])), of_legacy, lambda row: row["product/ProductName"]),
    )


def legacy_bucket() -> Bill:
    """The report of koku's bucket: usage alone, in an older layout."""
    with tarfile.open(AWS / "aws_cur_legacy_bucket.tar.gz") as bucket:
        member = next(each for each in bucket.getmembers() if each.name.endswith(".csv.gz"))
        file = bucket.extractfile(member)
        assert file is not None
        data = file.read()

    def usage_parts(files: Sequence[bytes]) -> Iterator[Part]:
        for row in csv_rows(gzip.decompress(files[0])):
            cost = number(row["lineItem/UnblendedCost"])
            yield Part(
                cost,
                cost,
                row["product/ProductName"],
                row["lineItem/UsageAccountId"],
                row["lineItem/AvailabilityZone"][:-1] or LOCATIONS[row["product/location"]],
                row["lineItem/LineItemType"],
                row["bill/BillingPeriodStartDate"][:7],
                row["lineItem/CurrencyCode"],
            )

    return Bill([data], usage_parts)
