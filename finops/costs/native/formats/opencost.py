"""Allocations of OpenCost and Kubecost. See docs/native-formats.md, “OpenCost”.

Sources: opencost/opencost-parquet-exporter (README, data_types.json, rename_cols.json) and opencost's CSV export
(pkg/costmodel/csv_export.go).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus import amounts
from finops.costs.focus.columns import fold
from finops.costs.focus.rows import moments
from finops.costs.native.native_batch import NativeBatch, first_of, recode
from finops.costs.native.native_format import NativeFormat, NativeMapping
from finops.lake.schema import MONEY


class _Component(NamedTuple):
    """A part of an allocation: its cost columns, which are added, and its usage columns."""

    name: str
    costs: tuple[str, ...]
    quantity: str = ""
    unit: str | None = None


_COMPONENTS: Final = (
    _Component("CPU", ("cpuCost", "cpuCostAdjustment"), "cpuCoreHours", "Core Hours"),
    _Component("RAM", ("ramCost", "ramCostAdjustment"), "ramByteHours", "Byte Hours"),
    _Component("GPU", ("gpuCost", "gpuCostAdjustment"), "gpuHours", "GPU Hours"),
    _Component("Persistent volume", ("pvCost", "pvCostAdjustment"), "pvByteHours", "Byte Hours"),
    _Component("Network", ("networkCost", "networkCostAdjustment"), "networkTransferBytes", "Bytes"),
    _Component("Load balancer", ("loadBalancerCost", "loadBalancerCostAdjustment")),
    _Component("Shared", ("sharedCost",)),
    _Component("External", ("externalCost",)),
    _Component("Other", ()),
)
"""The components. Other is the part of totalCost that the file's other columns do not cover."""

_NOISE: Final = Decimal("1e-9")
"""The difference of totalCost and its parts that counts as floating point error."""

# Our name -> names in files, folded: normalised JSON, also with the exporter's new names; OpenCost's CSV.
_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "start": ("windowstart", "runningstarttime", "start", "date"),
    "end": ("windowend", "runningendtime", "end"),
    "name": ("name",),
    "cluster": ("propertiescluster", "cluster"),
    "node": ("propertiesnode", "node"),
    "namespace": ("propertiesnamespace", "namespace"),
    "controller": ("propertiescontroller", "controllername", "controller"),
    "kind": ("propertiescontrollerkind", "controllerkind"),
    "pod": ("propertiespod", "pod"),
    "container": ("propertiescontainer", "container"),
    "provider_id": ("propertiesproviderid", "providerid"),
    "total": ("totalcost",),
    "labels": ("labels",),
}
_LABELS: Final = ("properties.labels.", "label.", "label_", "properties.namespaceLabels.", "namespaceLabels.")
"""Prefixes of label keys; labels of the namespace come last, since those of the pod take precedence."""

_EXTENSIONS: Final = {
    "x_Cluster": "cluster",
    "x_Container": "container",
    "x_Controller": "controller",
    "x_ControllerKind": "kind",
    "x_Namespace": "namespace",
    "x_Node": "node",
    "x_Pod": "pod",
    "x_ProviderId": "provider_id",
}
_CONSTANTS: Final = {
    "ChargeCategory": "Usage",
    "ChargeFrequency": "Usage-Based",
    "ProviderName": "OpenCost",
    "ServiceName": "Kubernetes",
    "ServiceCategory": "Compute",
    "ServiceSubcategory": "Containers",
    "AllocatedMethodId": "OpenCost",
}
_IDLE: Final = "__idle__"


class OpenCostFormat(NativeFormat):
    title = "OpenCost allocations"

    def recognises(self, names: Sequence[str]) -> bool:
        """Return whether there are costs of CPU and RAM, their total and a namespace."""
        folded = {fold(name) for name in names}
        return {"cpucost", "ramcost", "totalcost"} <= folded and bool(
            {"namespace", "propertiesnamespace", "name"} & folded
        )

    def mapping(self, names: Sequence[str], file: str) -> OpenCostMapping:
        return OpenCostMapping(names)


class _Lines(NamedTuple):
    """A line for each part of an allocation that has a cost."""

    batch: NativeBatch
    components: pa.Array
    costs: pa.Array
    quantities: pa.Array


class OpenCostMapping(NativeMapping):
    """The mapping of one file: an allocation becomes a line for each part that has a cost."""

    title = OpenCostFormat.title

    def __init__(self, names: Sequence[str]) -> None:
        self._folded = {fold(name): name for name in reversed(names)}
        self.place = {
            column: self._folded[source]
            for column, aliases in _ALIASES.items()
            if (source := next((alias for alias in aliases if alias in self._folded), None))
        }
        self._labels = _label_columns(names)
        self.needed = tuple(self._costs())
        self.plain = frozenset(self.needed)
        self.columns = self._columns()
        self.sources = {"BillingCurrency": "a currency"}
        self._lines: _Lines | None = None

    def _costs(self) -> list[str]:
        fields = [name for part in _COMPONENTS for name in (*part.costs, part.quantity)]
        return [self._folded[fold(name)] for name in (*fields, "totalCost") if fold(name) in self._folded]

    def _columns(self) -> dict[str, tuple[str, ...]]:
        place = self.place
        workload = tuple(
            place[name]
            for name in ("cluster", "namespace", "pod", "container", "controller", "name")
            if name in place
        )
        columns: dict[str, tuple[str, ...]] = {
            **dict.fromkeys(
                ("BilledCost", "EffectiveCost", "ConsumedQuantity", "ConsumedUnit", "SkuMeter"), ()
            ),
            **dict.fromkeys(_CONSTANTS, ()),
            **dict.fromkeys(
                ("ResourceId", "ResourceName", "AllocatedResourceId", "AllocatedResourceName"), workload
            ),
            **{name: (place[source],) for name, source in _EXTENSIONS.items() if source in place},
            "ChargeDescription": (place["name"],) if "name" in place else (),
        }
        if "start" in place:
            columns |= dict.fromkeys(("BillingPeriodStart", "ChargePeriodStart"), (place["start"],))
        if "end" in place:
            columns["ChargePeriodEnd"] = (place["end"],)
        if "cluster" in place:
            columns |= dict.fromkeys(("SubAccountId", "SubAccountType"), (place["cluster"],))
        if self._labels:
            columns["Tags"] = tuple(name for names in self._labels.values() for name in names)
        elif "labels" in place:
            columns["Tags"] = (place["labels"],)
        return columns

    def begin(self) -> None:
        self.end()

    def end(self) -> None:
        self._lines = None

    def prepare(self, batch: NativeBatch) -> NativeBatch:
        costs = self._part_costs(batch)
        none = pc.invert(_any(costs))
        places, components, amounts_, quantities = [], [], [], []
        for index, (part, cost) in enumerate(zip(_COMPONENTS, costs, strict=True)):
            # An allocation without cost keeps one line.
            has_line = pc.or_(_is_cost(cost), none) if index == 0 else _is_cost(cost)
            indices = pc.indices_nonzero(has_line)
            places.append(indices)
            components.append(pa.repeat(pa.scalar(index, pa.int32()), len(indices)))
            amounts_.append(cost.take(indices))
            quantities.append(self._number(part.quantity, batch).take(indices))
        lines = batch.take(pa.concat_arrays(places))
        self._lines = _Lines(lines, *(pa.concat_arrays(each) for each in (components, amounts_, quantities)))
        return lines

    def _part_costs(self, batch: NativeBatch) -> list[pa.Array]:
        """Return the cost of each component, exact; the last one is the rest of the total."""
        costs = []
        for part in _COMPONENTS[:-1]:
            cost = batch.zeros()
            for name in part.costs:
                cost = _add(cost, pc.fill_null(self._number(name, batch), pa.scalar(0, MONEY)))
            costs.append(cost)
        named = batch.zeros()
        for cost in costs:
            named = _add(named, cost)
        remainder = _add(
            pc.fill_null(self._number("totalCost", batch), pa.scalar(0, MONEY)), pc.negate(named)
        )
        is_noise = pc.less(pc.abs(remainder), pa.scalar(_NOISE, MONEY))
        return [*costs, pc.if_else(is_noise, pa.scalar(0, MONEY), remainder)]

    def _number(self, name: str, batch: NativeBatch) -> pa.Array:
        """Return exact decimals; null if the file lacks the column, and for NaN. BadCell for an invalid number."""
        native = self._folded.get(fold(name)) if name else None
        if native is None:
            return pa.nulls(batch.size, MONEY)
        values = batch.column(native)
        if pa.types.is_floating(values.type):
            values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
        return amounts.amount(values, native, batch.findings, None)

    def column(self, name: str, batch: NativeBatch) -> pa.Array:
        if name in _CONSTANTS:
            return batch.constant(_CONSTANTS[name])
        if name in _EXTENSIONS:
            return batch.text(self.columns[name][0])
        return _MAKERS[name](self, batch)

    def notes(self) -> Sequence[str]:
        notes = [
            (
                "BilledCost and EffectiveCost are OpenCost's allocation, not a bill. A cloud's bill of the same nodes "
                "includes this cost, so count only one of them."
            )
        ]
        if not {"provider_id", "node"} & self.place.keys():
            notes.append(
                "Overlaps with other sources cannot be detected: the export does not name its nodes."
            )
        if "cluster" not in self.place:
            notes.append(
                "SubAccountId is empty: the export does not name the cluster. It can be given for all lines."
            )
        return notes

    def lines(self) -> _Lines:
        if self._lines is None:
            raise ValueError("prepare comes first")
        return self._lines

    def text(self, name: str, batch: NativeBatch) -> pa.DictionaryArray:
        return batch.text(self.place[name]) if name in self.place else batch.constant(None)

    def labels(self, batch: NativeBatch) -> pa.Array:
        """Return labels of the pod, then those of its namespace; as a record, or as JSON."""
        if not self._labels:
            return batch.column(self.place["labels"])
        columns = [first_of(*(batch.text(name) for name in names)) for names in self._labels.values()]
        return pa.StructArray.from_arrays(columns, list(self._labels))


def _label_columns(names: Sequence[str]) -> dict[str, list[str]]:
    """Return label key -> the columns that have it, those of the pod first."""
    labels: dict[str, list[str]] = {}
    for prefix in _LABELS:
        for name in names:
            if name.lower().startswith(prefix.lower()) and name[len(prefix) :]:
                labels.setdefault(name[len(prefix) :], []).append(name)
    return labels


def _add(left: pa.Array, right: pa.Array) -> pa.Array:
    wide = pa.decimal256(38, 18)
    return pc.add(left.cast(wide), right.cast(wide)).cast(MONEY)


def _is_cost(values: pa.Array) -> pa.Array:
    return pc.not_equal(values, pa.scalar(0, MONEY))


def _any(costs: Sequence[pa.Array]) -> pa.Array:
    result = _is_cost(costs[0])
    for cost in costs[1:]:
        result = pc.or_(result, _is_cost(cost))
    return result


def _costs_of(mapping: OpenCostMapping, _batch: NativeBatch) -> pa.Array:
    return mapping.lines().costs


def _quantities_of(mapping: OpenCostMapping, _batch: NativeBatch) -> pa.Array:
    return mapping.lines().quantities


def _meter(mapping: OpenCostMapping, _batch: NativeBatch) -> pa.Array:
    return pa.DictionaryArray.from_arrays(
        mapping.lines().components, pa.array([part.name for part in _COMPONENTS])
    )


def _unit(mapping: OpenCostMapping, _batch: NativeBatch) -> pa.Array:
    """Return the unit; null for a quantity that the export does not have."""
    lines = mapping.lines()
    units = pa.array([part.unit for part in _COMPONENTS], pa.string()).take(lines.components)
    return pc.if_else(pc.is_valid(lines.quantities), units, pa.scalar(None, pa.string())).dictionary_encode()


def _start(mapping: OpenCostMapping, batch: NativeBatch) -> pa.Array:
    native = mapping.place["start"]
    return moments(batch.column(native), native, lambda: pa.nulls(batch.size, pa.date32()))


def _month(mapping: OpenCostMapping, batch: NativeBatch) -> pa.Array:
    """Return the calendar month in UTC: allocations have no billing period."""
    return pc.floor_temporal(_start(mapping, batch), unit="month")


def _workload(mapping: OpenCostMapping, batch: NativeBatch) -> pa.Array:
    """Return cluster/namespace/pod/container, as far as given; else the name of the allocation."""
    parts = [
        mapping.text(name, batch).dictionary_decode() for name in ("cluster", "namespace", "pod", "container")
    ]
    # After an empty text, because pyarrow 26 omits rows where all joined texts are null.
    joined = pc.utf8_slice_codeunits(pc.binary_join_element_wise("", *parts, "/", null_handling="skip"), 1)
    path = pc.if_else(pc.equal(joined, ""), pa.scalar(None, pa.string()), joined)
    return pc.coalesce(path, mapping.text("name", batch).dictionary_decode())


def _workload_name(mapping: OpenCostMapping, batch: NativeBatch) -> pa.Array:
    return first_of(
        *(mapping.text(name, batch) for name in ("pod", "controller", "namespace", "name"))
    ).dictionary_decode()


def _description(mapping: OpenCostMapping, batch: NativeBatch) -> pa.Array:
    return recode(mapping.text("name", batch), lambda name: "Idle" if _IDLE in name else name)


def _cluster_type(mapping: OpenCostMapping, batch: NativeBatch) -> pa.Array:
    return recode(mapping.text("cluster", batch), lambda _: "Cluster")


_MAKERS: Final[Mapping[str, Callable[[OpenCostMapping, NativeBatch], pa.Array]]] = {
    "BilledCost": _costs_of,
    "EffectiveCost": _costs_of,
    "ConsumedQuantity": _quantities_of,
    "ConsumedUnit": _unit,
    "SkuMeter": _meter,
    "BillingPeriodStart": _month,
    "ChargePeriodStart": _start,
    "ChargePeriodEnd": lambda mapping, batch: batch.column(mapping.place["end"]),
    "ChargeDescription": _description,
    "SubAccountId": lambda mapping, batch: batch.text(mapping.place["cluster"]),
    "SubAccountType": _cluster_type,
    "ResourceId": _workload,
    "ResourceName": _workload_name,
    "AllocatedResourceId": _workload,
    "AllocatedResourceName": _workload_name,
    "Tags": lambda mapping, batch: mapping.labels(batch),
}
