"""A cost tag as a YAML file, so that rules can be kept in a repository.

Every scalar is a string (`no`, `0123` and `2026-05-31` stay as written). Anchors, aliases and tags are refused, so a
file can neither expand when it is read nor create anything but strings, lists and maps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from finops.allocation.rules.document import CostTagDraft, write_draft
from finops.allocation.rules.parser import Path, RuleError, read_draft
from finops.lib.sentences import HIDDEN_CHARACTERS

MAX_BYTES = 2 * 2**20
MAX_NESTING = 50
"""Levels of lists and maps in a file; eight nested conditions need twenty."""


class YamlError(RuleError):
    """An error in a YAML file. `line` is counted from 1; 0 without a line."""

    def __init__(self, message: str, line: int, *, path: Path = (), value: Any = None) -> None:
        super().__init__(message, path, value=value)
        self.line = line
        self.message = f"Line {line}: {message}" if line else message
        self.args = (self.message,)


def draft_to_yaml(draft: CostTagDraft) -> str:
    """Write the file that `draft_from_yaml` reads as an equal draft."""
    return write_yaml(write_draft(draft))


def write_yaml(document: Any) -> str:
    """Write the file that `read_yaml` reads as an equal document of strings, lists and maps."""
    text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    return HIDDEN_CHARACTERS.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    point = ord(match[0])
    return match[0] if match[0] == "\n" else f"\\U{point:08X}" if point > 0xFFFF else f"\\u{point:04X}"


def read_yaml(text: str) -> Any:
    """Read a file of strings, lists and maps. Raises YamlError that names the line."""
    _check_size(text)
    return _read(text, {})


def _check_size(text: str) -> None:
    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise YamlError(f"The file is larger than {MAX_BYTES >> 20} MB.", 0)


class _Dumper(yaml.SafeDumper):
    """A dumper that indents lists below their keys and never writes an anchor. Texts with hidden characters are in double
    quotes, where they are escaped: who reviews a file sees them."""

    def analyze_scalar(self, scalar: str) -> Any:
        analysis = super().analyze_scalar(scalar)
        if HIDDEN_CHARACTERS.search(scalar.replace("\n", "")):
            analysis.allow_flow_plain = analysis.allow_block_plain = False
            analysis.allow_single_quoted = analysis.allow_block = False
        return analysis

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def draft_from_yaml(text: str) -> CostTagDraft:
    """Read the cost tag of a file. Raises YamlError that names line, rule and field."""
    _check_size(text)
    lines: dict[Path, int] = {}
    document = _read(text, lines)
    try:
        return read_draft(document)
    except RuleError as error:
        line = _line_of(error.path, lines)
        raise YamlError(error.message, line, path=error.path, value=error.value) from None


def _read(text: str, lines: dict[Path, int]) -> Any:
    try:
        _check_events(text)
        return _plain(yaml.compose(text, Loader=yaml.CSafeLoader), (), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.context, error.problem) if part)
        raise YamlError(f"The file is not YAML: {problem}.", mark.line + 1 if mark else 0) from None
    except yaml.YAMLError as error:
        raise YamlError(f"The file is not YAML: {str(error).splitlines()[0]}.", 0) from None
    except UnicodeError:
        raise YamlError("The file is not UTF-8 text.", 0) from None


def _check_events(text: str) -> None:
    """Check the events before any node is built: no nesting that overflows the stack, no anchor, alias or tag, no NUL."""
    depth = 0
    for event in _events(text):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise YamlError("The file has an anchor or alias (& or *). Write the values out.", line)
        if getattr(event, "tag", None):
            raise YamlError(f"The file has a tag ({event.tag}). Write plain values.", line)
        if "\0" in getattr(event, "value", ""):
            raise YamlError("A text has a null character, which cannot be stored.", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_NESTING:
            raise YamlError(f"The file is nested more than {MAX_NESTING} deep.", line)


def _events(text: str) -> Iterator[Any]:
    yield from yaml.parse(text, Loader=yaml.CSafeLoader)


def _plain(node: Any, path: Path, lines: dict[Path, int]) -> Any:
    """Convert a node to strings, lists and maps, and record the line of each by its path."""
    if node is None:
        return None
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*path, place), lines) for place, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return _map(node, path, lines)
    is_nothing = node.style is None and node.value in ("", "~", "null")
    return None if is_nothing else node.value


def _map(node: Any, path: Path, lines: dict[Path, int]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise YamlError("A key is a list or a map. Write a name.", line)
        key = key_node.value
        if key in mapping:
            raise YamlError(f"The key {key[:60]!r} is given twice.", line)
        mapping[key] = _plain(value_node, (*path, key), lines)
        lines[(*path, key)] = line
    return mapping


def _line_of(path: Path, lines: dict[Path, int]) -> int:
    """Return the line at this path, else of the nearest parent that has one."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)
