"""Unit metrics in configuration as code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from accounts.audit import Actor
from accounts.models import Account
from finops.configuration.kind import Bodies, Body, ConfigurationKind, body_of, read_entry
from finops.costs.spend_query import CostFilter
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.saved_question import SAVED_FIELDS
from finops.unitcosts.services import unit_metrics
from finops.unitcosts.unit_cost_query import UnitCostQuery, UsedFilter


class _UnitMetricEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    usage_metric: str
    description: str = ""
    filters: list[CostFilter] = []
    usage_filters: list[UsedFilter] = []
    basis: str = ""
    charge_categories: list[str] = []
    splits: str = "before"
    per: int = 1
    mode: str = "total"


def _rows() -> dict[str, Body]:
    return dict(_body({name: getattr(row, name) for name in _FIELDS}) for row in UnitMetric.objects.all())


_FIELDS = ("name", "description", *SAVED_FIELDS)


def _body(raw: Any) -> tuple[str, Body]:
    entry = read_entry(raw, _UnitMetricEntry)
    return entry.name, body_of(entry)


def _write(account: Account, actor: Actor, bodies: Bodies) -> None:
    rows = {row.name.casefold(): row for row in UnitMetric.objects.all()}
    for name, body in bodies.items():
        row, question = rows.get(name.casefold()), _question(body)
        fields: dict[str, Any] = {
            "actor": actor,
            "name": name,
            "description": body.get("description", ""),
            "question": question,
        }
        if row is None:
            unit_metrics.create_unit_metric(account=account, **fields)
        else:
            unit_metrics.change_unit_metric(metric=row, **fields)


def _question(body: Body) -> UnitCostQuery:
    fields = {name: body[name] for name in SAVED_FIELDS if name in body}
    return msgspec.convert(fields, UnitCostQuery, strict=False)


def _delete(actor: Actor, names: Sequence[str]) -> None:
    for row in UnitMetric.objects.filter(name__in=names):
        unit_metrics.delete_unit_metric(metric=row, actor=actor)


KIND = ConfigurationKind("unit_metrics", _rows, _body, _write, _delete)
