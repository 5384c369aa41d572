"""No amount without its currency in any real answer, whole numbers included. A new tool joins by itself."""

from __future__ import annotations

import json

import pytest

from mcpserver.registry import Access, Tool, registry
from tests.mcpserver.door import Door
from tests.mcpserver.tools.amounts import bare_amounts_of_answer

TOOLS = list(registry)


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
    answer = {
        "days": 3,
        "totals": [
            {
                "amount": 1,
                "currency": "USD",
                "series": {"currency": "USD", "amounts": {"2026-01-01": 1.5}},
                "lower_series": {"2026-01-01": 1.5},
                "inside": [{"amount": 2}],
            }
        ],
        "threshold": 10,
        "series": {"2026-01-01": 4},
        "unfinished": True,
    }
    assert bare_amounts_of_answer(answer) == [
        "$.totals[0].lower_series",
        "$.totals[0].inside[0].amount",
        "$.threshold",
        "$.series",
    ]
