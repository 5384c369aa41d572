"""Every registered tool, found by itself: its definition, and its real answers to its own examples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from accounts.keys import mint_mcp_key
from accounts.models import MCPKey
from mcpserver.definitions import REFERENCES
from mcpserver.method_context import META_CAPABILITIES
from mcpserver.registry import ANSWER_FIELDS, Tool, ToolAccess, registry
from mcpserver.resources.cost_view import EXTENSION, MIME_TYPE
from mcpserver.results import MAX_ANSWER_BYTES
from mcpserver.schema import whole_answer_schema
from mcpserver.server import INSTRUCTIONS
from tests.cast import Cast, signed_in
from tests.conformance import schemas
from tests.conformance.requirements import requirement
from tests.isolation.discovery import fingerprint
from tests.mcpserver.mcp_client import McpClient, mint

TOOLS = list(registry)
READ_TOOLS = [tool for tool in TOOLS if tool.access is ToolAccess.READ]
MAX_DEFINITIONS_BYTES = 36_000
DESTRUCTIVE = {"delete_dashboard"}
KEYWORDS = ("type", "description", "enum", "minimum", "maximum")

each_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
each_read_tool = pytest.mark.parametrize("tool", READ_TOOLS, ids=lambda tool: tool.name)

# A number that is no amount of money says so in its name.
NOT_MONEY = (
    "score",
    "share",
    "ratio",
    "percent",
    "quantity",
    "quantities",
    "coverage",
    "utilization",
    "rate",
    "usage",
)


@pytest.fixture
def cast(account_with_marks: Cast, db: None) -> Cast:
    return account_with_marks


@pytest.fixture
def marked_client(cast: Cast) -> McpClient:
    return McpClient(mint(cast))


def answers(mcp_client: McpClient, tool: Tool) -> Iterator[dict[str, Any]]:
    for example in tool.examples:
        result = mcp_client.result("tools/call", {"name": tool.name, "arguments": dict(example)})
        assert not result["isError"], result["content"][0]["text"]
        yield result


@requirement("tools:size")
@pytest.mark.parametrize("revision", schemas.REVISIONS)
def test_all_definitions_together_stay_small(cast: Cast, revision: str) -> None:
    capabilities = {"extensions": {EXTENSION: {"mimeTypes": [MIME_TYPE]}}}
    params = {"_meta": {META_CAPABILITIES: capabilities}} if revision == schemas.MODERN else {}
    answer = McpClient(mint(cast, "read_write")).request("tools/list", params, revision=revision)

    listing = answer["result"]["tools"]
    assert len(listing) == len(TOOLS)
    assert ("_meta" in next(tool for tool in listing if tool["name"] == "querySpend")) == (
        revision >= "2025-06-18"
    )
    sizes = {tool["name"]: len(msgspec.json.encode(tool)) for tool in listing}
    over = len(msgspec.json.encode(answer)) - MAX_DEFINITIONS_BYTES
    assert over < 0, (
        f"{over} bytes too many; shorten one of {sorted(sizes, key=lambda name: -sizes[name])[:5]}"
    )


@requirement("tools:annotations")
@each_tool
def test_only_a_destructive_tool_says_so(tool: Tool) -> None:
    assert tool.destructive == (tool.name in DESTRUCTIVE)
    assert tool.hints["readOnlyHint"] == (tool.access is ToolAccess.READ)


def test_tools_write_only_what_the_instructions_list() -> None:
    instructions = " ".join(INSTRUCTIONS.split())

    assert "Tools create budgets and alert subscriptions and edit dashboards." in instructions
    assert {tool.name for tool in TOOLS if tool.access is ToolAccess.WRITE} == {
        *("create_budget", "create_alert_subscription"),
        *("create_dashboard", "set_dashboard_widgets", "delete_dashboard"),
    }
    assert "Not available (say so instead of guessing)" in instructions
    assert len(INSTRUCTIONS) < 2_500


def test_the_most_important_instructions_are_in_the_first_512_characters() -> None:
    """Some hosts show a model no more of them."""
    beginning = " ".join(INSTRUCTIONS[:512].split())

    for rule in (
        "State the `currency` with each amount and never add amounts of different currencies.",
        "Request totals, shares and changes instead of computing them.",
        "Pass on `warnings`",
        "Not available (say so instead of guessing): live prices and price lists;",
        "other accounts; actual cost after `data_through`.",
    ):
        assert rule in beginning


def test_capabilities_named_as_not_available_have_no_tool() -> None:
    not_available = " ".join(INSTRUCTIONS.split()).split("Also not available:")[1].split(". ")[0]

    assert "simulateCost prices real lines under other assumptions" in not_available
    assert "simulateCost" in {tool.name for tool in TOOLS}


@requirement("tools:schemas")
@each_tool
def test_every_argument_is_described(tool: Tool) -> None:
    listed_schema = registry.listed_schemas[tool.name]

    assert listed_schema["properties"], "some hosts refuse a tool without arguments"
    assert [name for name, schema in listed_schema["properties"].items() if "description" not in schema] == []


@requirement("tools:schemas")
@each_tool
def test_the_schemas_of_a_tool_are_valid_and_every_revision_can_read_them(tool: Tool) -> None:
    listed_schema = registry.listed_schemas[tool.name]
    for schema in (tool.input_schema, listed_schema):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert all(isinstance(value, dict) for value in schema["properties"].values())
    assert tool.input_schema["additionalProperties"] is False


@requirement("tools:schemas")
@each_tool
def test_the_listed_schema_has_only_what_all_hosts_keep(tool: Tool) -> None:
    """What the converters of tests/conformance/test_hosts.py drop or refuse, and claude.ai, which has none to run: it drops
    objects and lists of objects inside of an object."""
    listed_schema = registry.listed_schemas[tool.name]

    assert "description" not in listed_schema  # LangChain drops it
    for path, schema in _schemas(listed_schema):
        assert set(schema) <= {*KEYWORDS, "items", "properties", "required"}, path
        assert isinstance(schema["type"], str), path
        assert schema["type"] != "object" or schema["properties"], path
        assert schema["type"] != "array" or schema["items"], path
        assert set(schema.get("required", [])) <= set(schema.get("properties", {})), path
        is_nested = path.count(".") > 1
        assert not is_nested or "object" not in {schema["type"], schema.get("items", {}).get("type")}, path


def _schemas(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """A schema and those inside it, with their paths."""
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from _schemas(field, f"{path}.{name}")
    if "items" in schema:
        yield from _schemas(schema["items"], path)


@requirement("tools:arguments")
@each_tool
def test_the_examples_of_a_tool_match_its_schema(tool: Tool) -> None:
    for example in tool.examples:
        Draft202012Validator(tool.input_schema).validate(example)
        Draft202012Validator(registry.listed_schemas[tool.name]).validate(_with_json_text(example))


def _with_json_text(example: Any, *, is_value: bool = False) -> Any:
    """An example as hosts send it, each value that is an object as JSON text."""
    if isinstance(example, list):
        return [_with_json_text(item) for item in example]
    if not isinstance(example, dict):
        return example
    if is_value:
        return json.dumps(example)
    return {name: _with_json_text(value, is_value=True) for name, value in example.items()}


@requirement("tools:schemas")
@each_tool
def test_choices_that_it_does_not_list_are_listed_by_the_tool_that_it_names(tool: Tool) -> None:
    properties = registry.listed_schemas[tool.name]["properties"]

    assert properties.keys() == tool.input_schema["properties"].keys()
    for name, argument in tool.input_schema["properties"].items():
        if _choices(properties[name]) != _choices(argument):
            referred = next(each for each in REFERENCES if each in properties[name]["description"])
            assert _choices(registry.listed_schemas[referred]["properties"][name]) == _choices(argument)


def _choices(schema: Any) -> list[Any]:
    """All enums in a schema."""
    if isinstance(schema, list):
        return [choice for item in schema for choice in _choices(item)]
    if not isinstance(schema, dict):
        return []
    inner = [choice for item in schema.values() for choice in _choices(item)]
    return [schema["enum"], *inner] if isinstance(schema.get("enum"), list) else inner


@requirement("tools:answer", "tools:output-schema", "tools:answer-size")
@each_read_tool
def test_the_answers_of_a_tool_are_complete_small_and_fit_its_schema(
    marked_client: McpClient, cast: Cast, tool: Tool
) -> None:
    for result in answers(marked_client, tool):
        text, answer = result["content"][0]["text"], result["structuredContent"]

        assert json.loads(text) == answer
        assert set(ANSWER_FIELDS) <= set(answer)
        assert answer["summary"].endswith(".")
        assert answer["console_url"].startswith(f"http://127.0.0.1:8000/a/{cast.account.slug}/")
        assert len(text.encode()) <= MAX_ANSWER_BYTES
        Draft202012Validator(whole_answer_schema(tool.answer)).validate(answer)


@each_read_tool
def test_the_console_link_of_a_tool_opens_a_page(marked_client: McpClient, cast: Cast, tool: Tool) -> None:
    person = signed_in(cast.viewer)

    for result in answers(marked_client, tool):
        url = result["structuredContent"]["console_url"]
        assert person.get(url.removeprefix("http://127.0.0.1:8000")).status_code == 200


@requirement("tools:output-schema")
@each_read_tool
def test_an_account_without_data_gets_an_answer_too(cast: Cast, tool: Tool) -> None:
    key = mint_mcp_key(account=cast.other_account, actor=cast.other_actor, name="empty")[1]
    for result in answers(McpClient(key), tool):
        Draft202012Validator(whole_answer_schema(tool.answer)).validate(result["structuredContent"])


@requirement("tools:read-only")
@each_read_tool
def test_a_read_tool_changes_nothing_but_the_keys_last_use(marked_client: McpClient, tool: Tool) -> None:
    keys = frozenset({"accounts_mcpkey"})
    tables, key_rows = fingerprint(without=keys), _keys()

    list(answers(marked_client, tool))

    assert fingerprint(without=keys) == tables
    assert _keys() == key_rows


def _keys() -> list[dict[str, Any]]:
    """All that a key is but its last use."""
    rows = MCPKey.objects.unscoped().order_by("pk").values()
    used = ("last_used_at", "last_client")
    return [{name: value for name, value in row.items() if name not in used} for row in rows]


@requirement("tools:money")
@each_tool
def test_an_amount_in_its_types_has_its_currency_next_to_it(tool: Tool) -> None:
    bare = [
        f"{kind.__name__}.{field}"
        for root in (tool.arguments, tool.answer)
        for kind in _structs(root)
        for field in _amounts(kind)
        if "currency" not in kind.__struct_fields__
    ]

    assert bare == []


@requirement("tools:money", "tools:rounding")
@each_read_tool
def test_an_amount_in_its_answers_has_its_currency_next_to_it_and_six_places(
    marked_client: McpClient, tool: Tool
) -> None:
    for result in answers(marked_client, tool):
        answer = json.loads(result["content"][0]["text"], parse_float=Decimal)
        for name, number, beside in _numbers(answer, {}):
            assert -int(number.as_tuple().exponent) <= 6
            assert "currency" in beside or any(word in name for word in NOT_MONEY), name


def _structs(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The Struct and those inside it."""
    for info in msgspec.inspect.multi_type_info([kind]):
        yield from _inside(info)


def _inside(info: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(info, msgspec.inspect.StructType):
        yield info.cls
        for field in info.fields:
            yield from _inside(field.type)
    for name in ("type", "item_type", "value_type"):
        if hasattr(info, name):
            yield from _inside(getattr(info, name))
    for choice in getattr(info, "types", ()):
        yield from _inside(choice)


def _amounts(kind: type[msgspec.Struct]) -> list[str]:
    """The fields of a Struct that hold a Decimal and are not said to be anything but money."""
    return [
        name
        for name, hint in kind.__annotations__.items()
        if "Decimal" in str(hint) and not any(word in name for word in NOT_MONEY)
    ]


def _numbers(
    value: Any, beside: dict[str, Any], name: str = ""
) -> Iterator[tuple[str, Decimal, dict[str, Any]]]:
    """Each number with a fraction, its name, and the object it stands in; amounts by day stand in the series that has the currency."""
    if isinstance(value, Decimal):
        yield name, value, beside
    if isinstance(value, dict):
        is_series = name in ("amounts", "quantities", "quantity_series")
        holder = beside if is_series else value
        for key, item in value.items():
            yield from _numbers(item, holder, name if is_series else key)
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item, beside, "" if isinstance(item, dict) else name)
