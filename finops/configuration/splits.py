"""Shared-cost splits in configuration as code."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from accounts.audit import Actor
from accounts.models import Account
from finops.allocation.models import SharedCostSplit
from finops.allocation.services import splits
from finops.allocation.services.splits import SplitDraft
from finops.configuration.kind import Bodies, Body, ConfigurationKind, body_of, plain_decimal, read_entry


class _Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    value: str
    percent: str = ""


class _SplitEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    dimension: str
    source_value: str
    method: str
    targets: list[_Target] = []
    every_customer: bool = False
    usage_metric: str = ""
    valid_from: date | None = None
    valid_to: date | None = None


def _rows() -> dict[str, Body]:
    return {row.name: body_of(_entry(row)) for row in SharedCostSplit.objects.all()}


def _entry(row: SharedCostSplit) -> _SplitEntry:
    return _SplitEntry(
        name=row.name,
        dimension=row.dimension,
        source_value=row.source_value,
        method=row.method,
        targets=[
            _Target(value=each["value"], percent=_percent(each["percent"] or "")) for each in row.targets
        ],
        every_customer=row.every_customer,
        usage_metric=row.usage_metric,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
    )


def _percent(text: str) -> str:
    """33.30 is 33.3; what is no number is for the service to refuse."""
    try:
        return plain_decimal(Decimal(text))
    except InvalidOperation:
        return text


def _read(raw: Any) -> tuple[str, Body]:
    entry = read_entry(raw, _SplitEntry)
    targets = [_Target(value=each.value, percent=_percent(each.percent)) for each in entry.targets]
    return entry.name, body_of(msgspec.structs.replace(entry, targets=targets))


def _write(account: Account, actor: Actor, bodies: Bodies) -> None:
    rows = {row.name.casefold(): row for row in SharedCostSplit.objects.all()}
    for name, body in bodies.items():
        entry = msgspec.convert(body, _SplitEntry, strict=False)
        draft = SplitDraft(
            name=entry.name,
            dimension=entry.dimension,
            source_value=entry.source_value,
            method=entry.method,
            targets=[(each.value, each.percent) for each in entry.targets],
            every_customer=entry.every_customer,
            usage_metric=entry.usage_metric,
            valid_from=entry.valid_from,
            valid_to=entry.valid_to,
        )
        row = rows.get(name.casefold())
        if row is None:
            splits.create_split(account=account, actor=actor, draft=draft)
        else:
            splits.save_split(split=row, actor=actor, draft=draft)


def _delete(actor: Actor, names: Sequence[str]) -> None:
    for row in SharedCostSplit.objects.filter(name__in=names):
        splits.delete_split(split=row, actor=actor)


KIND = ConfigurationKind("splits", _rows, _read, _write, _delete)
