"""Requests and responses that tests of the cost tags' pages share."""

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


def form(rules: list[Any], **fields: Any) -> dict[str, Any]:
    return {"key": "environment", "rules": json.dumps(rules), **fields}


def hidden_value(page: str, name: str) -> str:
    match = re.search(rf'name="{name}"\s+value="([^"]*)"', page)
    assert match, page
    return html.unescape(match[1])


def review_then_save(client: Client, url: str, fields: dict[str, Any]) -> Any:
    """As the page does: ask for the review, then save what it showed."""
    review = client.post(url, fields, headers={"HX-Request": "true"})
    digest = hidden_value(review.content.decode(), "reviewed")
    return client.post(url, {**fields, "reviewed": digest, "save": "1"}, headers={"HX-Request": "true"})
