"""A file of Google's billing export as FOCUS columns. Sources: Google, “FOCUS BigQuery view” and “Structure of Detailed data
export”; the rules and where ours differ are in docs/native-formats.md, “Google Cloud”.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus import amounts
from finops.costs.focus.columns import fold
from finops.costs.focus.errors import BadCell
from finops.costs.focus.jsontext import as_text
from finops.costs.focus.report import Findings
from finops.costs.focus.rows import moments
from finops.costs.native.google.records import entries, field_of, list_text, tags_of, total_of
from finops.costs.native.native_batch import NativeBatch, encode, first_of, recode
from finops.costs.native.native_format import NativeMapping
from finops.lake.schema import MOMENT, MONEY

_DATA: Final = Path(__file__).parents[1] / "data"
_PACIFIC: Final = ZoneInfo("America/Los_Angeles")
"""The time zone of Google's invoice months."""

_WIDE: Final = pa.decimal256(38, 18)
_CATEGORIES: Final = {
    "regular": "Usage",
    "tax": "Tax",
    "adjustment": "Adjustment",
    "rounding_error": "Adjustment",
}
_CUD_CATEGORIES: Final = {
    "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE": "Spend",
    "COMMITTED_USAGE_DISCOUNT": "Usage",
}
_TYPE_PARTS: Final = re.compile(
    r"//|googleapis\.com/|projects/[^/]+/|project_commitments/[^/]+/|locations/[^/]+/|regions/[^/]+/|zones/[^/]+/|global/|/[^/]+"
)

# Our name of a column -> its path in BigQuery. CSV has the path as one name: service.description, service_description.
PATHS: Final[Mapping[str, str]] = {
    "account": "billing_account_id",
    "month": "invoice.month",
    "cost_type": "cost_type",
    "service_id": "service.id",
    "service": "service.description",
    "sku_id": "sku.id",
    "sku": "sku.description",
    "start": "usage_start_time",
    "end": "usage_end_time",
    "project_id": "project.id",
    "project_name": "project.name",
    "project_number": "project.number",
    "project_labels": "project.labels",
    "ancestry": "project.ancestry_numbers",
    "labels": "labels",
    "system_labels": "system_labels",
    "tags": "tags",
    "location": "location.location",
    "region": "location.region",
    "zone": "location.zone",
    "cost": "cost",
    "list_cost": "cost_at_list",
    "currency": "currency",
    "rate": "currency_conversion_rate",
    "amount": "usage.amount",
    "unit": "usage.unit",
    "priced_amount": "usage.amount_in_pricing_units",
    "priced_unit": "usage.pricing_unit",
    "effective_price": "price.effective_price",
    "list_price": "price.list_price",
    "credits": "credits",
    "adjustment_id": "adjustment_info.id",
    "adjustment_description": "adjustment_info.description",
    "adjustment_mode": "adjustment_info.mode",
    "adjustment_type": "adjustment_info.type",
    "seller": "seller_name",
    "transaction_type": "transaction_type",
    "subscription": "subscription.instance_id",
    "resource": "resource.name",
    "resource_id": "resource.global_name",
    "export_time": "export_time",
    "consumption_model": "consumption_model.description",
}
_EXTENSIONS: Final = {
    "x_AdjustmentMode": "adjustment_mode",
    "x_AdjustmentType": "adjustment_type",
    "x_AncestryNumbers": "ancestry",
    "x_ConsumptionModel": "consumption_model",
    "x_Cost": "cost",
    "x_CostType": "cost_type",
    "x_Credits": "credits",
    "x_CurrencyConversionRate": "rate",
    "x_ExportTime": "export_time",
    "x_Location": "location",
    "x_ProjectNumber": "project_number",
    "x_ServiceId": "service_id",
    "x_TransactionType": "transaction_type",
}
_ADJUSTMENT: Final = ("adjustment_id", "adjustment_description", "adjustment_mode", "adjustment_type")
_TAGS: Final = ("labels", "tags", "project_labels", "system_labels")


def places_of(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return our name of a column -> the file's column, and the path inside it if that is a record."""
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(fold(name), name)
    places: dict[str, tuple[str, str]] = {}
    for column, path in PATHS.items():
        first, _, subpath = path.partition(".")
        if fold(path) in folded:
            places[column] = folded[fold(path)], ""
        elif subpath and first in folded:
            places[column] = folded[first], subpath
    return places


class GoogleMapping(NativeMapping):
    """The mapping of one file. In Parquet a record may lack a field, which is then null in every line."""

    def __init__(self, names: Sequence[str]) -> None:
        self.place = places_of(names)
        detailed = {"resource", "resource_id"} & self.place.keys()
        self.title = f"Google Cloud billing export ({'detailed' if detailed else 'standard'} usage cost)"
        self._rules = {name: rule for name, rule in _RULES.items() if set(rule.needs) <= self.place.keys()}
        self.columns = {name: self._native(*rule.needs, *rule.also) for name, rule in self._rules.items()}
        self.sources = {name: PATHS[rule.needs[0]] for name, rule in _RULES.items() if rule.needs}
        self.plain = frozenset(
            self._native("cost", "list_cost", "amount", "priced_amount", "resource_id", "resource")
        )

    def column(self, name: str, batch: NativeBatch) -> pa.Array:
        return self._rules[name].make(self, batch)

    def notes(self) -> Sequence[str]:
        notes = [
            "BilledCost and EffectiveCost are cost with its credits, as in Google's FOCUS view; x_Cost and x_Credits have the parts."
        ]
        if "month" not in self.place:
            notes.append(
                "BillingPeriodStart is the month of the usage in Pacific time: the export has no invoice.month."
            )
        if "list_cost" not in self.place:
            notes.append("ListCost is empty: the export has no cost_at_list.")
        return notes

    def values(self, name: str, batch: NativeBatch) -> pa.Array:
        """Return the file's column; null in every line if the file lacks it."""
        if name not in self.place:
            return pa.nulls(batch.size, pa.string())
        native, path = self.place[name]
        values = batch.column(native)
        return field_of(values, path, native) if path else values

    def text(self, name: str, batch: NativeBatch) -> pa.DictionaryArray:
        if name in self.place and not self.place[name][1]:
            return batch.text(self.place[name][0])
        values = self.values(name, batch)
        return encode(values.cast(pa.string()) if pa.types.is_null(values.type) else values, PATHS[name])

    def amount(self, name: str, batch: NativeBatch) -> pa.Array:
        """Return exact decimals. BadCell for an invalid number."""
        if name in self.place and not self.place[name][1]:
            return batch.amount(self.place[name][0])
        return amounts.amount(self.values(name, batch), PATHS[name], Findings(), None)

    def _native(self, *names: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.place[name][0] for name in names if name in self.place))


class _Rule(NamedTuple):
    """The rule of a FOCUS column: the file columns that it requires, and those that it uses if present."""

    make: Callable[[GoogleMapping, NativeBatch], pa.Array]
    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


def _net_cost(mapping: GoogleMapping, batch: NativeBatch) -> pa.Array:
    cost = mapping.amount("cost", batch)
    if "credits" not in mapping.place:
        return cost
    credits_ = total_of(batch, mapping.place["credits"][0])
    return pc.add(cost.cast(_WIDE), credits_.cast(_WIDE)).cast(MONEY)


def _category(mapping: GoogleMapping, batch: NativeBatch) -> pa.Array:
    types = recode(mapping.text("cost_type", batch), lambda text: _CATEGORIES.get(text.lower(), text))
    return first_of(types, batch.constant("Usage"))


def _charge_class(mapping: GoogleMapping, batch: NativeBatch) -> pa.Array:
    adjustments = first_of(*(mapping.text(name, batch) for name in _ADJUSTMENT))
    return recode(adjustments, lambda _: "Correction")


def _period_start(mapping: GoogleMapping, batch: NativeBatch) -> pa.Array:
    """Return the start of the invoice month in Pacific time; without one, the month of the usage there."""
    months = mapping.text("month", batch)
    starts: list[datetime | None] = []
    for place, text in enumerate(months.dictionary.to_pylist()):
        start = _month(text)
        if start is None and (index := pc.index(months.indices, place).as_py()) >= 0:
            raise BadCell(PATHS["month"], index, text, "is not a month such as 202605")
        starts.append(start)
    of_invoice = pa.array(starts, MOMENT).take(months.indices)
    if not of_invoice.null_count:
        return of_invoice
    moments = _moments(mapping, batch)
    local = pc.local_timestamp(moments.cast(pa.timestamp("us", tz=_PACIFIC.key)))
    of_usage = pc.assume_timezone(pc.floor_temporal(local, unit="month"), timezone=_PACIFIC.key).cast(MOMENT)
    return pc.coalesce(of_invoice, of_usage)


@cache
def _month(text: str) -> datetime | None:
    match = re.fullmatch(r"(20\d\d)-?(0[1-9]|1[0-2])(?:\.0)?", text.strip())
    return datetime(int(match[1]), int(match[2]), 1, tzinfo=_PACIFIC).astimezone(UTC) if match else None


def _moments(mapping: GoogleMapping, batch: NativeBatch) -> pa.Array:
    values = mapping.values("start", batch)
    return moments(values, PATHS["start"], lambda: pa.nulls(batch.size, pa.date32()))


def _regular_only(mapping: GoogleMapping, batch: NativeBatch, values: pa.Array) -> pa.Array:
    """Return null for tax and adjustments, which consume nothing."""
    if "cost_type" not in mapping.place:
        return values
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    types = pc.fill_null(pc.utf8_lower(mapping.text("cost_type", batch).dictionary_decode()), "regular")
    return pc.if_else(pc.equal(types, "regular"), plain, pa.scalar(None, plain.type))


def _usage_only(name: str) -> _Rule:
    return _Rule(lambda m, b: _regular_only(m, b, m.values(name, b)), (name,), ("cost_type",))


def _copy(name: str) -> _Rule:
    return _Rule(lambda mapping, batch: mapping.values(name, batch), (name,))


def _text_copy(name: str) -> _Rule:
    """Return the column as text: lists and records as JSON, times in ISO 8601."""
    return _Rule(lambda mapping, batch: as_text(mapping.values(name, batch)), (name,))


def _amount_copy(name: str) -> _Rule:
    return _Rule(lambda mapping, batch: mapping.amount(name, batch), (name,))


def _constant(value: str) -> _Rule:
    return _Rule(lambda _mapping, batch: batch.constant(value))


def _cud(mapping: GoogleMapping, batch: NativeBatch, name: str) -> pa.DictionaryArray:
    """Return a field of the first credit of a committed use discount."""
    native = mapping.place["credits"][0]
    return recode(list_text(batch.column(native), native), lambda text: _cud_field(text, name))


def _cud_field(text: str, name: str) -> str | None:
    if "COMMITTED_USAGE_DISCOUNT" not in text:
        return None
    entry = next((each for each in entries(text) if str(each.get("type")).upper() in _CUD_CATEGORIES), {})
    return str(entry[name]) if entry.get(name) else None


def _cud_rule(code: Callable[[str], str | None], name: str = "type") -> _Rule:
    return _Rule(lambda mapping, batch: recode(_cud(mapping, batch, name), code), ("credits",))


def _commitment_status(mapping: GoogleMapping, batch: NativeBatch) -> pa.Array:
    """Return Used where a committed use discount applies; null without the commitment's id, as FOCUS requires."""
    used = recode(_cud(mapping, batch, "type"), lambda _: "Used").dictionary_decode()
    has_id = pc.is_valid(mapping.text("subscription", batch))
    return pc.if_else(has_id, used, pa.scalar(None, pa.string())).dictionary_encode()


def _pricing_category(mapping: GoogleMapping, batch: NativeBatch) -> pa.Array:
    """Return Committed where a committed use discount applies and for its fee, as in Google's view."""
    fee = recode(
        mapping.text("sku", batch), lambda sku: "Committed" if sku.lower().startswith("commitment") else None
    )
    discounted = (
        recode(_cud(mapping, batch, "type"), lambda _: "Committed") if "credits" in mapping.place else fee
    )
    return _regular_only(mapping, batch, first_of(fee, discounted, batch.constant("Standard")))


def _publisher(mapping: GoogleMapping, batch: NativeBatch) -> pa.Array:
    google = recode(
        mapping.text("transaction_type", batch), lambda type_: "Google Cloud" if type_ == "GOOGLE" else None
    )
    return first_of(google, mapping.text("seller", batch), batch.constant("Google Cloud"))


def _resource_type(global_name: str) -> str | None:
    return _TYPE_PARTS.sub("", global_name) or None if global_name.startswith("//") else None


@cache
def _service_categories() -> Mapping[str, str]:
    with (_DATA / "GoogleServices.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["ConsumedService"].lower(): row["ServiceCategory"] for row in csv.DictReader(file)}


def _tags(mapping: GoogleMapping, batch: NativeBatch) -> pa.Array:
    columns = [list_text(mapping.values(name, batch), PATHS[name]) for name in _TAGS if name in mapping.place]
    return tags_of(columns) if columns else batch.constant(None)


_RULES: Final[Mapping[str, _Rule]] = {
    "BilledCost": _Rule(_net_cost, ("cost",), ("credits",)),
    "EffectiveCost": _Rule(_net_cost, ("cost",), ("credits",)),
    "ContractedCost": _amount_copy("cost"),
    "ListCost": _amount_copy("list_cost"),
    "BillingCurrency": _copy("currency"),
    "BillingPeriodStart": _Rule(_period_start, ("start",), ("month",)),
    "ChargePeriodStart": _copy("start"),
    "ChargePeriodEnd": _copy("end"),
    "ChargeCategory": _Rule(_category, (), ("cost_type",)),
    "ChargeClass": _Rule(_charge_class, (), _ADJUSTMENT),
    "ChargeDescription": _copy("sku"),
    "CommitmentDiscountId": _copy("subscription"),
    "CommitmentDiscountName": _cud_rule(lambda text: text, "full_name"),
    "CommitmentDiscountCategory": _cud_rule(lambda text: _CUD_CATEGORIES[text.upper()]),
    "CommitmentDiscountType": _cud_rule(lambda _: "Committed Use Discount"),
    "CommitmentDiscountStatus": _Rule(_commitment_status, ("credits", "subscription")),
    "ConsumedQuantity": _usage_only("amount"),
    "ConsumedUnit": _usage_only("unit"),
    "PricingQuantity": _usage_only("priced_amount"),
    "PricingUnit": _usage_only("priced_unit"),
    "ContractedUnitPrice": _copy("effective_price"),
    "ListUnitPrice": _copy("list_price"),
    "PricingCategory": _Rule(_pricing_category, ("sku",), ("credits", "cost_type")),
    "ProviderName": _constant("Google Cloud"),
    "InvoiceIssuerName": _constant("Google Cloud"),
    "PublisherName": _Rule(_publisher, (), ("transaction_type", "seller")),
    "BillingAccountId": _copy("account"),
    "SubAccountId": _copy("project_id"),
    "SubAccountName": _Rule(
        lambda m, b: first_of(m.text("project_name", b), m.text("project_id", b)),
        ("project_id",),
        ("project_name",),
    ),
    "SubAccountType": _Rule(
        lambda m, b: recode(m.text("project_id", b), lambda _: "Project"), ("project_id",)
    ),
    "RegionId": _Rule(
        lambda m, b: first_of(m.text("region", b), m.text("location", b)), (), ("region", "location")
    ),
    "AvailabilityZone": _copy("zone"),
    "ResourceId": _copy("resource_id"),
    "ResourceName": _copy("resource"),
    "ResourceType": _Rule(lambda m, b: recode(m.text("resource_id", b), _resource_type), ("resource_id",)),
    "ServiceName": _Rule(
        lambda m, b: first_of(m.text("service", b), m.text("service_id", b)), ("service",), ("service_id",)
    ),
    "ServiceCategory": _Rule(
        lambda m, b: recode(
            m.text("service", b), lambda name: _service_categories().get(name.lower(), "Other")
        ),
        ("service",),
    ),
    "SkuId": _usage_only("sku_id"),
    "SkuMeter": _copy("sku"),
    "Tags": _Rule(_tags, (), _TAGS),
    **{name: _text_copy(path) for name, path in _EXTENSIONS.items()},
}
