"""Resources of Azure Resource Manager: what their ids say, and the service that they are of."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.native.azure.reference import Service, resource_type_name, service_of
from finops.costs.native.native_batch import NativeBatch, first_of, recode

if TYPE_CHECKING:
    from finops.costs.native.azure.mapping import AzureMapping

# …/providers/Microsoft.Compute/virtualMachines/name/extensions/name: the type is all but the names.
_TYPE: Final = r"(?i)^.*/providers/(?P<a>[^/]+)/(?P<b>[^/]+)(?:/[^/]+(?:/(?P<c>[^/]+)(?:/[^/]+(?:/(?P<d>[^/]+)(?:/[^/]*)?)?)?)?)?/?$"
_GROUP: Final = r"(?i)^.*/resourcegroups/(?P<group>[^/]+).*$"
_CAPACITY_RESERVATION: Final = re.compile(r'"VMCapacityReservationId"\s*:\s*"([^"]+)"')


def resource_id(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    """In small letters, as Microsoft's FOCUS export has it: exports write the same resource in several ways."""
    return pc.utf8_lower(_plain_id(mapping, batch))


def resource_name(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    """ResourceName, else the last part of the id."""
    last = pc.replace_substring_regex(_plain_id(mapping, batch), r"^.*/", "")
    named = pc.if_else(pc.equal(last, ""), pa.scalar(None, pa.string()), last)
    if "resource_name" not in mapping.place:
        return named
    given = batch.column(mapping.place["resource_name"])
    given = given.dictionary_decode() if pa.types.is_dictionary(given.type) else given
    return pc.coalesce(pc.if_else(pc.equal(given, ""), pa.scalar(None, pa.string()), given), named)


def _plain_id(mapping: AzureMapping, batch: NativeBatch) -> pa.Array:
    values = batch.column(mapping.place["resource_id"])
    values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values.cast(pa.string())
    return pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)


def arm_type(mapping: AzureMapping, batch: NativeBatch) -> pa.DictionaryArray:
    """The resource type in small letters: microsoft.compute/virtualmachines."""
    return _types(mapping, batch)


def resource_type(mapping: AzureMapping, batch: NativeBatch) -> pa.DictionaryArray:
    """Its name: Virtual machine."""
    return recode(_types(mapping, batch), resource_type_name)


def resource_group(mapping: AzureMapping, batch: NativeBatch) -> pa.DictionaryArray:
    ids = mapping.text("resource_id", batch)
    group = pc.struct_field(pc.extract_regex(ids.dictionary, _GROUP), "group")
    return _encode(pc.utf8_lower(group), ids)


def _types(mapping: AzureMapping, batch: NativeBatch) -> pa.DictionaryArray:
    ids = mapping.text("resource_id", batch)
    parts = pc.extract_regex(ids.dictionary, _TYPE)
    names = [_some(pc.struct_field(parts, part)) for part in "abcd"]
    # Behind an empty text, because pyarrow 26 forgets rows where all of the joined texts are null.
    joined = pc.utf8_lower(
        pc.utf8_slice_codeunits(pc.binary_join_element_wise("", *names, "/", null_handling="skip"), 1)
    )
    known = pc.if_else(pc.is_valid(names[0]), joined, pa.scalar(None, pa.string()))
    of_column = recode(mapping.text("resource_type", batch), str.lower)
    return first_of(_encode(known, ids), of_column)


def _some(values: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)


def _encode(values: pa.Array, like: pa.DictionaryArray) -> pa.DictionaryArray:
    """Values for the dictionary of a column, as a column."""
    distinct = values.dictionary_encode()
    return pa.DictionaryArray.from_arrays(distinct.indices.take(like.indices), distinct.dictionary)


def service(mapping: AzureMapping, batch: NativeBatch, of: int) -> pa.DictionaryArray:
    """Name (0), category (1) or subcategory (2) of the service. Where Microsoft's table has none, the meter category is the
    name, the category is Other and the subcategory empty."""
    consumed = mapping.text("consumed_service", batch).dictionary_decode()
    types = _types(mapping, batch).dictionary_decode()
    both = pc.binary_join_element_wise(pc.fill_null(consumed, ""), pc.fill_null(types, ""), "\x1f")
    named = recode(both.dictionary_encode(), lambda text: _of_service(text, of))
    if of == 0:
        return first_of(named, mapping.text("meter_category", batch), mapping.text("consumed_service", batch))
    return first_of(named, batch.constant("Other")) if of == 1 else named


def _of_service(text: str, of: int) -> str | None:
    found = _service(*text.split("\x1f"))
    return found[of] or None if found else None


@lru_cache(maxsize=4_096)
def _service(consumed: str, type_: str) -> Service | None:
    return service_of(consumed, type_)


def capacity_reservation(details: str) -> str | None:
    match = _CAPACITY_RESERVATION.search(details)
    return match[1].lower() if match else None


def with_braces(details: str) -> str:
    """JSON whose braces older exports leave out."""
    return details if details.lstrip().startswith(("{", "[")) else f"{{{details}}}"
