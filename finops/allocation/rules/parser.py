"""Parser of rules from JSON or YAML values. Strict: errors name the rule and the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NoReturn, cast

from finops.allocation.rules import document as doc
from finops.allocation.rules.document import AllOf, AnyOf, Condition, Copy, CostTagDraft, Not, Rule, Test
from finops.costs.spend_query import Op
from finops.lib.errors import UserError, nearest_choices
from finops.lib.sentences import truncate

Path = tuple[str | int, ...]

SHOWN = 60

_OTHER_OPS: dict[str, Op] = {
    "equals": "in",
    "is": "in",
    "=": "in",
    "==": "in",
    "not_equals": "not_in",
    "is_not": "not_in",
    "!=": "not_in",
    "starts": "starts_with",
    "ends": "ends_with",
    "untagged": "absent",
}


class RuleError(UserError):
    """An error in a rule document. `rule` is the rule's number from 1, 0 when the error is not about one rule; `path`
    is the path of the field from the document's root."""

    def __init__(self, problem: str, path: Path, *, name: str = "", value: Any = None) -> None:
        self.problem = problem
        self.path = path
        self.rule = path[1] + 1 if len(path) > 1 and path[0] == "rules" and isinstance(path[1], int) else 0
        super().__init__(f"{_place(path, name)}: {problem}", field="rules", value=value)


def _place(path: Path, name: str) -> str:
    """`Rule 3 (“Production”), when.all[2].dimension`."""
    inside = path[2:] if path[:1] == ("rules",) else path
    field = ""
    for step in inside:
        field += f"[{step + 1}]" if isinstance(step, int) else f".{step}" if field else step
    if path[:1] != ("rules",) or len(path) == 1:
        return field or ("rules" if path else "The document")
    called = f" (“{truncate(name, SHOWN)}”)" if name else ""
    number = path[1]
    return f"Rule {number + 1}{called}{f', {field}' if field else ''}"  # type: ignore[operator]  # a rule's place is a number


def read_rules(raw: Any) -> tuple[Rule, ...]:
    """Parse a list of rules. Raises RuleError."""
    path: Path = ("rules",)
    items = _list(raw, path)
    if len(items) > doc.MAX_RULES:
        _refuse(
            (
                f"{len(items)} rules; the maximum is {doc.MAX_RULES}. Combine rules of the same value "
                "with any."
            ),
            path,
        )
    rules = tuple(_rule(item, (*path, number)) for number, item in enumerate(items))
    _check_names(rules)
    _check_size(rules)
    return rules


def read_draft(raw: Any) -> CostTagDraft:
    """Parse a whole cost tag. Raises RuleError."""
    fields = _fields(raw, (), ("key", "description", "default_value", "rules"), needed=("key",))
    return CostTagDraft(
        key=_text(fields["key"], ("key",), doc.MAX_KEY_LENGTH),
        description=_text(
            fields.get("description", ""), ("description",), doc.MAX_DESCRIPTION_LENGTH, empty=True
        ),
        default_value=_text(
            fields.get("default_value", ""), ("default_value",), doc.MAX_VALUE_LENGTH, empty=True
        ),
        rules=read_rules(fields.get("rules", [])),
    )


def _rule(raw: Any, path: Path) -> Rule:
    name = _name_of(raw)
    try:
        return _read_rule(raw, path)
    except RuleError as error:
        raise RuleError(error.problem, error.path, name=name, value=error.value) from None


def _name_of(raw: Any) -> str:
    name = raw.get("name") if isinstance(raw, Mapping) else None
    return name.strip() if isinstance(name, str) else ""


def _read_rule(raw: Any, path: Path) -> Rule:
    fields = _fields(raw, path, ("name", "when", "value", "copy", "valid_from", "valid_to"))
    value, copy = fields.get("value"), fields.get("copy")
    if (value is None) == (copy is None):
        _refuse("a rule needs either value or copy.", path)
    when = fields.get("when")
    if when is None and copy is None:
        _refuse(
            "a rule with a value needs a condition. Use the default value for all other lines.",
            (*path, "when"),
        )
    rule = Rule(
        name=_text(fields.get("name", ""), (*path, "name"), doc.MAX_NAME_LENGTH, empty=True),
        when=None if when is None else _condition(when, (*path, "when"), 1),
        value="" if value is None else _text(value, (*path, "value"), doc.MAX_VALUE_LENGTH),
        copy=None if copy is None else _copy(copy, (*path, "copy")),
        valid_from=_day(fields.get("valid_from"), (*path, "valid_from")),
        valid_to=_day(fields.get("valid_to"), (*path, "valid_to")),
    )
    if rule.valid_from and rule.valid_to and rule.valid_from > rule.valid_to:
        _refuse(
            f"the last day, {rule.valid_to}, is before the first, {rule.valid_from}.", (*path, "valid_to")
        )
    return rule


_JOINS = ("all", "any", "not")


def _condition(raw: Any, path: Path, depth: int) -> Condition:
    if depth > doc.MAX_DEPTH:
        _refuse(f"conditions are nested more than {doc.MAX_DEPTH} deep.", path)
    fields = _fields(raw, path, (*_JOINS, "dimension", "op", "values"))
    joins = [name for name in _JOINS if name in fields]
    if not joins:
        return _test(fields, path)
    if len(fields) > 1:
        other_names = ", ".join(name for name in fields if name != joins[0])
        _refuse(f"{joins[0]} cannot be combined with {other_names}. Nest conditions instead.", path)
    join, inside = joins[0], (*path, joins[0])
    if join == "not":
        return Not(_condition(fields[join], inside, depth + 1))
    items = _list(fields[join], inside)
    if not items:
        _refuse("is empty. Add a condition, or remove it.", inside)
    parts = tuple(_condition(item, (*inside, place), depth + 1) for place, item in enumerate(items))
    return AllOf(parts) if join == "all" else AnyOf(parts)


def _test(fields: Mapping[str, Any], path: Path) -> Test:
    if "dimension" not in fields:
        _refuse("a condition needs all, any, not, or a dimension with op and values.", path)
    op = _op(fields.get("op", "in"), (*path, "op"))
    values = _texts(
        fields.get("values", []), (*path, "values"), doc.MAX_VALUES, doc.MAX_TESTED_LENGTH, strip=False
    )
    if op == "absent" and values:
        _refuse("op absent has no values. Remove values, or use op in.", (*path, "values"))
    if op != "absent" and not values:
        _refuse(
            f"op {op} needs at least one value. For lines without a value use op absent.", (*path, "values")
        )
    return Test(dimension=_text(fields["dimension"], (*path, "dimension"), 300), op=op, values=values)


def _op(raw: Any, path: Path) -> Op:
    text = _text(raw, path, SHOWN).lower().replace(" ", "_")
    op = _OTHER_OPS.get(text, text)
    if op not in doc.OPS:
        _unknown("op", text, (*doc.OPS, "equals"), path)
    return op


def _copy(raw: Any, path: Path) -> Copy:
    fields = _fields(raw, path, ("keys", "normalise", "map"), needed=("keys",))
    keys = _texts(fields["keys"], (*path, "keys"), doc.MAX_COPY_KEYS, 256, strip=False)
    if not keys:
        _refuse("enter at least one tag key to copy.", (*path, "keys"))
    steps = _texts(fields.get("normalise", []), (*path, "normalise"), len(doc.NORMALISATIONS), SHOWN)
    for place, step in enumerate(steps):
        if step not in doc.NORMALISATIONS:
            _unknown("normalisation", step, doc.NORMALISATIONS, (*path, "normalise", place))
    return Copy(
        keys=tuple(key.removeprefix("tag:") for key in keys),
        normalise=cast("tuple[doc.Normalisation, ...]", steps),
        map=_map(fields.get("map", {}), (*path, "map")),
    )


def _map(raw: Any, path: Path) -> tuple[tuple[str, str], ...]:
    if not isinstance(raw, Mapping):
        _refuse("is not a map of old to new values.", path)
    if len(raw) > doc.MAX_VALUES:
        _refuse(f"{len(raw)} entries; the maximum is {doc.MAX_VALUES}.", path)
    pairs: dict[str, tuple[str, str]] = {}
    for key, value in raw.items():
        old = _text(key, path, doc.MAX_TESTED_LENGTH, strip=False)
        if old.lower() in pairs:
            _refuse(f"{truncate(old, SHOWN)!r} is given twice (not case-sensitive).", path)
        pairs[old.lower()] = (old, _text(value, (*path, old), doc.MAX_VALUE_LENGTH))
    return tuple(pairs.values())


def _check_names(rules: Sequence[Rule]) -> None:
    first: dict[str, int] = {}
    for number, rule in enumerate(rules):
        if not rule.name:
            continue
        if rule.name.casefold() in first:
            earlier = first[rule.name.casefold()] + 1
            _refuse(
                f"rule {earlier} already has the name {truncate(rule.name, SHOWN)!r}.",
                ("rules", number, "name"),
            )
        first[rule.name.casefold()] = number


def _check_size(rules: Sequence[Rule]) -> None:
    tests = [test for rule in rules for test in doc.tests_of(rule.when)]
    values = sum(len(test.values) for test in tests) + sum(len(rule.copy.map) for rule in rules if rule.copy)
    if len(tests) > doc.MAX_TESTS:
        _refuse(f"the rules have {len(tests):,} conditions; the maximum is {doc.MAX_TESTS:,}.", ("rules",))
    if values > doc.MAX_ALL_VALUES:
        _refuse(
            (
                f"the rules have {values:,} values; the maximum is {doc.MAX_ALL_VALUES:,}. Use contains "
                "or starts_with."
            ),
            ("rules",),
        )


def _fields(raw: Any, path: Path, allowed: Sequence[str], *, needed: Sequence[str] = ()) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        _refuse(f"is {_kind(raw)}, not an object with {', '.join(allowed)}.", path)
    for name in raw:
        if name not in allowed:
            _unknown("field", truncate(str(name), SHOWN), allowed, path)
    for name in needed:
        if raw.get(name) is None:
            _refuse(f"{name} is missing.", path)
    return {name: value for name, value in raw.items() if value is not None}


def _list(raw: Any, path: Path) -> Sequence[Any]:
    if not isinstance(raw, list | tuple):
        _refuse(f"is {_kind(raw)}, not a list.", path)
    return raw


def _texts(raw: Any, path: Path, limit: int, length: int, *, strip: bool = True) -> tuple[str, ...]:
    items = [raw] if isinstance(raw, str) else _list(raw, path)
    if len(items) > limit:
        _refuse(f"{len(items):,} exceed the maximum of {limit:,}.", path)
    texts = [_text(item, (*path, place), length, strip=strip) for place, item in enumerate(items)]
    return tuple(dict.fromkeys(texts))


def _text(raw: Any, path: Path, limit: int, *, empty: bool = False, strip: bool = True) -> str:
    if not isinstance(raw, str):
        _refuse(f"is {_kind(raw)}, not a text.", path)
    text = raw.strip() if strip else raw
    if not text and not empty:
        _refuse("is empty.", path)
    if len(text) > limit:
        _refuse(f"{truncate(text, SHOWN)!r} has {len(text):,} characters; the maximum is {limit:,}.", path)
    if "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
        _refuse("has an invalid character (NUL or a lone surrogate). Remove it.", path)
    return text


def _day(raw: Any, path: Path) -> date | None:
    if raw is None or raw == "":
        return None
    if isinstance(raw, date):
        return raw
    try:
        return date.fromisoformat(_text(raw, path, SHOWN))
    except ValueError:
        _refuse(f"{raw!r} is not a day such as 2026-05-31.", path)


def _kind(raw: Any) -> str:
    names = {bool: "a yes or no", int: "a number", float: "a number", list: "a list", type(None): "nothing"}
    return names.get(type(raw), "a text" if isinstance(raw, str) else "an object")


def _unknown(what: str, value: str, allowed: Sequence[str] | Mapping[Any, Any], path: Path) -> NoReturn:
    close = nearest_choices(value, list(allowed)) or list(allowed)
    _refuse(
        (
            f"{what} {value!r} does not exist. {('Nearest' if len(close) < len(allowed) else 'Known')}: "
            f"{', '.join(close)}."
        ),
        path,
    )


def _refuse(problem: str, path: Path) -> NoReturn:
    raise RuleError(problem, path)
