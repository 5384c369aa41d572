"""FOCUS columns that are made of more than one of a Cost and Usage Report's. Rules: docs/native-formats.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.native.aws import cur_costs, line_types, locations
from finops.costs.native.aws.cur_costs import (
    LINE_TYPE,
    PLAN,
    RESERVATION,
    SPLIT_COLUMNS,
    SPLIT_PARENT,
    UNBLENDED,
    ZERO,
    CurLines,
)
from finops.costs.native.aws.cur_tags import read_tags
from finops.costs.native.native_batch import choose, first_of, recode
from finops.lake.schema import MONEY

RESOURCE: Final = "line_item_resource_id"
USAGE: Final = "line_item_usage_amount"
LIST_COST, LIST_PRICE = "pricing_public_on_demand_cost", "pricing_public_on_demand_rate"
_RATE, _UNIT = "line_item_unblended_rate", "pricing_unit"
_REGION, _OLD_REGION = "product_region_code", "product_region"
_ZONE, _LOCATION = "line_item_availability_zone", "product_location"
_PRODUCT, _PRODUCTS, _CODE = "product_product_name", "product", "line_item_product_code"
_USAGE_TYPE: Final = "line_item_usage_type"
_COMMITMENTS: Final = (LINE_TYPE, RESERVATION, PLAN)
_UNUSED_UNITS: Final = "reservation_unused_quantity"
SPLIT_METHOD: Final = "AWS split cost allocation data"

AMOUNTS: Final = (UNBLENDED, USAGE, LIST_COST, LIST_PRICE, _RATE, _UNUSED_UNITS)
"""Columns of numbers, beside those of `cur_costs`."""


def _of_usage(lines: CurLines, values: pa.Array) -> pa.Array:
    """The values of lines of usage; null in others, and in second lines, which nobody consumed."""
    usage = lines.are(*line_types.CONSUMPTION)
    if lines.second is not None:
        usage = pc.and_(usage, pc.invert(lines.second))
    none = pa.scalar(None, pa.string() if _is_text(values) else values.type)
    return choose(pc.invert(usage), none, values)


def _is_text(values: pa.Array) -> bool:
    return bool(pa.types.is_dictionary(values.type))


def _in_second(lines: CurLines, value: pa.Scalar, values: pa.Array) -> pa.Array:
    return values if lines.second is None else choose(lines.second, value, values)


def _list_cost(lines: CurLines) -> pa.Array:
    """The public on-demand price of usage; null where the report has none. Other charges have no other price than theirs."""
    listed = lines.amount(LIST_COST)
    cost = pc.if_else(lines.are(*line_types.CONSUMPTION), listed, lines.unblended_cost())
    return _in_second(lines, ZERO, cost)


def _contracted_cost(lines: CurLines) -> pa.Array:
    """Unblended: at negotiated rates, before commitments. Null of what a reservation covers, which the report bills 0."""
    none = pa.scalar(None, MONEY)
    cost = pc.if_else(lines.are(line_types.COVERED_BY_RESERVATION), none, lines.unblended_cost())
    return _in_second(lines, ZERO, cost)


def _charge_category(lines: CurLines) -> pa.Array:
    coded = lines.batch.recode(lines.name(LINE_TYPE), line_types.charge_category)
    return _in_second(lines, pa.scalar("Usage"), coded)


def _charge_frequency(lines: CurLines) -> pa.Array:
    coded = lines.batch.recode(
        lines.name(LINE_TYPE), lambda text: line_types.FREQUENCIES.get(text, "One-Time")
    )
    return _in_second(lines, pa.scalar("Usage-Based"), coded)


def _pricing_category(lines: CurLines) -> pa.Array:
    coded = lines.batch.recode(
        lines.name(LINE_TYPE), lambda text: line_types.PRICING_CATEGORIES.get(text, "Other")
    )
    if lines.has(_USAGE_TYPE):
        spot = lines.batch.recode(lines.name(_USAGE_TYPE), lambda text: "x" if "SpotUsage" in text else None)
        is_spot = pc.and_(pc.is_valid(spot), lines.are(line_types.USAGE))
        if pc.any(is_spot).as_py():
            coded = choose(is_spot, pa.scalar("Dynamic"), coded)
    return _in_second(lines, pa.scalar("Committed"), coded)


def _service(lines: CurLines) -> pa.Array:
    """The product's name, else its code."""
    names = []
    if lines.has(_PRODUCT):
        names.append(lines.text(_PRODUCT))
    elif lines.has(_PRODUCTS):
        names.append(lines.batch.entry(lines.name(_PRODUCTS), "product_name"))
    return first_of(*names, *(lines.text(name) for name in (_CODE,) if lines.has(name)))


def _region(lines: CurLines) -> pa.Array:
    """The Region's code; in older reports that of the availability zone or of the location."""
    regions = [lines.text(name) for name in (_REGION, _OLD_REGION) if lines.has(name)]
    for name, region_of in ((_ZONE, locations.region_of_zone), (_LOCATION, locations.region_of_location)):
        if lines.has(name):
            regions.append(recode(lines.text(name), region_of))
    return first_of(*regions)


def _resource(lines: CurLines) -> pa.Array:
    """The resource; of shares of a split line the one that is shared, of what was not used the commitment."""
    resource = lines.batch.column(lines.name(RESOURCE))
    if _is_text(resource):
        resource = resource.dictionary_decode()
    resource = resource.cast(pa.string())
    if lines.has(SPLIT_PARENT):
        parent = lines.text(SPLIT_PARENT).dictionary_decode()
        resource = pc.if_else(lines.is_split(), parent, resource)
    if lines.second is None:
        return resource
    unused = pc.and_(lines.second, pc.invert(lines.is_split()))
    return pc.if_else(unused, _commitment(lines).dictionary_decode(), resource)


def _commitment(lines: CurLines) -> pa.Array:
    """The ARN of the reservation or savings plan that a line pays, uses or leaves unused."""
    arns = [lines.text(name) for name in (RESERVATION, PLAN) if lines.has(name)]
    return first_of(*arns) if arns else lines.batch.constant(None)


def _by_commitment(reservation: str, plan: str) -> Callable[[CurLines], pa.Array]:
    def column(lines: CurLines) -> pa.Array:
        values = [
            recode(lines.text(name), lambda _, value=value: value)  # type: ignore[misc]
            for name, value in ((RESERVATION, reservation), (PLAN, plan))
            if lines.has(name)
        ]
        return first_of(*values) if values else lines.batch.constant(None)

    return column


def _commitment_status(lines: CurLines) -> pa.Array:
    """Used on covered usage, Unused on what a fee left over; none on purchases."""
    coded = lines.batch.recode(
        lines.name(LINE_TYPE), lambda text: "Used" if text in line_types.COVERED else None
    )
    return (
        _in_second(lines, pa.scalar("Unused"), coded)
        if not lines.has(SPLIT_PARENT)
        else _status(lines, coded)
    )


def _status(lines: CurLines, coded: pa.Array) -> pa.Array:
    if lines.second is None:
        return coded
    return choose(pc.and_(lines.second, pc.invert(lines.is_split())), pa.scalar("Unused"), coded)


def _allocated_resource(lines: CurLines) -> pa.Array:
    """The pod or task that has a share of a line."""
    return choose(pc.invert(_is_share(lines)), pa.scalar(None, pa.string()), lines.text(RESOURCE))


def _allocation_method(lines: CurLines) -> pa.Array:
    return choose(_is_share(lines), pa.scalar(SPLIT_METHOD), lines.batch.constant(None))


def _is_share(lines: CurLines) -> pa.Array:
    return lines.is_split() if lines.second is None else pc.and_(lines.is_split(), pc.invert(lines.second))


MADE: Final[Mapping[str, tuple[Callable[[CurLines], pa.Array], tuple[str, ...]]]] = {
    "BilledCost": (CurLines.billed_cost, (UNBLENDED, LINE_TYPE)),
    "EffectiveCost": (CurLines.effective_cost, (UNBLENDED, *cur_costs.EFFECTIVE_COLUMNS, *SPLIT_COLUMNS)),
    "ListCost": (_list_cost, (LIST_COST, LINE_TYPE, UNBLENDED)),
    "ContractedCost": (_contracted_cost, (UNBLENDED, LINE_TYPE)),
    "ListUnitPrice": (lambda lines: _of_usage(lines, lines.amount(LIST_PRICE)), (LIST_PRICE, LINE_TYPE)),
    "ContractedUnitPrice": (lambda lines: _of_usage(lines, lines.amount(_RATE)), (_RATE, LINE_TYPE)),
    "PricingQuantity": (lambda lines: _of_usage(lines, lines.amount(USAGE)), (USAGE, LINE_TYPE)),
    "PricingUnit": (lambda lines: _of_usage(lines, lines.text(_UNIT)), (_UNIT, LINE_TYPE)),
    "ConsumedQuantity": (lambda lines: _of_usage(lines, lines.amount(USAGE)), (USAGE, LINE_TYPE)),
    "ConsumedUnit": (lambda lines: _of_usage(lines, lines.text(_UNIT)), (_UNIT, LINE_TYPE)),
    "ChargeCategory": (_charge_category, (LINE_TYPE,)),
    "ChargeFrequency": (_charge_frequency, (LINE_TYPE,)),
    "PricingCategory": (_pricing_category, (LINE_TYPE, _USAGE_TYPE)),
    "ProviderName": (lambda lines: lines.batch.constant("AWS"), (LINE_TYPE,)),
    "ServiceName": (_service, (_CODE, _PRODUCT, _PRODUCTS)),
    "RegionId": (_region, (_ZONE, _REGION, _OLD_REGION, _LOCATION)),
    "ResourceId": (_resource, (RESOURCE, *SPLIT_COLUMNS, *_COMMITMENTS)),
    "CommitmentDiscountId": (_commitment, (LINE_TYPE, RESERVATION, PLAN)),
    "CommitmentDiscountType": (
        _by_commitment("Reserved Instance", "Savings Plan"),
        (LINE_TYPE, RESERVATION, PLAN),
    ),
    "CommitmentDiscountCategory": (_by_commitment("Usage", "Spend"), (LINE_TYPE, RESERVATION, PLAN)),
    "CommitmentDiscountStatus": (_commitment_status, (*_COMMITMENTS, *SPLIT_COLUMNS)),
    "AllocatedResourceId": (_allocated_resource, (*SPLIT_COLUMNS, RESOURCE)),
    "AllocatedMethodId": (_allocation_method, SPLIT_COLUMNS),
    "Tags": (lambda lines: read_tags(lines.batch, lines.columns), ()),
}
"""FOCUS column -> how it is made, and of which columns of the report: the first must be there."""
