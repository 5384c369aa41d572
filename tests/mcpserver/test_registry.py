from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from mcpserver.context import ToolCall
from mcpserver.registry import Prompt, RegistryError, ToolAccess, ToolRegistry, registry
from mcpserver.schema import SchemaError, arguments_schema
from tests.conformance.requirements import requirement
from tests.mcpserver.toys import Answer, NoArguments, make_toys


class Node(msgspec.Struct):
    children: list[Node]


class ArrayLike(msgspec.Struct, array_like=True):
    name: str


class BareAnswer(msgspec.Struct):
    summary: str


def plain(call: ToolCall, arguments: NoArguments) -> Answer:
    return Answer(account=call.account.slug)


def recursive(call: ToolCall, arguments: Node) -> Answer:
    return Answer(account="")


def no_object(call: ToolCall, arguments: ArrayLike) -> Answer:
    return Answer(account="")


def bare(call: ToolCall, arguments: NoArguments) -> BareAnswer:
    return BareAnswer(summary="")


def untyped_tool(call: ToolCall, arguments: dict[str, Any]) -> Answer:
    return Answer(account="")


def lonely(call: ToolCall) -> Answer:
    return Answer(account="")


def register(tools: ToolRegistry, handler: Callable[..., msgspec.Struct] = plain, **changes: Any) -> None:
    options = {
        "name": "plain",
        "title": "Plain",
        "description": "Plain.",
        "access": ToolAccess.READ,
        "examples": [{}],
    }
    tools.tool(**{**options, **changes})(handler)


@requirement("tools:names")
def test_a_name_is_registered_once() -> None:
    tools = ToolRegistry()
    register(tools)

    with pytest.raises(RegistryError, match="plain is registered twice"):
        register(tools)


@requirement("tools:names")
def test_nothing_is_registered_after_the_start() -> None:
    with pytest.raises(RegistryError, match="frozen"):
        register(registry, name="late")
    with pytest.raises(RegistryError, match="frozen"):
        registry.add_prompt(
            Prompt(name="late", title="Late", description="Late.", render=lambda _call, given: "")
        )


@requirement("tools:names", "tools:schemas", "tools:annotations")
@pytest.mark.parametrize(
    ("handler", "changes", "message"),
    [
        (plain, {"name": "has space"}, "a name is 1 to 64 of"),
        (plain, {"name": "n" * 65}, "a name is 1 to 64 of"),
        (plain, {"name": ""}, "a name is 1 to 64 of"),
        (plain, {"description": "  "}, "plain has no description"),
        (plain, {"examples": []}, "at least one example"),
        (plain, {"destructive": True}, "a read tool is not destructive"),
        (bare, {}, "its answer lacks account, warnings, hint, console_url"),
        (untyped_tool, {}, "msgspec Structs, not dict"),
        (lonely, {}, "a tool takes"),
    ],
)
def test_a_tool_that_is_wrong_in_itself_fails_at_the_start(
    handler: Callable[..., msgspec.Struct], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(RegistryError, match=message):
        register(ToolRegistry(), handler, **changes)


@requirement("tools:schemas")
@pytest.mark.parametrize(
    ("handler", "message"), [(recursive, "contains itself"), (no_object, "is no object")]
)
def test_a_type_without_a_plain_schema_fails_at_the_start(
    handler: Callable[..., msgspec.Struct], message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        register(ToolRegistry(), handler)


@requirement("tools:order")
def test_tools_come_in_the_order_of_their_names_whatever_the_order_of_imports() -> None:
    tools = ToolRegistry()
    for name in ("zebra", "Apple", "mango"):
        register(tools, name=name)
    tools.freeze()

    assert list(tools.names()) == ["Apple", "mango", "zebra"]


@requirement("tools:annotations")
def test_hints_follow_from_what_a_tool_is() -> None:
    toys = {tool.name: tool.hints for tool in make_toys()}

    assert toys["echo"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "openWorldHint": False,
    }
    assert (toys["rename"]["readOnlyHint"], toys["rename"]["idempotentHint"]) == (False, False)


@requirement("tools:schemas")
def test_the_schema_of_arguments_says_all_a_caller_needs() -> None:
    schema = next(tool.input_schema for tool in make_toys() if tool.name == "echo")

    assert schema == {
        "type": "object",
        "properties": {
            "top": {
                "description": "How many rows.",
                "type": "integer",
                "minimum": 1,
                "maximum": 50,
                "default": 10,
            },
            "grain": {"type": "string", "enum": ["day", "month"], "default": "day"},
            "basis": {"type": "string", "enum": ["amortized", "billed"]},
            "group_by": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            "filters": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "dimension": {"type": "string", "description": "Such as service."},
                        "values": {
                            "type": "array",
                            "items": {"type": "string"},
                            "description": "Any of these.",
                        },
                    },
                    "additionalProperties": False,
                    "required": ["dimension"],
                },
            },
            "start_date": {"type": "string", "format": "date", "description": "First day."},
            "amount": {"type": "number"},
            "ratio": {"type": "number"},
            "shared": {"type": "boolean"},
            "note": {"type": "string", "maxLength": 20},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "additionalProperties": False,
    }


@requirement("tools:schemas")
def test_the_listed_schema_says_in_words_what_hosts_drop_or_refuse() -> None:
    toys = make_toys()
    toys.freeze()

    properties = toys.listed_schemas["echo"]["properties"]

    assert properties["top"] == {
        "description": "How many rows. Default: 10.",
        "type": "integer",
        "maximum": 50,
    }
    assert properties["start_date"] == {"description": "First day. YYYY-MM-DD.", "type": "string"}
    assert properties["labels"] == {"type": "string", "description": "As JSON text."}
    assert properties["note"] == {"type": "string"}


def test_a_description_is_one_paragraph_however_the_source_wraps_it() -> None:
    tools = ToolRegistry()
    register(
        tools,
        description="""
        One line,
            and another.
        """,
    )

    assert [tool.description for tool in tools] == ["One line, and another."]


def test_a_tool_stays_the_function_it_was() -> None:
    tools = ToolRegistry()

    assert (
        tools.tool(name="a", title="A", description="A.", access=ToolAccess.READ, examples=[{}])(plain)
        is plain
    )


class _Place(msgspec.Struct):
    x: int


class _Placed(msgspec.Struct):
    place: _Place | None = None


def test_an_optional_object_keeps_its_fields() -> None:
    assert arguments_schema(_Placed)["properties"]["place"] == {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "additionalProperties": False,
        "required": ["x"],
    }
