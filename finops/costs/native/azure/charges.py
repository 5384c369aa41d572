"""The type of a line of an Azure export: usage, or purchase, use or unused part of a reservation or savings plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.columns import fold
from finops.costs.native.native_batch import NativeBatch, first_of, recode

CHARGE: Final = ("charge_type", "pricing_model", "benefit_id", "reservation_id", "order_id")
"""The columns that determine the type of a line."""

_PURCHASES: Final = ("purchase", "refund")
_UNUSED: Final = ("unusedreservation", "unusedsavingsplan")
_COMMITTED: Final = ("reservation", "savingsplan", "savingsplans")
_CATEGORIES: Final[Mapping[str, str]] = {
    "usage": "Usage",
    "unusedreservation": "Usage",
    "unusedsavingsplan": "Usage",
    "purchase": "Purchase",
    "refund": "Purchase",
    "tax": "Tax",
    "credit": "Credit",
}


class Charges:
    """Masks over the lines of one batch, without nulls. `place` has the columns of the file."""

    def __init__(self, batch: NativeBatch, place: Mapping[str, str]) -> None:
        self.batch = batch
        self._place = place
        self.commitment_id = self._commitment_id()
        unused = self._is("charge_type", _UNUSED)
        purchase = self._is("charge_type", _PURCHASES)
        covered = pc.or_(self._is("pricing_model", _COMMITTED), pc.is_valid(self.commitment_id))
        self.committed = pc.or_(covered, unused)
        """Lines of a reservation or savings plan."""
        self.bought = pc.and_(self.committed, purchase)
        """Its purchases and refunds: billed, with effective cost 0."""
        self.unused = unused
        self.used = pc.and_not(pc.and_not(self.committed, purchase), unused)
        self.amortized = pc.or_(self.used, self.unused)
        """Its use and unused part: effective, with billed cost 0."""

    def text(self, name: str) -> pa.DictionaryArray:
        """Return the column, or empty texts if the file lacks it."""
        if name in self._place:
            return self.batch.text(self._place[name])
        return self.batch.constant(None)

    def codes(self, name: str) -> pa.DictionaryArray:
        """Return the column with folded values, since spellings differ: SavingsPlan, Savings Plan."""
        return recode(self.text(name), lambda text: fold(text) or None)

    def _is(self, name: str, values: tuple[str, ...]) -> pa.Array:
        codes = self.codes(name)
        among = pc.is_in(codes.dictionary, value_set=pa.array(values, pa.string()))
        return pc.fill_null(among.take(codes.indices), False)

    def _commitment_id(self) -> pa.DictionaryArray:
        """Return benefitId; in exports without it the reservation's id in the form of Azure Resource Manager."""
        benefit = recode(self.text("benefit_id"), str.lower)
        reservation = self.text("reservation_id")
        if reservation.null_count == len(reservation):
            return benefit
        order = self.text("order_id")
        path = pc.binary_join_element_wise(
            "/providers/microsoft.capacity/reservationorders",
            pc.utf8_lower(pc.coalesce(order.dictionary_decode(), reservation.dictionary_decode())),
            "reservations",
            pc.utf8_lower(reservation.dictionary_decode()),
            "/",
        )
        return first_of(benefit, path.dictionary_encode())

    def category(self) -> pa.DictionaryArray:
        """Return Usage in exports without ChargeType; types unknown to FOCUS, such as rounding, are Adjustment."""
        if "charge_type" not in self._place:
            return self.batch.constant("Usage")
        codes = recode(self.codes("charge_type"), lambda code: _CATEGORIES.get(code, "Adjustment"))
        return first_of(codes, self.batch.constant("Usage"))

    def charge_class(self) -> pa.DictionaryArray:
        return recode(self.codes("charge_type"), lambda code: "Correction" if code == "refund" else None)

    def status(self) -> pa.DictionaryArray:
        none = pa.scalar(None, pa.string())
        return pc.if_else(self.unused, "Unused", pc.if_else(self.used, "Used", none)).dictionary_encode()

    def commitment(self, of_reservation: str, of_savings_plan: str) -> pa.DictionaryArray:
        """Return one text for lines of reservations, one for those of savings plans; null for others and if unknown."""
        by_id = recode(self.commitment_id, lambda text: _kind(text, of_reservation, of_savings_plan))
        models = {
            "reservation": of_reservation,
            "savingsplan": of_savings_plan,
            "savingsplans": of_savings_plan,
        }
        types = {"unusedreservation": of_reservation, "unusedsavingsplan": of_savings_plan}
        by_model = recode(self.codes("pricing_model"), models.get)
        return first_of(by_id, by_model, recode(self.codes("charge_type"), types.get))

    def pricing_category(self) -> pa.DictionaryArray:
        """Return Committed for use; purchases of commitments are Standard in FOCUS. Null if unknown."""
        models = {"ondemand": "Standard", "spot": "Dynamic"}
        of_model = recode(self.codes("pricing_model"), models.get).dictionary_decode()
        of_commitment = pc.if_else(self.bought, "Standard", "Committed")
        return pc.if_else(self.committed, of_commitment, of_model).dictionary_encode()


def _kind(commitment_id: str, of_reservation: str, of_savings_plan: str) -> str | None:
    if "/microsoft.capacity/" in commitment_id:
        return of_reservation
    return of_savings_plan if "/microsoft.billingbenefits/" in commitment_id else None
