"""One file of an Azure export as FOCUS columns. Source of the rules: Microsoft, “Convert cost and usage data to FOCUS”.

The rules are in docs/native-formats.md, “Azure”; how two exports become one bill in `pair.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.values import DateOrder
from finops.costs.native.azure import columns as names_of
from finops.costs.native.azure import dates, resources
from finops.costs.native.azure.charges import CHARGE, Charges
from finops.costs.native.azure.decimals import decimals, product
from finops.costs.native.azure.pair import ExportRole, Pair, Tally, alone_note
from finops.costs.native.azure.reference import region_of, unit_of
from finops.costs.native.native_batch import NativeBatch, first_of, recode
from finops.costs.native.native_format import NativeMapping
from finops.lake.schema import MONEY

_FREQUENCIES: Final = {"usagebased": "Usage-Based", "onetime": "One-Time", "recurring": "Recurring"}


class AzureMapping(NativeMapping):
    """The mapping of one file. `role` is set after all files of an import are known."""

    def __init__(self, names: Sequence[str], file_name: str) -> None:
        self.file_name = file_name
        agreement = names_of.agreement(names)
        self.title = f"Azure cost export{f' of a {agreement}' if agreement else ''}".replace(" a E", " an E")
        self.place = names_of.positions(names)
        self._extensions = names_of.extensions(names)
        self.is_customer_agreement = "Customer" in agreement
        self._rules = {name: rule for name, rule in (*_ELSE.items(), *_RULES.items()) if self._has(rule)}
        self.columns = {
            **{name: self.native(*rule.needs, *rule.also) for name, rule in self._rules.items()},
            **{name: (native,) for name, native in self._extensions.items()},
        }
        self.sources = {"BilledCost": "Cost", "EffectiveCost": "Cost", "BillingCurrency": "BillingCurrency"}
        self.sources |= {name: columns[0] for name, columns in self.columns.items() if columns}
        self.plain = frozenset(self.place[name] for name in names_of.PLAIN if name in self.place)
        self.role = ExportRole.ALONE
        self.date_order = DateOrder.MONTH_FIRST
        self.date_note = ""
        self.tally = Tally()
        self._pair: Pair | None = None
        self._charges: Charges | None = None
        self._shared_batch: NativeBatch | None = None
        self._shared: dict[str, pa.DictionaryArray] = {}

    def join(self, pair: Pair) -> None:
        """Set the role of this file in an import with files of both exports."""
        self._pair = pair
        self.needed = self.native(*CHARGE, "cost", "currency", "date", "period_start")

    def begin(self) -> None:
        self.tally = Tally()
        self.end()

    def end(self) -> None:
        self._charges = self._shared_batch = None
        self._shared = {}

    def prepare(self, batch: NativeBatch) -> NativeBatch:
        if self.role is ExportRole.ALONE:
            return batch
        charges = Charges(batch, self.place)
        is_of_role = charges.amortized if self.role is ExportRole.AMORTIZED else pc.invert(charges.amortized)
        months = pc.strftime(dates.period_start(self, batch), format="%Y-%m")
        self.tally.count(
            charges, months, self.text("currency", batch), batch.column(self.place["cost"]), is_of_role
        )
        return batch.take(pc.indices_nonzero(is_of_role))

    def column(self, name: str, batch: NativeBatch) -> pa.Array:
        if name in self._extensions:
            return _extension(name, self._extensions[name], batch)
        return self._rules[name].make(self, batch)

    def notes(self) -> Sequence[str]:
        """Return the notes. FocusFileError if the two exports are of different months."""
        measures = self._pair.notes(self) if self._pair else [alone_note(self)]
        return [*measures, *([self.date_note] if self.date_note else []), *_absent(self)]

    def charges(self, batch: NativeBatch) -> Charges:
        """Return the charges of a batch, computed once."""
        if self._charges is None or self._charges.batch is not batch:
            self._charges = Charges(batch, self.place)
        return self._charges

    def once(
        self, name: str, batch: NativeBatch, make: Callable[[AzureMapping, NativeBatch], pa.DictionaryArray]
    ) -> pa.DictionaryArray:
        """Return a value that several columns of a batch use, computed once."""
        if self._shared_batch is not batch:
            self._shared_batch, self._shared = batch, {}
        if name not in self._shared:
            self._shared[name] = make(self, batch)
        return self._shared[name]

    def text(self, name: str, batch: NativeBatch) -> pa.DictionaryArray:
        return batch.text(self.place[name]) if name in self.place else batch.constant(None)

    def _has(self, rule: _Rule) -> bool:
        return all(name in self.place for name in rule.needs)

    def native(self, *names: str) -> tuple[str, ...]:
        """Return the file's columns of these names, if it has them."""
        return tuple(self.place[name] for name in names if name in self.place)


class _Rule(NamedTuple):
    """The rule of a FOCUS column: the file columns that it requires, and those that it uses if present."""

    make: Callable[[AzureMapping, NativeBatch], pa.Array]
    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


def _absent(mapping: AzureMapping) -> list[str]:
    """Return notes on what the export lacks, and on the values used instead."""
    place = mapping.place
    notes = []
    if "period_start" not in place:
        notes.append(
            "BillingPeriodStart is the calendar month of the charge: the export has no billing period."
        )
    if "charge_type" not in place:
        notes.append("ChargeCategory is Usage in every line: the export has no ChargeType.")
    if "subscription_name" not in place:
        notes.append("SubAccountName is empty: the export has no SubscriptionName.")
    if not {"payg_cost", "payg_price"} & place.keys():
        notes.append("ListCost is empty: the export has no pay-as-you-go price.")
    return notes


def _extension(name: str, native: str, batch: NativeBatch) -> pa.Array:
    if name == "x_SkuDetails":
        return recode(batch.text(native), resources.with_braces)
    return batch.column(native)


def _copy(name: str) -> _Rule:
    """Return the file's column unchanged."""
    return _Rule(lambda mapping, batch: batch.column(mapping.place[name]), (name,))


def _constant(value: str) -> _Rule:
    return _Rule(lambda _mapping, batch: batch.constant(value))


def _code(name: str, code: Callable[[str], str | None]) -> _Rule:
    """Return the column with each different value replaced."""
    return _Rule(lambda mapping, batch: recode(mapping.text(name, batch), code), (name,))


def _zero_where(mask: pa.Array, values: pa.Array) -> pa.Array:
    """Return 0 where the mask is true, in the type of the values; written numbers stay as written."""
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    return pc.if_else(mask, pa.scalar(0).cast(plain.type), plain)


def _billed_cost(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    cost = batch.column(mapping.place["cost"])
    if mapping.role is ExportRole.ALONE:
        mapping.tally.detect_role(mapping.charges(batch), cost)
        return cost
    return _zero_where(mapping.charges(batch).amortized, cost)


def _effective_cost(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    cost = batch.column(mapping.place["cost"])
    return cost if mapping.role is ExportRole.ALONE else _zero_where(mapping.charges(batch).bought, cost)


def _quantity(mapping: AzureMapping, batch: NativeBatch, price: str) -> pa.Array:
    return product(
        decimals(batch.column(mapping.place[price])), decimals(batch.column(mapping.place["quantity"]))
    )


def _rate(mapping: AzureMapping, batch: NativeBatch, amounts: pa.Array) -> pa.Array:
    """Return the rate from the pricing currency to the billing currency."""
    if not mapping.is_customer_agreement or "exchange_rate" not in mapping.place:
        return amounts
    rate = decimals(batch.column(mapping.place["exchange_rate"]))
    return product(amounts, rate)


def _contracted_cost(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    return _rate(mapping, batch, _quantity(mapping, batch, "unit_price"))


def _list(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    """Return the cost at pay-as-you-go prices. A price of 0 means none: purchases and Marketplace lines have it."""
    price = decimals(batch.column(mapping.place["payg_price"]))
    priced = pc.fill_null(pc.not_equal(price, pa.scalar(0, MONEY)), False)
    cost = _rate(mapping, batch, _quantity(mapping, batch, "payg_price"))
    return pc.if_else(priced, cost, pa.scalar(None, MONEY))


def _consumed_quantity(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    """Return the quantity in units (one 10K block is 10,000); only for use."""
    quantity = decimals(batch.column(mapping.place["quantity"]))
    measure = mapping.text("measure", batch)
    blocks = [(unit := unit_of(text)) and unit.block for text in measure.dictionary.to_pylist()]
    consumed = product(quantity, pa.array(blocks, MONEY).take(measure.indices))
    return pc.if_else(_usage(mapping, batch), consumed, pa.scalar(None, MONEY))


def _consumed_unit(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    units = recode(mapping.text("measure", batch), _unit_name).dictionary_decode()
    return pc.if_else(_usage(mapping, batch), units, pa.scalar(None, pa.string())).dictionary_encode()


def _usage(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    """Return lines of consumption: Usage without the unused parts of commitments."""
    charges = mapping.charges(batch)
    category = charges.category()
    usage = pc.equal(category.dictionary_decode(), "Usage")
    return pc.and_not(usage, charges.unused)


def _unit_name(measure: str) -> str | None:
    unit = unit_of(measure)
    return unit.name if unit else None


def _billing_account(mapping: AzureMapping, batch: NativeBatch, of: str) -> pa.Array:
    """Return the billing account; for a Customer Agreement the billing profile, which is invoiced."""
    account = mapping.text(f"billing_account_{of}", batch)
    if not mapping.is_customer_agreement:
        return account
    return first_of(mapping.text(f"billing_profile_{of}", batch), account)


def _account_type(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    profile = mapping.is_customer_agreement and "billing_profile_id" in mapping.place
    return batch.constant("Billing Profile" if profile else "Billing Account")


def _issuer(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    return first_of(mapping.text("partner_name", batch), batch.constant("Microsoft"))


def _publisher(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    """Return the publisher of a Marketplace line; Microsoft for what Azure itself sells."""
    own = recode(
        mapping.text("publisher_type", batch), lambda type_: None if type_ == "Marketplace" else "Microsoft"
    )
    return first_of(own, mapping.text("publisher_name", batch))


def _subscription(subscription: str) -> str:
    bare = subscription.lower()
    return bare if bare.startswith("/subscriptions/") else f"/subscriptions/{bare}"


def _services(of: int) -> _Rule:
    also = ("resource_id", "resource_type", "meter_category")
    return _Rule(lambda mapping, batch: resources.service(mapping, batch, of), ("consumed_service",), also)


def _commitment_rule(of_reservation: str, of_savings_plan: str) -> _Rule:
    return _Rule(
        lambda mapping, batch: mapping.charges(batch).commitment(of_reservation, of_savings_plan), (), CHARGE
    )


_ELSE: Final[Mapping[str, _Rule]] = {"ListCost": _Rule(_list, ("payg_price", "quantity"), ("exchange_rate",))}
"""Values for columns whose rule in `_RULES` lacks a file column."""

_RULES: Final[Mapping[str, _Rule]] = {
    "BilledCost": _Rule(_billed_cost, ("cost",), CHARGE),
    "EffectiveCost": _Rule(_effective_cost, ("cost",), CHARGE),
    "ContractedCost": _Rule(_contracted_cost, ("unit_price", "quantity"), ("exchange_rate",)),
    "ListCost": _copy("payg_cost"),
    "BillingCurrency": _copy("currency"),
    "BillingPeriodStart": _Rule(dates.period_start, ("date",), ("period_start",)),
    "BillingPeriodEnd": _Rule(dates.period_end, ("date",), ("period_start", "period_end")),
    "ChargePeriodStart": _Rule(dates.charge_start, ("date",)),
    "ChargePeriodEnd": _Rule(dates.charge_end, ("date",)),
    "ChargeCategory": _Rule(lambda m, b: m.charges(b).category(), (), CHARGE),
    "ChargeClass": _Rule(lambda m, b: m.charges(b).charge_class(), ("charge_type",), CHARGE),
    "ChargeFrequency": _code("frequency", lambda text: _FREQUENCIES.get(text.replace("-", "").lower(), text)),
    "ChargeDescription": _copy("description"),
    "PricingCategory": _Rule(lambda m, b: m.charges(b).pricing_category(), ("pricing_model",), CHARGE),
    "PricingCurrency": _copy("pricing_currency"),
    "PricingQuantity": _copy("quantity"),
    "PricingUnit": _code("measure", lambda text: _unit_name(text)),
    "ContractedUnitPrice": _copy("unit_price"),
    "ListUnitPrice": _copy("payg_price"),
    "ConsumedQuantity": _Rule(_consumed_quantity, ("quantity", "measure"), CHARGE),
    "ConsumedUnit": _Rule(_consumed_unit, ("quantity", "measure"), CHARGE),
    "CommitmentDiscountId": _Rule(lambda m, b: m.charges(b).commitment_id, (), CHARGE),
    "CommitmentDiscountName": _Rule(
        lambda m, b: first_of(m.text("benefit_name", b), m.text("reservation_name", b)),
        (),
        ("benefit_name", "reservation_name"),
    ),
    "CommitmentDiscountType": _commitment_rule("Reservation", "Savings Plan"),
    "CommitmentDiscountCategory": _commitment_rule("Usage", "Spend"),
    "CommitmentDiscountStatus": _Rule(lambda m, b: m.charges(b).status(), ("charge_type",), CHARGE),
    "CapacityReservationId": _code("details", resources.capacity_reservation),
    "ProviderName": _constant("Microsoft"),
    "PublisherName": _Rule(_publisher, ("publisher_type",), ("publisher_name",)),
    "InvoiceIssuerName": _Rule(_issuer, (), ("partner_name",)),
    "InvoiceId": _copy("invoice_id"),
    "BillingAccountId": _Rule(
        lambda m, b: _billing_account(m, b, "id"), ("billing_account_id",), ("billing_profile_id",)
    ),
    "BillingAccountName": _Rule(
        lambda m, b: _billing_account(m, b, "name"), ("billing_account_name",), ("billing_profile_name",)
    ),
    "BillingAccountType": _Rule(_account_type, ("billing_account_id",)),
    "SubAccountId": _code("subscription_id", _subscription),
    "SubAccountName": _copy("subscription_name"),
    "SubAccountType": _code("subscription_id", lambda _: "Subscription"),
    "RegionId": _code("resource_location", lambda text: region_of(text).id),
    "RegionName": _code("resource_location", lambda text: region_of(text).name),
    "AvailabilityZone": _copy("availability_zone"),
    "ServiceName": _services(0),
    "ServiceCategory": _services(1),
    "ServiceSubcategory": _services(2),
    "ResourceId": _Rule(resources.resource_id, ("resource_id",), CHARGE),
    "ResourceName": _Rule(resources.resource_name, ("resource_id",), ("resource_name",)),
    "ResourceType": _Rule(resources.resource_type, ("resource_id",), ("resource_type",)),
    "x_ResourceType": _Rule(resources.arm_type, ("resource_id",), ("resource_type",)),
    "x_ResourceGroupName": _Rule(resources.resource_group, ("resource_id",)),
    "SkuId": _copy("product_id"),
    "SkuMeter": _copy("meter_name"),
    "Tags": _copy("tags"),
}
