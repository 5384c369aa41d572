"""Lines of AWS Cost and Usage Reports, made for tests: every line item type, and files of them in each spelling."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Line = dict[str, Any]

PLAN = "arn:aws:savingsplans::111122223333:savingsplan/plan-1"
RESERVATION = "arn:aws:ec2:us-east-1:111122223333:reserved-instances/ri-1"
SERVICES = {
    "AmazonEC2": "Amazon Elastic Compute Cloud",
    "AmazonS3": "Amazon Simple Storage Service",
    "AmazonRDS": "Amazon Relational Database Service",
}
ACCOUNTS = {"210000000001": "shop", "210000000002": "search", "210000000003": "platform"}
REGIONS = ("us-east-1", "eu-central-1")

AMOUNTS = (
    *("line_item_usage_amount", "line_item_normalized_usage_amount", "line_item_unblended_cost"),
    *("line_item_net_unblended_cost", "line_item_unblended_rate", "line_item_net_unblended_rate"),
    *("pricing_public_on_demand_cost", "pricing_public_on_demand_rate", "discount_total_discount"),
    *("reservation_effective_cost", "reservation_net_effective_cost", "reservation_unused_quantity"),
    "reservation_unused_amortized_upfront_fee_for_billing_period",
    "reservation_net_unused_amortized_upfront_fee_for_billing_period",
    *("reservation_unused_recurring_fee", "reservation_net_unused_recurring_fee"),
    *("reservation_total_reserved_units", "reservation_total_reserved_normalized_units"),
    "reservation_unused_normalized_unit_quantity",
    "savings_plan_savings_plan_effective_cost",
    "savings_plan_net_savings_plan_effective_cost",
    *("savings_plan_total_commitment_to_date", "savings_plan_used_commitment"),
    "savings_plan_recurring_commitment_for_billing_period",
    "savings_plan_amortized_upfront_commitment_for_billing_period",
    "savings_plan_net_recurring_commitment_for_billing_period",
    "savings_plan_net_amortized_upfront_commitment_for_billing_period",
    *("split_line_item_split_cost", "split_line_item_unused_cost"),
)
TIMES = (
    *("bill_billing_period_start_date", "bill_billing_period_end_date"),
    *("line_item_usage_start_date", "line_item_usage_end_date"),
)
MAPS = ("product", "resource_tags", "cost_category", "tags")
TEXTS = (
    *("identity_line_item_id", "bill_payer_account_id", "bill_payer_account_name", "bill_invoice_id"),
    *("bill_invoicing_entity", "bill_billing_entity", "line_item_usage_account_id"),
    *("line_item_usage_account_name", "line_item_line_item_type", "line_item_product_code"),
    *("line_item_usage_type", "line_item_operation", "line_item_availability_zone", "line_item_resource_id"),
    *("line_item_currency_code", "line_item_line_item_description", "line_item_legal_entity"),
    *("line_item_iam_principal", "product_region_code", "product_location", "product_sku", "pricing_unit"),
    *("pricing_rate_id", "reservation_reservation_a_r_n", "savings_plan_savings_plan_a_r_n"),
    "split_line_item_parent_resource_id",
)


def line(line_type: str, cost: Decimal | str, **other: Any) -> Line:
    """A line of May 2026; `other` are its other columns by their names in CUR 2.0."""
    start = other.pop("start", datetime(2026, 5, 3, 7, tzinfo=UTC))
    code = other.get("line_item_product_code", "AmazonEC2")
    return {
        "bill_payer_account_id": "111122223333",
        "bill_payer_account_name": "Acme",
        "bill_invoicing_entity": "Amazon Web Services, Inc.",
        "bill_billing_period_start_date": start.replace(day=1, hour=0),
        "bill_billing_period_end_date": (start.replace(day=1, hour=0) + timedelta(days=32)).replace(day=1),
        "line_item_usage_account_id": "210000000001",
        "line_item_usage_account_name": "shop",
        "line_item_line_item_type": line_type,
        "line_item_usage_start_date": start,
        "line_item_usage_end_date": start + timedelta(hours=1),
        "line_item_product_code": code,
        "line_item_usage_type": "BoxUsage:m5.large",
        "line_item_operation": "RunInstances",
        "line_item_currency_code": "USD",
        "line_item_unblended_cost": Decimal(cost),
        "line_item_legal_entity": "Amazon Web Services, Inc.",
        "product_region_code": "us-east-1",
        "product": {"product_name": SERVICES.get(code, code)},
        **other,
    }


def usage(cost: str | Decimal, **other: Any) -> Line:
    amount = Decimal(cost)
    return line(
        "Usage",
        amount,
        **{
            "line_item_usage_amount": amount * 10,
            "pricing_public_on_demand_cost": amount + Decimal("0.1"),
            "pricing_unit": "Hrs",
            "line_item_resource_id": "i-1",
            **other,
        },
    )


def month(lines: int, seed: int = 1) -> list[Line]:
    """A bill of May and June 2026 with every kind of line, its negations cancelling what the plan covers to the cent."""
    chance = random.Random(seed)
    result: list[Line] = []
    while len(result) < lines:
        result.extend(_hour(chance))
    return [
        *result,
        *_once(chance, datetime(2026, 5, 1, tzinfo=UTC)),
        *_once(chance, datetime(2026, 6, 1, tzinfo=UTC)),
    ]


def _cents(chance: random.Random, most: int = 10_000) -> Decimal:
    return Decimal(chance.randrange(1, most)).scaleb(-4)


def _where(chance: random.Random) -> Line:
    account = chance.choice(list(ACCOUNTS))
    region = chance.choice(REGIONS)
    code = chance.choice(list(SERVICES))
    return {
        "line_item_usage_account_id": account,
        "line_item_usage_account_name": ACCOUNTS[account],
        "line_item_product_code": code,
        "product": {"product_name": SERVICES[code]},
        "product_region_code": region,
        "line_item_availability_zone": f"{region}a",
        "line_item_resource_id": f"i-{chance.randrange(40):04d}",
        "line_item_currency_code": "CNY" if account == "210000000003" else "USD",
        "resource_tags": {"user_team": chance.choice(["a", "b"]), "aws_created_by": "Root:1"},
        "cost_category": {"env": "prod"},
    }


def _hour(chance: random.Random) -> Iterator[Line]:
    start = datetime(2026, 5, 1, tzinfo=UTC) + timedelta(hours=chance.randrange(60 * 24))
    for _ in range(chance.randrange(2, 9)):
        yield usage(_cents(chance), **_where(chance), start=start)
    place = _where(chance)
    covered = [(_cents(chance), _cents(chance, 100)) for _ in range(3)]
    for on_demand, amortized in covered:
        yield line(
            "SavingsPlanCoveredUsage",
            on_demand,
            savings_plan_savings_plan_effective_cost=amortized,
            savings_plan_savings_plan_a_r_n=PLAN,
            pricing_public_on_demand_cost=on_demand,
            line_item_usage_amount=Decimal(1),
            **place,
            start=start,
        )
    yield line(
        "SavingsPlanNegation",
        -sum((on_demand for on_demand, _ in covered), Decimal(0)),
        savings_plan_savings_plan_a_r_n=PLAN,
        **place,
        start=start,
    )
    used = sum((amortized for _, amortized in covered), Decimal(0))
    share_left = Decimal(chance.choice(["0", "0.25"]))
    yield line(
        "SavingsPlanRecurringFee",
        used + share_left,
        savings_plan_total_commitment_to_date=used + share_left,
        savings_plan_used_commitment=used,
        savings_plan_savings_plan_a_r_n=PLAN,
        **_where(chance),
        start=start,
    )
    yield line(
        "DiscountedUsage",
        "0",
        reservation_effective_cost=_cents(chance),
        reservation_reservation_a_r_n=RESERVATION,
        pricing_public_on_demand_cost=_cents(chance),
        line_item_usage_amount=Decimal(1),
        **_where(chance),
        start=start,
    )


def _once(chance: random.Random, start: datetime) -> Iterator[Line]:
    yield line(
        "RIFee",
        "72",
        reservation_unused_amortized_upfront_fee_for_billing_period=_cents(chance),
        reservation_unused_recurring_fee=_cents(chance),
        reservation_unused_quantity=Decimal(31),
        reservation_total_reserved_units=Decimal(744),
        reservation_reservation_a_r_n=RESERVATION,
        **_where(chance),
        start=start,
    )
    yield line("Fee", "500", reservation_reservation_a_r_n=RESERVATION, **_where(chance), start=start)
    yield line("Fee", "29", **_where(chance), start=start)
    yield line(
        "SavingsPlanUpfrontFee", "900", savings_plan_savings_plan_a_r_n=PLAN, **_where(chance), start=start
    )
    for line_type, sign in {
        "Tax": 1,
        "Credit": -1,
        "Refund": -1,
        "EdpDiscount": -1,
        "BundledDiscount": -1,
        "PrivateRateDiscount": -1,
        "SppDiscount": -1,
        "RiVolumeDiscount": -1,
    }.items():
        for _ in range(3):
            yield line(line_type, sign * _cents(chance), **_where(chance), start=start)


def as_parquet(lines: Sequence[Line], *, exact: bool = False) -> bytes:
    """CUR 2.0 as Data Exports writes it: amounts as doubles (or decimals), times as timestamps, maps as maps."""
    number = pa.decimal128(24, 12) if exact else pa.float64()
    text_map = pa.map_(pa.string(), pa.string())
    types = [
        *((name, pa.string()) for name in TEXTS),
        *((name, number) for name in AMOUNTS),
        *((name, pa.timestamp("ms")) for name in TIMES),
        *((name, text_map) for name in MAPS),
    ]
    columns = {name: [_cell_value(each.get(name), type_) for each in lines] for name, type_ in types}
    table = pa.table(columns, schema=pa.schema(types))
    filled_names = [
        name for name in table.column_names if table[name].null_count < len(lines) or name in TEXTS
    ]
    sink = io.BytesIO()
    pq.write_table(table.select(filled_names), sink, row_group_size=5_000)
    return sink.getvalue()


def _cell_value(value: Any, type_: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_floating(type_):
        return float(value)
    if pa.types.is_timestamp(type_):
        return value.replace(tzinfo=None)
    return list(value.items()) if pa.types.is_map(type_) else value


def as_csv(lines: Sequence[Line]) -> bytes:
    """CUR 2.0 as CSV: maps are JSON."""
    names = _names(lines)
    rows = [
        {
            name: json.dumps(each[name]) if isinstance(each.get(name), dict) else _cell_text(each.get(name))
            for name in names
        }
        for each in lines
    ]
    return _csv(names, rows)


def as_legacy_csv(lines: Sequence[Line]) -> bytes:
    """The legacy report: `lineItem/UsageType`, a column for each tag."""
    rows = [dict(_legacy(each)) for each in lines]
    return _csv(list(dict.fromkeys(name for row in rows for name in row)), rows)


def _legacy(each: Line) -> Iterator[tuple[str, str]]:
    for name, value in each.items():
        if name == "product":
            yield "product/ProductName", value["product_name"]
        elif name == "resource_tags":
            for key, tag in value.items():
                yield (
                    f"resourceTags/{key.replace('user_', 'user:').replace('aws_created_by', 'aws:createdBy')}",
                    tag,
                )
        elif name == "cost_category":
            yield from ((f"costCategory/{key}", tag) for key, tag in value.items())
        elif name not in ("bill_payer_account_name", "line_item_usage_account_name"):
            yield legacy_name(name), _cell_text(value)


def legacy_name(name: str) -> str:
    """lineItem/UsageType of line_item_usage_type."""
    for category in (
        "split_line_item",
        "line_item",
        "savings_plan",
        "bill",
        "pricing",
        "product",
        "reservation",
    ):
        if name.startswith(f"{category}_"):
            head, *tail = category.split("_")
            words = name[len(category) + 1 :].replace("a_r_n", "aRN").split("_")
            return f"{head}{''.join(word.title() for word in tail)}/{''.join(w[0].upper() + w[1:] for w in words)}"
    return name


def _names(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for each in lines for name in each))


def _cell_text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return "" if value is None else f"{value:f}" if isinstance(value, Decimal) else str(value)


def _csv(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
