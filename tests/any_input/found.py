"""Requests that made a fault once, in tests/data/soak/found.jsonl: the soak adds what it finds, and every run sends them again."""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from pathlib import Path
from typing import Final

from tests.any_input.inputs import Sent

FOUND: Final = Path(__file__).parents[1] / "data" / "soak" / "found.jsonl"


def keep(path: str, sent: Sent) -> None:
    """Add a request to the URL pattern `path`, once."""
    # Bytes as characters of their number: most bodies stay readable.
    line = json.dumps({"path": path, **dataclasses.asdict(sent), "body": sent.body.decode("latin-1")})
    if line not in FOUND.read_text().splitlines():
        with FOUND.open("a") as file:
            file.write(f"{line}\n")


def found() -> dict[str, list[Sent]]:
    """Return the requests by URL pattern."""
    requests: dict[str, list[Sent]] = defaultdict(list)
    for line in FOUND.read_text().splitlines():
        fields = json.loads(line)
        path, body = fields.pop("path"), fields.pop("body").encode("latin-1")
        requests[path].append(Sent(**fields, body=body))
    return requests
