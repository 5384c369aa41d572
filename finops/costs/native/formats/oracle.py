"""Oracle's own cost reports. See docs/native-formats.md, “Oracle Cloud”.

Sources: Oracle, “Cost and Usage Reports” (schema of the cost report), and the columns of its own FOCUS reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.columns import fold
from finops.costs.focus.rows import moments
from finops.costs.native.native_batch import NativeBatch, recode
from finops.costs.native.native_format import NativeFormat, NativeMapping
from finops.lake.schema import MONEY

_COST, _START = "cost/myCost", "lineItem/intervalUsageStart"
_TAGS: Final = "tags/"

_COPIES: Final[Mapping[str, str]] = {
    "BillingCurrency": "cost/currencyCode",
    "ChargePeriodStart": _START,
    "ChargePeriodEnd": "lineItem/intervalUsageEnd",
    "ChargeDescription": "product/Description",
    "ServiceName": "product/service",
    "RegionId": "product/region",
    "AvailabilityZone": "product/availabilityDomain",
    "ResourceId": "product/resourceId",
    "SubAccountId": "lineItem/tenantId",
    "BillingAccountId": "cost/subscriptionId",
    "SkuId": "cost/productSku",
    "ConsumedQuantity": "usage/billedQuantity",
    "ConsumedUnit": "cost/skuUnitDescription",
    "PricingQuantity": "usage/billedQuantity",
    "PricingUnit": "cost/skuUnitDescription",
    "ContractedUnitPrice": "cost/unitPrice",
    "x_AttributedCost": "cost/attributedCost",
    "x_AttributedUsage": "usage/attributedUsage",
    "x_BackReferenceNumber": "lineItem/backreferenceNo",
    "x_BilledQuantityOverage": "usage/billedQuantityOverage",
    "x_BillingUnit": "cost/billingUnitReadable",
    "x_CompartmentId": "product/compartmentId",
    "x_CompartmentName": "product/compartmentName",
    "x_CostOverage": "cost/myCostOverage",
    "x_OverageFlag": "cost/overageFlag",
    "x_ReferenceNumber": "lineItem/referenceNo",
    "x_UnitPriceOverage": "cost/unitPriceOverage",
}
"""FOCUS (or x_) column -> the column that it copies."""

_CATEGORIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("COMPUTE", "FUNCTIONS", "CONTAINER_INSTANCES", "CONTAINERENGINE", "OKE"), "Compute"),
    **dict.fromkeys(("BLOCK_STORAGE", "OBJECTSTORE", "OBJECT_STORAGE", "FILE_STORAGE"), "Storage"),
    **dict.fromkeys(("NETWORK", "VIRTUAL_NETWORK", "LOAD_BALANCER", "FASTCONNECT", "DNS"), "Networking"),
    **dict.fromkeys(("DATABASE", "MYSQL", "NOSQL", "POSTGRESQL", "EXADATA"), "Databases"),
    **dict.fromkeys(("TELEMETRY", "LOGGING", "MONITORING", "NOTIFICATIONS"), "Management and Governance"),
    **dict.fromkeys(("KMS", "VAULT", "WAF", "CLOUD_GUARD"), "Security"),
    **dict.fromkeys(("ANALYTICS", "DATA_FLOW", "BIG_DATA", "DATASCIENCE"), "Analytics"),
    **dict.fromkeys(("STREAMING", "QUEUE", "APIGW", "INTEGRATION"), "Integration"),
}
"""Categories as in Oracle's FOCUS reports; services not listed are Other."""

_CODES: Final[Mapping[str, tuple[str, Callable[[str], str | None]]]] = {
    "ChargeClass": ("lineItem/isCorrection", lambda flag: "Correction" if flag.lower() == "true" else None),
    "ServiceCategory": ("product/service", lambda name: _CATEGORIES.get(name.upper(), "Other")),
    "ResourceType": ("product/resourceId", lambda ocid: _resource_type(ocid)),
    "SubAccountType": ("lineItem/tenantId", lambda _: "Tenancy"),
}
"""FOCUS column -> the column that it derives from, and the function of each different text."""

_CONSTANTS: Final = {
    "ChargeCategory": "Usage",
    "ChargeFrequency": "Usage-Based",
    "ProviderName": "Oracle",
    "PublisherName": "Oracle",
    "InvoiceIssuerName": "Oracle",
}


class OracleFormat(NativeFormat):
    title = "Oracle Cloud cost report"

    def recognises(self, names: Sequence[str]) -> bool:
        """Return whether it is a cost report; a usage report has no cost."""
        return {fold(_COST), fold(_START)} <= {fold(name) for name in names}

    def mapping(self, names: Sequence[str], file: str) -> OracleMapping:
        return OracleMapping(names)


class OracleMapping(NativeMapping):
    """The mapping of one file. Corrections are separate lines, which add up with the lines that they correct."""

    title = OracleFormat.title

    def __init__(self, names: Sequence[str]) -> None:
        self._names = {fold(name): name for name in reversed(names)}
        self._tags = {
            name[len(_TAGS) :]: name
            for name in names
            if name.lower().startswith(_TAGS) and name[len(_TAGS) :]
        }
        sources = {**_COPIES, **{column: native for column, (native, _) in _CODES.items()}}
        cost = self._names[fold(_COST)]
        self.columns = {
            **dict.fromkeys(("BilledCost", "EffectiveCost", "ContractedCost"), (cost,)),
            "BillingPeriodStart": (self._names[fold(_START)],),
            **{
                column: (self._names[fold(native)],)
                for column, native in sources.items()
                if fold(native) in self._names
            },
            **dict.fromkeys(_CONSTANTS, ()),
            **({"Tags": tuple(self._tags.values())} if self._tags else {}),
        }
        self.sources = sources
        self.plain = frozenset(
            {
                cost,
                *(
                    self.columns[name][0]
                    for name in ("ConsumedQuantity", "ResourceId")
                    if name in self.columns
                ),
            }
        )
        self._without_cost = 0

    def begin(self) -> None:
        self._without_cost = 0

    def column(self, name: str, batch: NativeBatch) -> pa.Array:
        if name in ("BilledCost", "EffectiveCost", "ContractedCost"):
            return self._cost(name, batch)
        if name == "BillingPeriodStart":
            return self._month(batch)
        if name == "Tags":
            return pa.StructArray.from_arrays(
                [batch.text(each) for each in self._tags.values()], list(self._tags)
            )
        if name in _CONSTANTS:
            return batch.constant(_CONSTANTS[name])
        if name in _CODES:
            return recode(batch.text(self.columns[name][0]), _CODES[name][1])
        return batch.column(self.columns[name][0])

    def notes(self) -> Sequence[str]:
        notes = [
            "BilledCost and EffectiveCost are cost/myCost: the report does not show prepayments of a subscription.",
            "ListCost is empty: the report has no list price.",
        ]
        if self._without_cost:
            notes.append(f"Lines without cost/myCost, imported with 0: {self._without_cost:,}.")
        return notes

    def _cost(self, name: str, batch: NativeBatch) -> pa.Array:
        """Return the cost; usage that is not charged may have none."""
        cost = batch.amount(self.columns[name][0])
        if name == "BilledCost":
            self._without_cost += cost.null_count
        return pc.fill_null(cost, pa.scalar(0, MONEY))

    def _month(self, batch: NativeBatch) -> pa.Array:
        """Return the calendar month of the usage in UTC: the report has no billing period."""
        native = self.columns["BillingPeriodStart"][0]
        starts = moments(batch.column(native), native, lambda: pa.nulls(batch.size, pa.date32()))
        return pc.floor_temporal(starts, unit="month")


def _resource_type(ocid: str) -> str | None:
    """Return the type in an OCID: ocid1.instance.oc1.phx.… is an instance; null for other ids."""
    parts = ocid.split(".")
    return parts[1] if len(parts) > 3 and parts[0].startswith("ocid") else None
