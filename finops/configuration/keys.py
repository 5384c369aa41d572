"""Team key and customer key in configuration as code: the dimensions by which cost finds its team and its customer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from accounts.audit import Actor
from accounts.models import Account
from finops.allocation.models import TeamKey
from finops.allocation.services.teams import set_team_key
from finops.configuration.kind import Bodies, Body, ConfigurationKind, body_of, read_entry
from finops.lib.errors import UserError
from finops.unitcosts.models import CustomerKey
from finops.unitcosts.services.customer_mappings import set_customer_key


class _KeyEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Literal["team", "customer"]
    dimension: str


def _rows() -> dict[str, Body]:
    rows = {"customer": CustomerKey.objects.first(), "team": TeamKey.objects.first()}
    return {name: {"name": name, "dimension": row.dimension} for name, row in rows.items() if row}


def _read(raw: Any) -> tuple[str, Body]:
    entry = read_entry(raw, _KeyEntry)
    return entry.name, body_of(entry)


def _write(account: Account, actor: Actor, bodies: Bodies) -> None:
    for name, body in bodies.items():
        set_key = set_team_key if name == "team" else set_customer_key
        set_key(account=account, actor=actor, dimension=body["dimension"])


def _delete(actor: Actor, names: Sequence[str]) -> None:
    """Raises UserError: the console cannot unset a key either."""
    if names:
        raise UserError(f"The {names[0]} key can be replaced, not deleted. Add it to the file.")


KIND: Final = ConfigurationKind("keys", _rows, _read, _write, _delete)
