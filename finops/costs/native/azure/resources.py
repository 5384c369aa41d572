"""Resources of Azure Resource Manager: the parts of their ids, and their services."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.native.azure.reference import Service, resource_type_name, service_of
from finops.costs.native.native_batch import NativeBatch, cut, first_of, recode

if TYPE_CHECKING:
    from finops.costs.native.azure.mapping import AzureMapping

_CAPACITY_RESERVATION: Final = re.compile(r'"VMCapacityReservationId"\s*:\s*"([^"]+)"')
_ALL_BUT_LAST_PART: Final = r"(?s)^.*/"


def resource_id(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    """Return the id in lower case, as in Microsoft's FOCUS export, because exports spell one resource in several
    ways. For an unused part, the commitment, as FOCUS requires."""
    ids, charges = pc.utf8_lower(_plain_id(mapping, batch)), mapping.charges(batch)
    if not pc.any(charges.unused).as_py():
        return ids
    return pc.if_else(charges.unused, pc.coalesce(charges.commitment_id.dictionary_decode(), ids), ids)


def resource_name(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    """Return ResourceName, else the last part of the id."""
    names = mapping.text("resource_name", batch)
    return (
        first_of(names, cut(mapping.text("resource_id", batch), _ALL_BUT_LAST_PART))
        if names.null_count
        else names
    )


def _plain_id(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    values = batch.column(mapping.place["resource_id"])
    values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values.cast(pa.string())
    return pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)


def arm_type(mapping: AzureMapping, batch: NativeBatch) -> pa.DictionaryArray:
    """Return the resource type in lower case: microsoft.compute/virtualmachines."""
    return mapping.once("type", batch, _types)


def resource_type(mapping: AzureMapping, batch: NativeBatch) -> pa.DictionaryArray:
    """Return the display name of the type: Virtual machine."""
    return recode(arm_type(mapping, batch), resource_type_name)


def resource_group(mapping: AzureMapping, batch: NativeBatch) -> pa.DictionaryArray:
    return recode(mapping.text("resource_id", batch), _group_of)


def _types(mapping: AzureMapping, batch: NativeBatch) -> pa.DictionaryArray:
    of_id = recode(mapping.text("resource_id", batch), type_of)
    return first_of(of_id, recode(mapping.text("resource_type", batch), str.lower))


@lru_cache(maxsize=65_536)
def type_of(resource_id: str) -> str | None:
    """Return the type in an id, which is everything after the last provider without the names:
    …/providers/Microsoft.Compute/virtualMachines/vm/extensions/x is microsoft.compute/virtualmachines/extensions.
    None without a provider. Cached: batches have the same resources."""
    _, provider, path = resource_id.lower().rpartition("/providers/")
    parts = path.strip("/").split("/")
    return "/".join((parts[0], *parts[1::2])) if provider and len(parts) > 1 else None


@lru_cache(maxsize=65_536)
def _group_of(resource_id: str) -> str | None:
    return resource_id.lower().partition("/resourcegroups/")[2].partition("/")[0] or None


def service(mapping: AzureMapping, batch: NativeBatch, of: int) -> pa.DictionaryArray:
    """Return name (0), category (1) or subcategory (2) of the service. If it is not in Microsoft's table, the meter
    category is the name, the category is Other and the subcategory empty."""
    named = recode(mapping.once("service", batch, _consumed_types), lambda text: _of_service(text, of))
    if of == 0:
        return first_of(named, mapping.text("meter_category", batch), mapping.text("consumed_service", batch))
    return first_of(named, batch.constant("Other")) if of == 1 else named


def _consumed_types(mapping: AzureMapping, batch: NativeBatch) -> pa.DictionaryArray:
    """Return the consumed service and the resource type of each line, as one text."""
    consumed = mapping.text("consumed_service", batch).dictionary_decode()
    types = arm_type(mapping, batch).dictionary_decode()
    both = pc.binary_join_element_wise(pc.fill_null(consumed, ""), pc.fill_null(types, ""), "\x1f")
    return both.dictionary_encode()


def _of_service(text: str, of: int) -> str | None:
    parts = _service(*text.split("\x1f"))
    return parts[of] or None if parts else None


@lru_cache(maxsize=4_096)
def _service(consumed: str, type_: str) -> Service | None:
    return service_of(consumed, type_)


def capacity_reservation(details: str) -> str | None:
    match = _CAPACITY_RESERVATION.search(details)
    return match[1].lower() if match else None


def with_braces(details: str) -> str:
    """Add the braces that older exports omit from JSON."""
    return details if details.lstrip().startswith(("{", "[")) else f"{{{details}}}"
