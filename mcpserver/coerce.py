"""Arguments taken kindly where they are unambiguous, refused with a repair where they are not.

Language models write `"10"` for 10, one string for a list of one, and a list or object encoded as a JSON string.
Those are put right here, by the tool's own types. What is left over becomes a UserError that alone says the field,
the value, and what would be valid.
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

from finops.lib.errors import UserError, nearest, unknown_value
from finops.lib.periods import PERIOD_WORDS

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_SHOWN = 80
# What people and models say for a choice, by the choice that they can only mean, where there is such a one.
_SAME_AS = {
    **{word: (name, name.removesuffix("_to_date")) for word, name in PERIOD_WORDS.items()},
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
    """The tool's arguments as its own type. Raises UserError with the repair."""
    value = _fields(_type_of(kind), arguments, path="", owner=tool)
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UserError(f"{tool} cannot take these arguments: {error}.") from error


@functools.cache
def _type_of(kind: type[msgspec.Struct]) -> inspect.StructType:
    found = inspect.type_info(kind)
    if not isinstance(found, inspect.StructType):
        raise TypeError(f"{kind!r} is no Struct")
    return found


def _fields(kind: inspect.StructType, value: Mapping[str, Any], *, path: str, owner: str) -> dict[str, Any]:
    known = {field.encode_name: field for field in kind.fields}
    for name in value:
        if name not in known:
            _refuse_unknown(name, list(known), path=path, owner=owner)
    taken = {}
    for name, field in known.items():
        where = f"{path}.{name}" if path else name
        if field.required and value.get(name) is None:
            raise UserError(f"{where} is required{_about(field.type)}.", field=where)
        if name in value and not _left_out(value[name], field):
            taken[name] = _take(field.type, value[name], where)
    return taken


def _left_out(value: Any, field: inspect.Field) -> bool:
    """Models write null for an optional argument that they do not want to give."""
    return value is None and not field.required


def _refuse_unknown(name: str, known: list[str], *, path: str, owner: str) -> NoReturn:
    where, word = (path, "field") if path else (owner, "argument")
    close = nearest(name, known, limit=3)
    hint = f" Nearest: {', '.join(close)}." if close else ""
    valid = f"It takes {', '.join(known)}." if known else "It takes no arguments."
    raise UserError(f"{where} has no {word} {_shown(name)}.{hint} {valid}", field=name)


def _about(kind: inspect.Type) -> str:
    """The description of a field, from its Meta, as the end of a sentence."""
    extra = kind.extra_json_schema if isinstance(kind, inspect.Metadata) else None
    text = str((extra or {}).get("description", "")).rstrip(".")
    return f": {text}" if text else ""


def _take(kind: inspect.Type, value: Any, path: str) -> Any:
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    taker = _TAKERS.get(type(kind))
    return taker(kind, value, path) if taker else value


def _take_union(kind: inspect.UnionType, value: Any, path: str) -> Any:
    if value is None and kind.includes_none:
        return None
    choices = [choice for choice in kind.types if not isinstance(choice, inspect.NoneType)]
    fitting = choices if len(choices) == 1 else [each for each in choices if _is_plainly(each, value)]
    return _take(fitting[0], value, path) if fitting else value


def _is_plainly(kind: inspect.Type, value: Any) -> bool:
    """Whether a value is of one type of several as it stands."""
    if isinstance(kind, inspect.IntType):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(kind, inspect.StrType) and isinstance(value, str)


def _take_int(kind: inspect.IntType, value: Any, path: str) -> int:
    number = value
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        number = int(value)
    if isinstance(value, float) and value.is_integer():
        number = int(value)
    if isinstance(number, bool) or not isinstance(number, int):
        _refuse(path, value, "a whole number", _range(kind))
    return int(_in_range(kind, number, path))


def _take_decimal(kind: inspect.DecimalType | inspect.FloatType, value: Any, path: str) -> Decimal | float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        _refuse(path, value, "a number")
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        _refuse(path, value, "a number", "Write it without signs for thousands or currency, such as 11500.50")
    if not number.is_finite() or abs(number.adjusted()) > 30:
        _refuse(path, value, "a number of a size that makes sense")
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
    said = [f"{word} {limit}" for word, limit in limits.items() if limit is not None]
    return f"It is {' and '.join(said)}" if said else ""


def _take_bool(kind: inspect.BoolType, value: Any, path: str) -> bool:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        _refuse(path, value, "true or false")
    return value


def _take_str(kind: inspect.StrType, value: Any, path: str) -> str:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        _refuse(path, value, "a text")
    if "\x00" in text:
        _refuse(path, text, "a text that can be stored (it has a NUL character)")
    if kind.max_length is not None and len(text) > kind.max_length:
        _refuse(path, text, f"short enough ({len(text)} characters)", f"At most {kind.max_length} characters")
    if kind.min_length is not None and len(text) < kind.min_length:
        _refuse(path, text, "long enough", f"At least {kind.min_length} characters")
    return text


def _take_date(kind: inspect.DateType, value: Any, path: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(value.strip())
    except (ValueError, AttributeError):
        _refuse(path, value, "a day", "Write YYYY-MM-DD, such as 2026-11-20")


def _take_choice(kind: inspect.LiteralType | inspect.EnumType, value: Any, path: str) -> Any:
    values = kind.values if isinstance(kind, inspect.LiteralType) else [member.value for member in kind.cls]
    if value in values:
        return value
    folded = {_fold(str(choice)): choice for choice in values}
    if isinstance(value, str) and _fold(value) in folded:
        return folded[_fold(value)]
    meant = _SAME_AS.get(_fold(value), ()) if isinstance(value, str) else ()
    for choice in meant:
        if choice in folded:
            return folded[choice]
    shown = value if isinstance(value, str) else _shown(value)
    error = unknown_value(path, shown[:_SHOWN], [str(choice) for choice in values], show=str)
    if "Valid:" not in error.message:
        error = UserError(f"{error.message} Valid: {', '.join(map(str, values))}.", field=path, value=value)
    raise error


def _fold(text: str) -> str:
    return text.strip().casefold().replace("-", "_").replace(" ", "_")


def _take_list(kind: inspect.CollectionType, value: Any, path: str) -> list[Any]:
    items = _unpacked(value, list) if isinstance(value, str) else value
    if not isinstance(items, list):
        items = [items]
    if kind.max_length is not None and len(items) > kind.max_length:
        _refuse(path, value, f"short enough ({len(items)} items)", f"At most {kind.max_length} items")
    if kind.min_length is not None and len(items) < kind.min_length:
        _refuse(path, value, "long enough", f"At least {kind.min_length} items")
    return [_take(kind.item_type, item, f"{path}[{index}]") for index, item in enumerate(items)]


def _take_struct(kind: inspect.StructType, value: Any, path: str) -> dict[str, Any]:
    found = _unpacked(value, dict) if isinstance(value, str) else value
    if not isinstance(found, dict):
        fields = ", ".join(field.encode_name for field in kind.fields)
        _refuse(path, value, "an object", f"Its fields are {fields}")
    return _fields(kind, found, path=path, owner="these arguments")


def _take_dict(kind: inspect.DictType, value: Any, path: str) -> dict[str, Any]:
    found = _unpacked(value, dict) if isinstance(value, str) else value
    if not isinstance(found, dict):
        _refuse(path, value, "an object")
    return {
        _take(kind.key_type, key, path): _take(kind.value_type, item, f"{path}.{key[:_SHOWN]}")
        for key, item in found.items()
    }


def _unpacked(text: str, kind: type) -> Any:
    """The list or object that a text encodes; the text itself when it encodes none."""
    if not text.lstrip().startswith(("[", "{")):
        return text
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, kind) else text


def _refuse(path: str, value: Any, wanted: str, repair: str = "") -> NoReturn:
    end = f" {repair}." if repair else ""
    raise UserError(f"{path}: {_shown(value)} is not {wanted}.{end}", field=path, value=value)


def _shown(value: Any) -> str:
    try:
        text = msgspec.json.encode(value).decode()
    except RecursionError:
        return "a deeply nested value"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_TAKERS: Mapping[type[inspect.Type], Callable[[Any, Any, str], Any]] = {
    inspect.UnionType: _take_union,
    inspect.IntType: _take_int,
    inspect.FloatType: _take_decimal,
    inspect.DecimalType: _take_decimal,
    inspect.BoolType: _take_bool,
    inspect.StrType: _take_str,
    inspect.DateType: _take_date,
    inspect.LiteralType: _take_choice,
    inspect.EnumType: _take_choice,
    inspect.ListType: _take_list,
    inspect.SetType: _take_list,
    inspect.VarTupleType: _take_list,
    inspect.StructType: _take_struct,
    inspect.DictType: _take_dict,
}
