"""No amount without its currency: in no tool's types, and in no real answer. A new tool joins by itself."""

from __future__ import annotations

import json
from decimal import Decimal

import msgspec
import pytest

from mcpserver.registry import Access, Tool, registry
from tests.mcpserver.door import Door
from tests.mcpserver.tools.amounts import bare_amounts_of_answer, bare_amounts_of_type

TOOLS = list(registry)


class Bare(msgspec.Struct):
    total: Decimal
    inside: list[dict[str, Decimal | None]]


class Beside(msgspec.Struct):
    amount: Decimal
    series: dict[str, Decimal | None]
    share: Decimal | None
    currency: str
    bare: list[Bare]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_no_tools_types_have_a_bare_amount(tool: Tool) -> None:
    assert bare_amounts_of_type(tool.answer) == []
    assert bare_amounts_of_type(tool.arguments) == []


@pytest.mark.parametrize(
    "tool", [tool for tool in TOOLS if tool.access is Access.READ], ids=lambda tool: tool.name
)
def test_no_real_answer_has_a_bare_amount(door: Door, busy_account: None, tool: Tool) -> None:
    for arguments in tool.examples:
        result = door.call(tool.name, **arguments)
        assert not result.get("isError"), result
        assert bare_amounts_of_answer(result["structuredContent"]) == []
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


def test_the_walker_finds_bare_amounts() -> None:
    assert bare_amounts_of_type(Beside) == ["Bare.total", "Bare.inside"]
    answer = {
        "days": 3,
        "totals": [
            {"amount": 1, "currency": "USD", "series": {"2026-01-01": 1.5}, "inside": [{"amount": 2}]}
        ],
        "threshold": 10,
        "series": {"2026-01-01": 4},
        "unfinished": True,
    }
    assert bare_amounts_of_answer(answer) == [
        "$.totals[0].inside[0].amount",
        "$.threshold",
        "$.series.2026-01-01",
    ]
