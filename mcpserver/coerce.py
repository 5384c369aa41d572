"""Decodes arguments with tolerance: unambiguous mistakes are corrected, others are refused with a correction.

Language models write `"10"` for 10, one string for a list of one, and a list or object encoded as a JSON string.
These are corrected by the tool's own types. Hosts write empty texts and `"null"` for arguments that the model left out,
which are omitted like null, as is 0 of a count from 1, and add arguments of their own. Anything else becomes a UserError that names the field, the
value, and what would be valid.
"""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec import inspect

from finops.costs.dimensions import registry
from finops.lib.errors import UserError, nearest_choices, unknown_value
from finops.lib.periods import PERIOD_ALIASES
from finops.lib.renamed_fields import new_name

HOST_ARGUMENTS = frozenset(
    (
        "_meta",
        "action",
        "chatInput",
        "random_string",
        "security_context",
        "sessionId",
        "toolCallId",
        "wait_for_previous",
    )
)
"""Arguments that hosts add to those of the model; docs/connect-an-assistant.md names the hosts."""

_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,18}")
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MAX_EXCERPT = 80
# Other words that people and models use for a choice, by the choice; only words with one possible meaning.
_SYNONYMS = {
    **{word: (name, name.removesuffix("_to_date")) for word, name in PERIOD_ALIASES.items()},
    **dict.fromkeys(("equals", "eq", "is", "="), ("in",)),
    **dict.fromkeys(("not_equals", "neq", "is_not", "!="), ("not_in",)),
    "month": ("monthly",),
    "quarter": ("quarterly",),
    "year": ("yearly",),
    "daily": ("day",),
    "weekly": ("week",),
    "monthly": ("month",),
    "total": ("none",),
}

S = TypeVar("S", bound=msgspec.Struct)


def decode_arguments(kind: type[S], arguments: Mapping[str, Any], *, tool: str) -> S:
    """Return the tool's arguments as its own type. Raises UserError with the correction."""
    value = _fields(_type_of(kind), arguments, path="", owner=tool)
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UserError(f"{tool} cannot take these arguments: {error}.") from error


def without_host_arguments(kind: type[msgspec.Struct], arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments without those that the host added, and that the tool does not have."""
    added = (HOST_ARGUMENTS & arguments.keys()) - set(kind.__struct_fields__)
    return {name: value for name, value in arguments.items() if name not in added} if added else arguments


def is_empty(value: Any) -> bool:
    """Return whether a value stands for none: null, an empty text, or "null"."""
    return value is None or (isinstance(value, str) and value.strip() in ("", "null"))


@functools.cache
def _type_of(kind: type[msgspec.Struct]) -> inspect.StructType:
    struct_type = inspect.type_info(kind)
    if not isinstance(struct_type, inspect.StructType):
        raise TypeError(f"{kind!r} is no Struct")
    return struct_type


def _fields(kind: inspect.StructType, value: Mapping[str, Any], *, path: str, owner: str) -> dict[str, Any]:
    fields_by_name = {field.encode_name: field for field in kind.fields}
    value = _with_known_names(value, fields_by_name)
    for name in value:
        if name not in fields_by_name:
            _refuse_unknown(name, list(fields_by_name), path=path, owner=owner)
    values = {}
    for name, field in fields_by_name.items():
        where = f"{path}.{name}" if path else name
        if field.required and value.get(name) is None:
            raise UserError(f"{where} is required{_description_clause(field.type)}.", field=where)
        if name in value and not _is_omitted(value[name], field, is_inner=bool(path)):
            values[name] = _coerce(field.type, value[name], where)
    return values


def _with_known_names(
    value: Mapping[str, Any], fields_by_name: Mapping[str, inspect.Field]
) -> Mapping[str, Any]:
    """Return arguments with names in snake case: models write groupBy for group_by."""
    if value.keys() <= fields_by_name.keys():
        return value
    renamed = {}
    for name, item in value.items():
        snake_case = _snake_case(name)
        is_meant = name not in fields_by_name and snake_case in fields_by_name and snake_case not in value
        renamed[snake_case if is_meant else name] = item
    return renamed


def _snake_case(name: str) -> str:
    return _CAMEL_CASE.sub("_", name).lower()


def _is_omitted(value: Any, field: inspect.Field, *, is_inner: bool) -> bool:
    """Return whether an optional argument counts as omitted. A list inside is one of values to filter by, which may be
    empty; an empty text is a value of a text field."""
    if field.required:
        return False
    if not is_empty(value):
        return not is_inner and _is_zero(value) and _counts_from_one(field.type)
    kind = field.type
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    if value is None:
        return True
    is_text = isinstance(kind, inspect.StrType) and value.strip() != "null"
    return not is_text and not (is_inner and isinstance(kind, inspect.ListType))


def _is_zero(value: Any) -> bool:
    """Return whether a value is 0: models of strict hosts write it for counts that they leave out."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (is_number and value == 0) or (isinstance(value, str) and value.strip() == "0")


def _counts_from_one(kind: inspect.Type) -> bool:
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        return any(map(_counts_from_one, kind.types))
    return isinstance(kind, inspect.IntType) and kind.ge == 1


def _refuse_unknown(name: str, valid_names: list[str], *, path: str, owner: str) -> NoReturn:
    where, word = (path, "field") if path else (owner, "argument")
    close = nearest_choices(name, valid_names, limit=3)
    hint = f" Nearest: {', '.join(close)}." if close else ""
    if current := new_name(_snake_case(name), valid_names):
        hint = f' It is called "{current}".'
    elif "filters" in valid_names and name in {kind.name for kind in registry.kinds()}:
        # Assistants write {"service": "EC2"} for a filter.
        hint = f' To filter by a dimension: "filters": [{{"dimension": {_excerpt(name)}, "values": [...]}}].'
    valid = f"Arguments: {', '.join(valid_names)}." if valid_names else "It takes no arguments."
    raise UserError(f"{where} has no {word} {_excerpt(name)}.{hint} {valid}", field=name)


def _description_clause(kind: inspect.Type) -> str:
    """Return the description of a field, from its Meta, as the end of a sentence."""
    extra = kind.extra_json_schema if isinstance(kind, inspect.Metadata) else None
    text = str((extra or {}).get("description", "")).rstrip(".")
    return f": {text}" if text else ""


def _coerce(kind: inspect.Type, value: Any, path: str) -> Any:
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    coercer = _COERCERS.get(type(kind))
    return coercer(kind, value, path) if coercer else value


def _coerce_union(kind: inspect.UnionType, value: Any, path: str) -> Any:
    if value is None and kind.includes_none:
        return None
    choices = [choice for choice in kind.types if not isinstance(choice, inspect.NoneType)]
    matches = choices if len(choices) == 1 else [each for each in choices if _is_instance(each, value)]
    return _coerce(matches[0], value, path) if matches else value


def _is_instance(kind: inspect.Type, value: Any) -> bool:
    """Return whether a value already has one of several types."""
    if isinstance(kind, inspect.IntType):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(kind, inspect.StrType) and isinstance(value, str)


def _coerce_int(kind: inspect.IntType, value: Any, path: str) -> int:
    number = value
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value.strip()):
        number = int(value)
    if isinstance(value, float) and value.is_integer():
        number = int(value)
    if isinstance(number, bool) or not isinstance(number, int):
        _refuse(path, value, "a whole number", _range(kind))
    return int(_in_range(kind, number, path))


def _coerce_decimal(kind: inspect.DecimalType | inspect.FloatType, value: Any, path: str) -> Decimal | float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        _refuse(path, value, "a number")
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        _refuse(path, value, "a number", ("Use no thousands separator or currency sign, such as 11500.50"))
    if not number.is_finite() or abs(number.adjusted()) > 30:
        _refuse(path, value, "a number in range")
    if isinstance(kind, inspect.FloatType):
        return float(_in_range(kind, float(number), path))
    return number


def _in_range(kind: inspect.IntType | inspect.FloatType, number: Any, path: str) -> Any:
    low = (kind.ge is None or number >= kind.ge) and (kind.gt is None or number > kind.gt)
    high = (kind.le is None or number <= kind.le) and (kind.lt is None or number < kind.lt)
    if not (low and high):
        _refuse(path, number, "in range", _range(kind))
    return number


def _range(kind: inspect.IntType | inspect.FloatType) -> str:
    limits = {"at least": kind.ge, "more than": kind.gt, "at most": kind.le, "less than": kind.lt}
    bounds = [f"{word} {limit}" for word, limit in limits.items() if limit is not None]
    return f"It is {' and '.join(bounds)}" if bounds else ""


def _coerce_bool(kind: inspect.BoolType, value: Any, path: str) -> bool:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        _refuse(path, value, "true or false")
    return value


def _coerce_str(kind: inspect.StrType, value: Any, path: str) -> str:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        _refuse(path, value, "a text")
    if "\x00" in text:
        _refuse(path, text, "text without NUL characters")
    if kind.max_length is not None and len(text) > kind.max_length:
        _refuse(path, text, f"short enough ({len(text)} characters)", f"At most {kind.max_length} characters")
    if kind.min_length is not None and len(text) < kind.min_length:
        _refuse(path, text, "long enough", f"At least {kind.min_length} characters")
    return text


def _coerce_date(kind: inspect.DateType, value: Any, path: str) -> datetime.date:
    """Return the day of a date or a time as written, whatever its time zone."""
    try:
        return datetime.datetime.fromisoformat(value.strip()).date()
    except (ValueError, AttributeError):
        _refuse(path, value, "a day", "Write YYYY-MM-DD, such as 2026-11-20")


def _coerce_choice(kind: inspect.LiteralType | inspect.EnumType, value: Any, path: str) -> Any:
    values = kind.values if isinstance(kind, inspect.LiteralType) else [member.value for member in kind.cls]
    if value in values:
        return value
    choices_by_key = {_fold(str(choice)): choice for choice in values}
    if isinstance(value, str) and _fold(value) in choices_by_key:
        return choices_by_key[_fold(value)]
    synonyms = _SYNONYMS.get(_fold(value), ()) if isinstance(value, str) else ()
    for choice in synonyms:
        if choice in choices_by_key:
            return choices_by_key[choice]
    excerpt = value if isinstance(value, str) else _excerpt(value)
    error = unknown_value(path, excerpt[:_MAX_EXCERPT], [str(choice) for choice in values], show=str)
    if "Valid:" not in error.message:
        error = UserError(f"{error.message} Valid: {', '.join(map(str, values))}.", field=path, value=value)
    raise error


def _fold(text: str) -> str:
    return text.strip().casefold().replace("-", "_").replace(" ", "_")


def _coerce_list(kind: inspect.CollectionType, value: Any, path: str) -> list[Any]:
    items = _parse_json(value, list) if isinstance(value, str) else value
    if not isinstance(items, list):
        items = [items]
    if kind.max_length is not None and len(items) > kind.max_length:
        _refuse(path, value, f"short enough ({len(items)} items)", f"At most {kind.max_length} items")
    if kind.min_length is not None and len(items) < kind.min_length:
        _refuse(path, value, "long enough", f"At least {kind.min_length} items")
    return [_coerce(kind.item_type, item, f"{path}[{index}]") for index, item in enumerate(items)]


def _coerce_struct(kind: inspect.StructType, value: Any, path: str) -> dict[str, Any]:
    members = _members(value)
    if not isinstance(members, dict):
        fields = ", ".join(field.encode_name for field in kind.fields)
        _refuse(path, value, "an object", f"Its fields are {fields}")
    return _fields(kind, members, path=path, owner="these arguments")


def _coerce_dict(kind: inspect.DictType, value: Any, path: str) -> dict[str, Any]:
    members = _members(value)
    if not isinstance(members, dict):
        _refuse(path, value, "an object")
    return {
        _coerce(kind.key_type, key, path): _coerce(kind.value_type, item, f"{path}.{key[:_MAX_EXCERPT]}")
        for key, item in members.items()
    }


def _members(value: Any) -> Any:
    """Return an object that may be JSON text, or PHP's empty list in place of an empty object; else the value."""
    members = _parse_json(value, dict) if isinstance(value, str) else value
    return {} if members == [] else members


def _parse_json(text: str, kind: type) -> Any:
    """Return the list or object that a text encodes; the text itself if it encodes none."""
    if not text.lstrip().startswith(("[", "{")):
        return text
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, kind) else text


def _refuse(path: str, value: Any, expected: str, repair: str = "") -> NoReturn:
    end = f" {repair}." if repair else ""
    raise UserError(f"{path}: {_excerpt(value)} is not {expected}.{end}", field=path, value=value)


def _excerpt(value: Any) -> str:
    try:
        text = msgspec.json.encode(value).decode()
    except RecursionError:
        return "a deeply nested value"
    return text if len(text) <= _MAX_EXCERPT else f"{text[:_MAX_EXCERPT]}…"


_COERCERS: Mapping[type[inspect.Type], Callable[[Any, Any, str], Any]] = {
    inspect.UnionType: _coerce_union,
    inspect.IntType: _coerce_int,
    inspect.FloatType: _coerce_decimal,
    inspect.DecimalType: _coerce_decimal,
    inspect.BoolType: _coerce_bool,
    inspect.StrType: _coerce_str,
    inspect.DateType: _coerce_date,
    inspect.LiteralType: _coerce_choice,
    inspect.EnumType: _coerce_choice,
    inspect.ListType: _coerce_list,
    inspect.SetType: _coerce_list,
    inspect.VarTupleType: _coerce_list,
    inspect.StructType: _coerce_struct,
    inspect.DictType: _coerce_dict,
}
