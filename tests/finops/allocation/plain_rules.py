"""The value that rules give a cost line, by plain Python, rule after rule. Shares no code with the expression."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from finops.lake import schema

Line = Mapping[str, Any]
Document = Mapping[str, Any]

COLUMNS = {
    "service": ("service",),
    "region": ("region",),
    "account": ("account_id", "account_name"),
    "resource": ("resource_id", "resource_name"),
    "actor": ("actor",),
}


class Plain:
    """The cost tags of an account as documents, by key."""

    def __init__(self, tags: Mapping[str, tuple[Sequence[Document], str]]) -> None:
        self.tags = tags

    def value(self, key: str, line: Line) -> str | None:
        rules, default = self.tags[key]
        for rule in rules:
            value = self._value_of_rule(rule, line)
            if value is not None:
                return value
        return default or None

    def number(self, key: str, line: Line) -> int:
        """The number of the rule that catches, from 1; 0 for none."""
        rules, _default = self.tags[key]
        return next((n for n, rule in enumerate(rules, 1) if self._value_of_rule(rule, line) is not None), 0)

    def _value_of_rule(self, rule: Document, line: Line) -> str | None:
        day: date = line["charge_date"]
        if "valid_from" in rule and day < date.fromisoformat(rule["valid_from"]):
            return None
        if "valid_to" in rule and day > date.fromisoformat(rule["valid_to"]):
            return None
        if "when" in rule and not self._is_true(rule["when"], line):
            return None
        return _copy_value(rule["copy"], line) if "copy" in rule else rule["value"]

    def _is_true(self, when: Document, line: Line) -> bool:
        if "all" in when:
            return all(self._is_true(part, line) for part in when["all"])
        if "any" in when:
            return any(self._is_true(part, line) for part in when["any"])
        if "not" in when:
            return not self._is_true(when["not"], line)
        return self._test(when, line)

    def _test(self, test: Document, line: Line) -> bool:
        texts, absent = self._texts(test["dimension"], line)
        values, op = [value.lower() for value in test.get("values", [])], str(test["op"])
        if op == "absent":
            return texts[0] is None
        none = texts[0] is None and absent in [value.strip() for value in values]
        lowered = [text.lower() for text in texts if text is not None]
        if op in ("in", "not_in"):
            matches = none or any(text in values for text in lowered)
        elif op in ("contains", "not_contains"):
            matches = any(value in text for value in values for text in lowered)
        elif op == "starts_with":
            matches = any(text.startswith(value) for value in values for text in lowered)
        else:
            matches = any(text.endswith(value) for value in values for text in lowered)
        return bool(matches) != op.startswith("not_")

    def _texts(self, dimension: str, line: Line) -> tuple[list[str | None], str]:
        family, _, key = dimension.partition(":")
        if family == "tag":
            return [line.get(schema.tag_column(key))], "(untagged)"
        if family == "cost_tag":
            return [self.value(key, line)], "(untagged)"
        absent = "(unknown)" if dimension == "actor" else "(none)"
        return [line.get(column) for column in COLUMNS[dimension]], absent


def _copy_value(copy: Document, line: Line) -> str | None:
    for key in copy["keys"]:
        text = line.get(schema.tag_column(key))
        if text is None:
            continue
        for step in copy.get("normalise", []):
            text = _STEPS[step](text)
        if text:
            new = {old.lower(): new for old, new in copy.get("map", {}).items()}
            return new.get(text.lower(), text)
    return None


def _dashes(text: str) -> str:
    text_out = ""
    for char in text:
        if char not in " _.":
            text_out += char
        elif not text_out.endswith("\x00"):
            text_out += "\x00"
    return text_out.replace("\x00", "-")


_STEPS: dict[str, Any] = {
    "trim": lambda text: text.strip(" \t\n\r"),
    "lower": lambda text: text.lower(),
    "upper": lambda text: text.upper(),
    "capitalise": lambda text: text[:1].upper() + text[1:].lower(),
    "dashes": _dashes,
    "alphanumeric": lambda text: "".join(char for char in text if unicodedata.category(char)[0] in "LN"),
}
