"""What Contract Commitment files say of commitments: term and scope, under the id that cost lines have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from finops.costs.models import ContractCommitment
from finops.lib.money import round_amount
from finops.lib.sentences import money, truncate

SOURCE: Final = "Contract Commitment file"
LONGEST: Final = 200


@dataclass(frozen=True)
class Contract:
    """The newest period of a commitment, both days inside; `scope`: what it is for, in the provider's words."""

    starts_on: date
    ends_on: date
    scope: str
    contract: str

    @property
    def reason(self) -> str:
        of = f" of contract {self.contract}" if self.contract else ""
        return f"{SOURCE}: {self.starts_on} to {self.ends_on}{of}."


def read_contracts(commitments: Collection[str]) -> Mapping[str, Contract]:
    """By commitment id. Where files have several periods of one, the one that ends last. One query, none without ids."""
    if not commitments:
        return {}
    rows = ContractCommitment.objects.filter(commitment_id__in=commitments).order_by("period_end", "pk")
    return {row.commitment_id: _contract(row) for row in rows}


def _contract(row: ContractCommitment) -> Contract:
    # FOCUS ends periods with the first moment that is outside.
    last = (row.period_end - timedelta(microseconds=1)).date()
    return Contract(row.period_start.date(), max(last, row.period_start.date()), _scope(row), row.contract_id)


def _scope(row: ContractCommitment) -> str:
    parts = [row.description, row.commitment_type, row.category]
    if row.quantity is not None:
        parts.append(f"{round_amount(row.quantity).normalize():f} {row.unit}".strip())
    if row.cost is not None and row.currency:
        parts.append(money(row.cost, row.currency))
    return truncate(", ".join(dict.fromkeys(part for part in parts if part)), LONGEST)
