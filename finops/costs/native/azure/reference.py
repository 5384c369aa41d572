"""Microsoft's names of services, regions, units and resource types (finops/costs/native/data/README.md)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

_DATA: Final = Path(__file__).parents[1] / "data"
# Cost lines cannot store amounts of larger blocks.
_MEASURE: Final = re.compile(r"(\d{1,18})(?!\d)\s*(\S.*)?")


class Service(NamedTuple):
    name: str
    category: str
    subcategory: str


class Region(NamedTuple):
    id: str
    name: str


class Unit(NamedTuple):
    """The meaning of a unit of measure: `10K` is a block of 10,000 Units."""

    block: Decimal
    name: str


def service_of(consumed_service: str, resource_type: str) -> Service | None:
    """Return the service by both names, else by the one with a single service. None if not in Microsoft's table."""
    consumed, type_ = consumed_service.lower(), resource_type.lower()
    both, by_type, by_consumed = _services()
    return both.get((consumed, type_)) or by_type.get(type_) or by_consumed.get(consumed)


def region_of(place: str) -> Region:
    """Return the region of a location in exports; one that is not in Microsoft's table is unchanged."""
    return _regions().get(place.lower()) or Region(place.lower().replace(" ", ""), place)


def unit_of(measure: str) -> Unit | None:
    """Return the meaning of a unit of measure; None if neither Microsoft's table nor its number gives one."""
    unit = _units().get(measure) or _units().get(measure.strip())
    if unit:
        return unit
    match = _MEASURE.fullmatch(measure.strip())
    return Unit(Decimal(match[1]), match[2] or "Units") if match and int(match[1]) else None


def resource_type_name(resource_type: str) -> str:
    """Return the name of a resource type such as microsoft.compute/virtualmachines, else the type itself."""
    return _resource_types().get(resource_type.lower(), resource_type)


Pairs = Mapping[tuple[str, str], Service]
Names = Mapping[str, Service]


@cache
def _services() -> tuple[Pairs, Names, Names]:
    both: dict[tuple[str, str], Service] = {}
    by_type: dict[str, set[Service]] = {}
    by_consumed: dict[str, set[Service]] = {}
    for row in _rows("Services"):
        consumed, type_ = row["ConsumedService"].lower(), row["ResourceType"].lower()
        service = Service(row["ServiceName"], row["ServiceCategory"], row["ServiceSubcategory"])
        both[consumed, type_] = service
        by_type.setdefault(type_, set()).add(service)
        by_consumed.setdefault(consumed, set()).add(service)
    return both, _only(by_type), _only(by_consumed)


def _only(services: Mapping[str, set[Service]]) -> Names:
    return {name: next(iter(each)) for name, each in services.items() if name and len(each) == 1}


@cache
def _regions() -> Mapping[str, Region]:
    return {
        row["OriginalValue"].lower(): Region(row["RegionId"], row["RegionName"]) for row in _rows("Regions")
    }


@cache
def _units() -> Mapping[str, Unit]:
    return {
        row["UnitOfMeasure"]: Unit(Decimal(row["PricingBlockSize"]), row["DistinctUnits"])
        for row in _rows("PricingUnits")
    }


@cache
def _resource_types() -> Mapping[str, str]:
    return {row["ResourceType"].lower(): row["SingularDisplayName"] for row in _rows("ResourceTypes")}


def _rows(table: str) -> Iterator[dict[str, str]]:
    with (_DATA / f"{table}.csv").open(encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file)
