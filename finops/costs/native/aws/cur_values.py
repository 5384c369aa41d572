"""FOCUS columns derived from several columns of a Cost and Usage Report. Rules: docs/native-formats.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.native.aws import cur_costs, line_types, locations
from finops.costs.native.aws.cur_costs import BILLED_COLUMNS, EFFECTIVE_COLUMNS
from finops.costs.native.aws.cur_lines import (
    LINE_TYPE,
    PLAN,
    RESERVATION,
    SPLIT_PARENT,
    ZERO,
    CurLines,
    is_nonzero,
)
from finops.costs.native.native_batch import choose, first_of, recode
from finops.lake.schema import MONEY

RESOURCE: Final = "line_item_resource_id"
USAGE, _NORMALIZED = "line_item_usage_amount", "line_item_normalized_usage_amount"
LIST_COST, LIST_PRICE = "pricing_public_on_demand_cost", "pricing_public_on_demand_rate"
RATE, _NET_RATE, _UNIT = "line_item_unblended_rate", "line_item_net_unblended_rate", "pricing_unit"
_REGION, _OLD_REGION = "product_region_code", "product_region"
_ZONE, _LOCATION = "line_item_availability_zone", "product_location"
_PRODUCT, _PRODUCTS, _CODE = "product_product_name", "product", "line_item_product_code"
_USAGE_TYPE, _CURRENCY = "line_item_usage_type", "line_item_currency_code"
_RESERVED: Final = ("reservation_total_reserved_normalized_units", "reservation_total_reserved_units")
_UNUSED_UNITS: Final = ("reservation_unused_normalized_unit_quantity", "reservation_unused_quantity")

_COMMITMENTS: Final = (LINE_TYPE, RESERVATION, PLAN, SPLIT_PARENT)
_QUANTITIES: Final = (*_COMMITMENTS, USAGE, _NORMALIZED, *_RESERVED, *_UNUSED_UNITS, *EFFECTIVE_COLUMNS)
SPLIT_METHOD: Final = "AWS split cost allocation data"

AMOUNTS: Final = (
    *(USAGE, _NORMALIZED, LIST_COST, LIST_PRICE, RATE, _NET_RATE),
    *(*_RESERVED, *_UNUSED_UNITS, *cur_costs.AMOUNTS),
)
"""Numeric columns."""

NO_TEXT: Final = pa.scalar(None, pa.string())
Maker = Callable[[CurLines], pa.Array]


def _of_usage(lines: CurLines, values: pa.Array) -> pa.Array:
    """Return the values for usage; null for other lines, and for second lines, which are no consumption."""
    none = NO_TEXT if isinstance(values, pa.DictionaryArray) else pa.scalar(None, values.type)
    return choose(pc.invert(lines.is_consumption()), none, values)


def _for_leftover(lines: CurLines, value: str, values: pa.DictionaryArray) -> pa.DictionaryArray:
    unused = lines.is_unused()
    return values if unused is None else choose(unused, pa.scalar(value), values)


def _list_cost(lines: CurLines) -> pa.Array:
    """The public on-demand price of usage; null if the report has none. Other charges have only their own price."""
    usage = lines.are(*line_types.CONSUMPTION)
    cost = pc.if_else(usage, lines.amount(LIST_COST), cur_costs.cost_after_discounts(lines))
    return cost if lines.second is None else pc.if_else(lines.second, ZERO, cost)


def _contracted_cost(lines: CurLines) -> pa.Array:
    """The cost at negotiated rates, before commitments. Null for usage that a reservation covers: billed 0."""
    covered = lines.are(line_types.COVERED_BY_RESERVATION)
    cost = pc.if_else(covered, pa.scalar(None, MONEY), cur_costs.cost_after_discounts(lines))
    return cost if lines.second is None else pc.if_else(lines.second, ZERO, cost)


def _contracted_price(lines: CurLines) -> pa.Array:
    rate = lines.first_amount(*((_NET_RATE, RATE) if lines.has(cur_costs.DISCOUNT) else (RATE,)))
    covered = lines.are(line_types.COVERED_BY_RESERVATION)
    return _of_usage(lines, pc.if_else(covered, pa.scalar(None, MONEY), rate))


def _charge_category(lines: CurLines) -> pa.Array:
    return _for_leftover(lines, "Usage", recode(lines.text(LINE_TYPE), line_types.charge_category))


def _charge_frequency(lines: CurLines) -> pa.Array:
    return _for_leftover(lines, "Usage-Based", recode(lines.text(LINE_TYPE), line_types.charge_frequency))


def _pricing_category(lines: CurLines) -> pa.Array:
    coded = recode(lines.text(LINE_TYPE), line_types.pricing_category)
    if lines.has(_USAGE_TYPE):
        spot = recode(lines.text(_USAGE_TYPE), lambda text: text if "SpotUsage" in text else None)
        if spot.null_count < len(spot):
            is_spot = pc.and_(pc.is_valid(spot), lines.are(line_types.USAGE))
            coded = choose(is_spot, pa.scalar("Dynamic"), coded)
    return _for_leftover(lines, "Committed", coded)


def _service(lines: CurLines) -> pa.Array:
    """The product's name, else its code."""
    codes = [lines.text(_CODE)] if lines.has(_CODE) else []
    if lines.has(_PRODUCT):
        return first_of(lines.text(_PRODUCT), *codes)
    if lines.has(_PRODUCTS):
        return first_of(lines.batch.entry(lines.columns.name(_PRODUCTS), "product_name"), *codes)
    return first_of(*codes)


def _region(lines: CurLines) -> pa.Array:
    """The Region's code; in older reports derived from the availability zone or the location."""
    regions = [lines.text(name) for name in (_REGION, _OLD_REGION) if lines.has(name)]
    for name, region_of in ((_ZONE, locations.region_of_zone), (_LOCATION, locations.region_of_location)):
        if lines.has(name):
            regions.append(recode(lines.text(name), region_of))
    return first_of(*regions)


def _resource(lines: CurLines) -> pa.Array:
    """The resource; for shares the shared one, for an unused part the commitment."""
    resource = _plain(lines.batch.column(lines.columns.name(RESOURCE)))
    shares = lines.is_share()
    if pc.any(shares).as_py():
        resource = pc.if_else(shares, _plain(lines.text(SPLIT_PARENT)), resource)
    unused = lines.is_unused()
    return resource if unused is None else pc.if_else(unused, _plain(_commitment(lines)), resource)


def _plain(values: pa.Array) -> pa.Array:
    decoded = values.dictionary_decode() if isinstance(values, pa.DictionaryArray) else values
    return decoded.cast(pa.string())


def _commitment(lines: CurLines) -> pa.Array:
    """The ARN of the reservation or savings plan that a line pays, uses or leaves unused."""
    arns = [lines.text(name) for name in (RESERVATION, PLAN) if lines.has(name)]
    return first_of(*arns) if arns else lines.batch.constant(None)


def _by_commitment(reservation: str, plan: str) -> Maker:
    def column(lines: CurLines) -> pa.Array:
        pairs = ((RESERVATION, reservation), (PLAN, plan))
        return first_of(
            *(_constant_where_set(lines, name, value) for name, value in pairs if lines.has(name))
        )

    return column


def _constant_where_set(lines: CurLines, name: str, value: str) -> pa.DictionaryArray:
    return recode(lines.text(name), lambda _: value)


def _commitment_status(lines: CurLines) -> pa.Array:
    """Used for covered usage, Unused for the unused part of a fee; null for purchases."""
    return _for_leftover(lines, "Unused", recode(lines.text(LINE_TYPE), line_types.commitment_status))


def _commitment_quantity(lines: CurLines) -> pa.Array:
    """Units of usage for reservations (normalized if instances differ in size), money for savings plans.

    Source: FOCUS 1.2, CommitmentDiscountQuantity: measured in the unit of the commitment; its appendix on
    flexibility.
    """
    none = pa.nulls(lines.batch.size, MONEY)
    return lines.replace(none, lines.are(*line_types.COVERED, *line_types.RECURRING_FEES), _quantity)


def _quantity(lines: CurLines) -> pa.Array:
    used = lines.first_amount(_NORMALIZED, USAGE)
    of_plan = pc.if_else(
        lines.are(line_types.PLAN_FEE), lines.amount(cur_costs.COMMITTED), cur_costs.effective_cost(lines)
    )
    quantity = pc.if_else(lines.are(line_types.COVERED_BY_RESERVATION), used, pa.scalar(None, MONEY))
    quantity = pc.if_else(lines.are(line_types.RESERVATION_FEE), lines.first_amount(*_RESERVED), quantity)
    quantity = pc.if_else(lines.are(line_types.COVERED_BY_PLAN, line_types.PLAN_FEE), of_plan, quantity)
    unused = lines.is_unused()
    if unused is None:
        return quantity
    reservation = lines.are(line_types.RESERVATION_FEE)
    left = pc.if_else(reservation, lines.first_amount(*_UNUSED_UNITS), cur_costs.unused_cost(lines))
    return pc.if_else(unused, left, quantity)


def _commitment_unit(lines: CurLines) -> pa.Array:
    """The currency for savings plans; normalized hours, else the unit of usage, for reservations."""
    plan = lines.are(line_types.COVERED_BY_PLAN, line_types.PLAN_FEE)
    unit = choose(pc.invert(plan), NO_TEXT, lines.text(_CURRENCY))
    reservation = lines.are(line_types.COVERED_BY_RESERVATION, line_types.RESERVATION_FEE)
    if not lines.has(_UNIT) or not pc.any(reservation).as_py():
        return unit
    unit = choose(reservation, lines.text(_UNIT), unit)
    normalized = pc.or_(is_nonzero(lines.amount(_NORMALIZED)), is_nonzero(lines.amount(_RESERVED[0])))
    return choose(pc.and_(reservation, normalized), pa.scalar("Normalized Hours"), unit)


def _allocated_resource(lines: CurLines) -> pa.Array:
    """The pod or task that gets a share of a line."""
    allocations = _is_allocation(lines)
    if not pc.any(allocations).as_py():
        return lines.batch.constant(None)
    return choose(pc.invert(allocations), NO_TEXT, lines.text(RESOURCE))


def _allocation_method(lines: CurLines) -> pa.Array:
    return choose(_is_allocation(lines), pa.scalar(SPLIT_METHOD), lines.batch.constant(None))


def _is_allocation(lines: CurLines) -> pa.Array:
    shares = lines.is_share()
    return shares if lines.second is None else pc.and_(shares, pc.invert(lines.second))


def _amount_of_usage(name: str) -> Maker:
    return lambda lines: _of_usage(lines, lines.amount(name))


def _text_of_usage(name: str) -> Maker:
    return lambda lines: _of_usage(lines, lines.text(name))


MADE: Final[Mapping[str, tuple[Maker, tuple[str, ...]]]] = {
    "BilledCost": (cur_costs.billed_cost, BILLED_COLUMNS),
    "EffectiveCost": (cur_costs.effective_cost, EFFECTIVE_COLUMNS),
    "ListCost": (_list_cost, (LIST_COST, *BILLED_COLUMNS)),
    "ContractedCost": (_contracted_cost, BILLED_COLUMNS),
    "ListUnitPrice": (_amount_of_usage(LIST_PRICE), (LIST_PRICE, LINE_TYPE)),
    "ContractedUnitPrice": (_contracted_price, (RATE, _NET_RATE, LINE_TYPE)),
    "PricingQuantity": (_amount_of_usage(USAGE), (USAGE, LINE_TYPE)),
    "PricingUnit": (_text_of_usage(_UNIT), (_UNIT, LINE_TYPE)),
    "ConsumedQuantity": (_amount_of_usage(USAGE), (USAGE, LINE_TYPE)),
    "ConsumedUnit": (_text_of_usage(_UNIT), (_UNIT, LINE_TYPE)),
    "ChargeCategory": (_charge_category, (LINE_TYPE,)),
    "ChargeFrequency": (_charge_frequency, (LINE_TYPE,)),
    "PricingCategory": (_pricing_category, (LINE_TYPE, _USAGE_TYPE)),
    "ProviderName": (lambda lines: lines.batch.constant("AWS"), (LINE_TYPE,)),
    "ServiceName": (_service, (_CODE, _PRODUCT, _PRODUCTS)),
    "RegionId": (_region, (_ZONE, _REGION, _OLD_REGION, _LOCATION)),
    "ResourceId": (_resource, (RESOURCE, *_COMMITMENTS)),
    "CommitmentDiscountId": (_commitment, (LINE_TYPE, RESERVATION, PLAN)),
    "CommitmentDiscountType": (
        _by_commitment("Reserved Instance", "Savings Plan"),
        (LINE_TYPE, RESERVATION, PLAN),
    ),
    "CommitmentDiscountCategory": (_by_commitment("Usage", "Spend"), (LINE_TYPE, RESERVATION, PLAN)),
    "CommitmentDiscountStatus": (_commitment_status, _COMMITMENTS),
    "CommitmentDiscountQuantity": (_commitment_quantity, _QUANTITIES),
    "CommitmentDiscountUnit": (_commitment_unit, (_CURRENCY, LINE_TYPE, _UNIT, _NORMALIZED, _RESERVED[0])),
    "AllocatedResourceId": (_allocated_resource, (SPLIT_PARENT, RESOURCE)),
    "AllocatedMethodId": (_allocation_method, (SPLIT_PARENT,)),
}
"""FOCUS column -> its function, and the report's columns that it uses: the first is mandatory; for ServiceName and
RegionId, any of them."""
