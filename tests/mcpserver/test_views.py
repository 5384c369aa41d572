from __future__ import annotations

from tests.conformance import schemas
from tests.mcpserver.door import Door


def test_discover(door: Door) -> None:
    result = door.result("server/discover")
    assert result["supportedVersions"] == [schemas.MODERN]


def test_tool(toys: Door) -> None:
    assert toys.call("echo", top="3")
    assert toys.call("amounts")
    assert toys.problem("sly")
    assert toys.problem("broken")
    assert toys.problem("rename", name="x")
