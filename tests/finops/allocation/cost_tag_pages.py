"""What tests of the cost tags' pages send and read."""

from __future__ import annotations

import html
import json
import re
from datetime import date
from typing import Any

from django.test import Client

PAGE = "/a/acme/cost-tags/"
DAY = date(2026, 3, 10)
PROD = {"dimension": "tag:env", "op": "in", "values": ["prod", "live"]}
RULES = [{"when": PROD, "value": "production"}, {"copy": {"keys": ["env", "Env"], "normalise": ["lower"]}}]


def text_of(answer: Any) -> str:
    assert answer.status_code in (200, 422), answer.content
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode())))


def form(rules: list[Any], **fields: Any) -> dict[str, Any]:
    return {"key": "environment", "rules": json.dumps(rules), **fields}


def hidden(page: str, name: str) -> str:
    found = re.search(rf'name="{name}"\s+value="([^"]*)"', page)
    assert found, page
    return html.unescape(found[1])


def review_then_save(client: Client, url: str, said: dict[str, Any]) -> Any:
    """As the page does: ask for the review, then save what it showed."""
    shown = client.post(url, said, headers={"HX-Request": "true"})
    digest = hidden(shown.content.decode(), "reviewed")
    return client.post(url, {**said, "reviewed": digest, "save": "1"}, headers={"HX-Request": "true"})
