"""Whether a cloud's bill includes the nodes whose cost OpenCost allocates: lake queries and their evaluation.

OpenCost names a node by its provider id (`i-0abc`, `aws:///us-east-1a/i-0abc`, `gce://shop/us-central1-a/gke-1`,
`azure:///subscriptions/…/virtualMachineScaleSets/aks-vmss/virtualMachines/3`) and by its name in Kubernetes. A bill
names the machine, or the scale set, by its resource: an instance id, an ARN, a path. Last parts are compared in lower
case.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, ClassVar, Final

import ibis

from finops.lake.schema import ExtensionKey, extension_column
from finops.lib.money import exact_sum, ratio

OPENCOST: Final = "OpenCost"
MOST_NODES: Final = 5_000
"""The maximum of names in a query, those with most cost."""
SHORTEST: Final = 5
"""The minimum length of a name that identifies a machine; numbers of machines in a scale set are shorter."""

_PROVIDER_ID, _NODE = extension_column("ProviderId"), extension_column("Node")
_SCALE_SET: Final = re.compile(r"/virtualmachinescalesets/([^/]+)")


@dataclass(frozen=True)
class NodeCost:
    """The cost that OpenCost allocates of a node in one currency. Billed and amortized cost are equal."""

    source: str
    provider_id: str | None
    node: str | None
    currency: str
    cost: Decimal

    @property
    def names(self) -> set[str]:
        """Return the names that a bill may use for the node."""
        names = {_last_part(text) for text in (self.provider_id, self.node) if text}
        if self.provider_id and (scale_set := _SCALE_SET.search(self.provider_id.lower())):
            names.add(scale_set[1])
        return {name for name in names if len(name) >= SHORTEST}


def _last_part(text: str) -> str:
    return text.lower().rstrip("/").rpartition("/")[2]


@dataclass(frozen=True)
class NodesBuild:
    """The nodes of OpenCost's lines in a billing month."""

    keys: ClassVar = (ExtensionKey("ProviderId"), ExtensionKey("Node"))
    month: date

    def __call__(self, table: Any) -> Any:
        lines = table.filter(
            (table.billing_period == ibis.literal(self.month)) & (table.provider == ibis.literal(OPENCOST))
        )
        keys = {"source": lines.source, "provider_id": lines[_PROVIDER_ID], "node": lines[_NODE]}
        return lines.group_by(**keys, currency=lines.currency).aggregate(cost=lines.billed_cost.sum())


@dataclass(frozen=True)
class BilledNodesBuild:
    """Which of these names are resources of other sources' lines of a billing month, by source."""

    keys: ClassVar[tuple[()]] = ()
    month: date
    names: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        lines = table.filter(
            (table.billing_period == ibis.literal(self.month)) & (table.provider != ibis.literal(OPENCOST))
        )
        named = [
            lines.filter(name.isin(self.names)).group_by(source=lines.source, name=name).aggregate()
            for name in (
                lines.resource_id.lower().re_extract(r"[^/]*$", 0),
                lines.resource_name.lower(),
            )
        ]
        return ibis.union(*named, distinct=True)


def searched_names(nodes: Iterable[NodeCost]) -> tuple[str, ...]:
    """Return the names to look for, sorted, so that equal questions are equal."""
    by_cost = sorted(nodes, key=lambda node: (-node.cost.copy_abs(), sorted(node.names)))
    names = dict.fromkeys(name for node in by_cost for name in sorted(node.names))
    return tuple(sorted(list(names)[:MOST_NODES]))


@dataclass(frozen=True)
class NodeOverlap:
    """The cost that OpenCost allocates of nodes that another source bills."""

    source: str
    other: str
    currency: str
    amount: Decimal
    share: Decimal
    """The share of everything that OpenCost allocates in the month and currency."""


def node_overlaps(nodes: Iterable[NodeCost], billed: Mapping[str, set[str]]) -> list[NodeOverlap]:
    """Return overlaps by sources and currency. `billed` are the names found in each other source."""
    amounts: dict[tuple[str, str, str], list[Decimal]] = defaultdict(list)
    totals: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for node in nodes:
        totals[node.source, node.currency].append(node.cost)
        for other, names in billed.items():
            if other != node.source and not names.isdisjoint(node.names):
                amounts[node.source, other, node.currency].append(node.cost)
    overlaps = []
    for (source, other, currency), costs in sorted(amounts.items()):
        amount = exact_sum(costs)
        share = ratio(abs(amount), abs(exact_sum(totals[source, currency])))
        if amount:
            overlaps.append(
                NodeOverlap(source, other, currency, amount, min(Decimal(1), share or Decimal(1)))
            )
    return overlaps
