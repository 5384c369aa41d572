"""Made-up exports of Azure, and what they add up to by Python's csv and decimal modules alone."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal

Row = Mapping[str, str]

ENTERPRISE = {
    "BillingAccountId": "8611537",
    "BillingAccountName": "Example Company",
    "BillingPeriodStartDate": "09/01/2023",
    "BillingPeriodEndDate": "09/30/2023",
    "BillingProfileId": "8611537",
    "AccountOwnerId": "owner@example.com",
    "SubscriptionId": "1caaa5a3-2b66-438e-8ab4-bce37d518c5d",
    "SubscriptionName": "Research",
    "Date": "09/21/2023",
    "ProductName": "Virtual Machines BS Series - B1s - UK South",
    "PartNumber": "AAA-88134",
    "MeterId": "f31064a2-ed95-4e11-8b69-270f2fc4fbdd",
    "MeterCategory": "Virtual Machines",
    "MeterName": "B1s",
    "Quantity": "1",
    "UnitOfMeasure": "1 Hour",
    "UnitPrice": "3.25",
    "EffectivePrice": "3.25",
    "PayGPrice": "4",
    "CostInBillingCurrency": "3.25",
    "BillingCurrencyCode": "USD",
    "ResourceLocation": "uksouth",
    "ConsumedService": "Microsoft.Compute",
    "ResourceId": "/subscriptions/1caaa5a3/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines/vm-1",
    "ChargeType": "Usage",
    "Frequency": "UsageBased",
    "PricingModel": "OnDemand",
    "benefitId": "",
    "benefitName": "",
    "PublisherType": "Azure",
    "PublisherName": "Microsoft",
    "Tags": '"env": "prod","team": "core"',
    "AdditionalInfo": "",
}
RESERVATION = "/providers/Microsoft.Capacity/reservationOrders/49ED/reservations/1"
SAVINGS_PLAN = "/providers/Microsoft.BillingBenefits/savingsPlanOrders/77aa/savingsPlans/2"

PURCHASE = {
    "ChargeType": "Purchase",
    "PricingModel": "Reservation",
    "Frequency": "Recurring",
    "benefitId": RESERVATION,
    "benefitName": "VM_RI",
    "ConsumedService": "Microsoft.Capacity",
    "ResourceId": RESERVATION,
}
REFUND = {**PURCHASE, "ChargeType": "Refund"}
USED = {"PricingModel": "Reservation", "benefitId": RESERVATION, "benefitName": "VM_RI"}
UNUSED = {
    **USED,
    "ChargeType": "UnusedReservation",
    "ConsumedService": "Microsoft.Capacity",
    "ResourceId": RESERVATION,
}
PLAN_USED = {"PricingModel": "SavingsPlan", "benefitId": SAVINGS_PLAN, "benefitName": "Plan"}
PLAN_UNUSED = {**PLAN_USED, "ChargeType": "UnusedSavingsPlan"}


def export(*rows: Row, base: Row = ENTERPRISE, delimiter: str = ",") -> bytes:
    """An export with these lines; each says only how it differs from `base`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(base), delimiter=delimiter, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows({**base, **row} for row in rows)
    return text.getvalue().encode()


def of(kind: Row, cost: str, **more: str) -> Row:
    return {**kind, "CostInBillingCurrency": cost, **more}


def sums(
    data: bytes, keys: Sequence[str], where: Callable[[Row], bool] = bool
) -> dict[tuple[str, ...], Decimal]:
    """The cost of the file's lines by these columns, as Python's own modules read it."""
    totals: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    for row in csv.DictReader(io.StringIO(data.decode("utf-8-sig"))):
        if where(row):
            totals[tuple(row[key] for key in keys)] += Decimal(
                row.get("Cost") or row["CostInBillingCurrency"]
            )
    return {key: total for key, total in totals.items() if total}


def sums_of_rows(
    rows: Iterable[Mapping[str, object]], keys: Sequence[str], measure: str
) -> dict[tuple[object, ...], Decimal]:
    """The measure of imported lines by these columns."""
    totals: dict[tuple[object, ...], Decimal] = defaultdict(Decimal)
    for row in rows:
        amount = row[measure]
        assert isinstance(amount, Decimal)
        totals[tuple(row[key] for key in keys)] += amount
    return {key: total for key, total in totals.items() if total}
