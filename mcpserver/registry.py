"""The tools and prompts that the endpoints offer: each is data, registered once, frozen when the server starts.

A tool lives in `mcpserver/tools/<noun>.py` and holds no business logic; it calls the function that the page calls:

    class ListTeamsArguments(msgspec.Struct, kw_only=True):
        search: Annotated[str, Meta(description="Part of a team's name.")] = ""

    @tool(
        name="listTeams",
        title="List teams",
        access=ToolAccess.READ,
        description="The account's teams and the tag values each one owns. Start here before filtering by team.",
        examples=[{}, {"search": "core"}],
    )
    def list_teams(call: ToolCall, arguments: ListTeamsArguments) -> TeamsAnswer:
        return read_teams(call.account, search=arguments.search)

* Arguments and answer are msgspec Structs; `inputSchema` and the OpenAPI document come from them (schema.py), so say
  units and meaning in `Meta(description=…)`, of each argument. Arguments take `Literal` or `enum.StrEnum` for choices, `datetime.date` for
  days, `Decimal` for amounts. A type must be a module-level name, because annotations are read as text.
* The endpoint has decoded the arguments with tolerance (coerce.py), opened the account's scope and, for a read tool, a
  READ ONLY transaction with a statement timeout. Raise `finops.lib.errors.UserError` for errors that the caller can
  correct; any other error becomes an incident number.
* Every answer has the fields of ANSWER_FIELDS. Amounts are Decimal with `currency` beside them, not rounded: the
  endpoint rounds to six places when it encodes (results.py).
* `examples` are argument objects that work on any account with data. The tests call every one: they check its answer
  against the schema, its size, and that the database is the same afterwards. A read tool has at least one.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from finops.lib.listing import CsvTable
from mcpserver.context import ToolCall
from mcpserver.definitions import listed_schemas
from mcpserver.schema import Schema, arguments_schema

ANSWER_FIELDS = ("account", "summary", "warnings", "hint", "console_url")

DISPLAY_CURRENCY = "display_currency"
"""The argument of every tool that converts."""

_DISPLAY_CURRENCY_TEXT = "Such as EUR, or own for the currencies of the bills."

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # the names that the strictest host accepts

CsvReader = Callable[[ToolCall, Any], CsvTable]
"""A function that returns all rows of an answer as CSV, from the call and its arguments."""

Handler = TypeVar("Handler", bound=Callable[..., msgspec.Struct])


class RegistryError(RuntimeError):
    """A tool or prompt is invalid, registered twice, or registered after the start."""


class ToolAccess(enum.Enum):
    """Access that a tool needs: any credential, or one with read/write access."""

    READ = "read"
    WRITE = "write"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tool:
    name: str
    title: str
    description: str
    access: ToolAccess
    destructive: bool
    idempotent: bool
    arguments: type[msgspec.Struct]
    answer: type[msgspec.Struct]
    handler: Callable[..., msgspec.Struct]
    examples: tuple[Mapping[str, Any], ...]
    input_schema: Schema
    converts: bool = False
    """Whether the tool takes `display_currency`, which `execution.py` reads: its amounts are sums of cost lines."""
    has_view: bool = False
    """Whether hosts with MCP Apps show the answers as chart and table (`mcp_app/figures.js`)."""
    has_receipt: bool = False
    """Whether the answers have a receipt (`mcpserver/receipts/`): they contain amounts of cost."""
    is_cacheable: bool = False
    """Whether answers may be cached (`cached_answers.py`): the handler takes the sources from `current_sources()`, and
    its answer depends on nothing but these, the arguments, the account and statements that it runs."""
    csv: CsvReader | None = None
    """Function that returns all rows of an answer, for a link in a `truncated` answer (`answer_links.py`)."""
    question: Callable[[ToolCall, Any], str] | None = None
    """Question to the person before the tool runs, from the call and its arguments (`elicitation.py`); empty: no
    question."""

    @property
    def hints(self) -> dict[str, bool]:
        """All hints are set, because a host assumes the dangerous default for a missing hint; except idempotence of a
        read tool, where the hint has no meaning."""
        hints = {
            "readOnlyHint": self.access is ToolAccess.READ,
            "destructiveHint": self.destructive,
            "openWorldHint": False,
        }
        return hints if self.access is ToolAccess.READ else {**hints, "idempotentHint": self.idempotent}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Completion:
    """Suggested values of an argument, best first, and the number of other matching values."""

    values: Sequence[str] = ()
    total: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class PromptArgument:
    """An argument of a prompt. `complete` gets the typed text and the other arguments; without it there are no
    suggestions."""

    name: str
    description: str
    title: str = ""
    required: bool = False
    complete: Callable[[ToolCall, str, Mapping[str, str]], Completion] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prompt:
    """A prompt. `render` gets the arguments, all text and none empty, and returns the user's message; it raises
    UserError for an invalid value."""

    name: str
    title: str
    description: str
    render: Callable[[ToolCall, Mapping[str, str]], str]
    arguments: tuple[PromptArgument, ...] = ()


class ToolRegistry:
    """Tools and prompts, sorted by name (clients cache lists and compare them)."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._prompts: dict[str, Prompt] = {}
        self._frozen = False
        self.listed_schemas: Mapping[str, Schema] = {}
        """Argument schemas of `tools/list`, by tool; set when the registry is frozen."""

    def tool(
        self,
        *,
        name: str,
        title: str,
        description: str,
        access: ToolAccess,
        examples: Sequence[Mapping[str, Any]] = (),
        destructive: bool = False,
        idempotent: bool | None = None,
        converts: bool = False,
        has_view: bool = False,
        has_receipt: bool = False,
        is_cacheable: bool = False,
        csv: CsvReader | None = None,
        question: Callable[[ToolCall, Any], str] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Register the decorated function as a tool and return it unchanged; raises RegistryError.

        A read tool is idempotent by default, a write tool is not.
        """

        def register(handler: Handler) -> Handler:
            arguments, answer = _types_of(name, handler)
            self.add(
                Tool(
                    name=name,
                    title=title,
                    description=" ".join(description.split()),
                    access=access,
                    destructive=destructive,
                    idempotent=access is ToolAccess.READ if idempotent is None else idempotent,
                    arguments=arguments,
                    answer=answer,
                    handler=handler,
                    examples=tuple(examples),
                    input_schema=_with_display_currency(arguments_schema(arguments), converts=converts),
                    converts=converts,
                    has_view=has_view,
                    has_receipt=has_receipt,
                    is_cacheable=is_cacheable,
                    csv=csv,
                    question=question,
                )
            )
            return handler

        return register

    def add(self, tool: Tool) -> None:
        """Add a tool. Raises RegistryError once frozen, for a name that is taken or malformed, and for a read tool
        that is destructive or has no example."""
        self._check_new(tool.name, self._tools, tool.description)
        if tool.access is ToolAccess.READ and (tool.destructive or not tool.examples):
            raise RegistryError(f"{tool.name}: a read tool is not destructive and has at least one example")
        self._tools[tool.name] = tool

    def add_prompt(self, prompt: Prompt) -> None:
        self._check_new(prompt.name, self._prompts, prompt.description)
        self._prompts[prompt.name] = prompt

    def _check_new(self, name: str, existing: Mapping[str, object], description: str) -> None:
        if self._frozen:
            raise RegistryError(f"{name}: the registry is frozen; register when the module is imported")
        if not _NAME.fullmatch(name):
            raise RegistryError(f"{name!r}: a name is 1 to 64 of A-Z a-z 0-9 _ -")
        if name in existing:
            raise RegistryError(f"{name} is registered twice")
        if not description.strip():
            raise RegistryError(f"{name} has no description")

    def freeze(self) -> None:
        self._frozen = True
        self._tools = dict(sorted(self._tools.items()))
        self.listed_schemas = listed_schemas({tool.name: tool.input_schema for tool in self})
        self._prompts = dict(sorted(self._prompts.items()))

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def get_prompt(self, name: str) -> Prompt | None:
        return self._prompts.get(name)

    def names(self) -> Iterable[str]:
        return self._tools.keys()

    def prompts(self) -> tuple[Prompt, ...]:
        return tuple(self._prompts.values())

    def callable_by(self, *, may_write: bool) -> tuple[Tool, ...]:
        return tuple(tool for tool in self if may_write or tool.access is ToolAccess.READ)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)


def _with_display_currency(schema: Schema, *, converts: bool) -> Schema:
    if not converts:
        return schema
    argument = {"type": "string", "description": _DISPLAY_CURRENCY_TEXT}
    return {**schema, "properties": {**schema.get("properties", {}), DISPLAY_CURRENCY: argument}}


def _types_of(name: str, handler: Callable[..., object]) -> tuple[type[msgspec.Struct], type[msgspec.Struct]]:
    hints = typing.get_type_hints(handler)
    parameters = list(inspect.signature(handler).parameters)
    if len(parameters) != 2:
        raise RegistryError(f"{name}: a tool takes (call: ToolCall, arguments: …Arguments)")
    arguments, answer = _struct(name, hints.get(parameters[1])), _struct(name, hints.get("return"))
    missing = [field for field in ANSWER_FIELDS if field not in answer.__struct_fields__]
    if missing:
        raise RegistryError(f"{name}: its answer lacks {', '.join(missing)}")
    return arguments, answer


def _struct(name: str, kind: object) -> type[msgspec.Struct]:
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        raise RegistryError(f"{name}: arguments and answer are msgspec Structs, not {kind!r}")
    return kind


registry = ToolRegistry()
tool = registry.tool
