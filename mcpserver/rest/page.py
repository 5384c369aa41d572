"""Reference of the REST API for its page, generated from the registry and the OpenAPI document."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.limits import limit_of
from accounts.page_access import AccountRequest, account_page
from accounts.snippets import Snippet
from finops.lib.openapi_reference import Field, ResponseStatus, fields_of, status_of
from mcpserver.registry import Tool, registry
from mcpserver.rest.openapi import document

_KEY: Final = "fmcp_your-key"
_EXAMPLE: Final = {"period": "last_30_days", "group_by": ["service"], "limit": 5}


@dataclass(frozen=True)
class ToolEntry:
    name: str
    title: str
    access: str
    arguments: list[str]
    """Arguments, the required ones first."""


@account_page()
@require_safe
def rest_api(request: AccountRequest) -> HttpResponse:
    context = {
        "openapi_url": reverse("rest_openapi"),
        "base_url": f"{settings.PUBLIC_URL}/api/v1",
        "rate_limit": limit_of(request.account, "MCP_RATE_LIMIT_PER_MINUTE"),
        "max_bytes": settings.MCP_MAX_BODY_BYTES,
        "snippets": snippets_for(f"{settings.PUBLIC_URL}/api/v1/tools", _KEY),
        "tools": [_entry(tool) for tool in registry],
        "problem_fields": problem_fields(),
        "statuses": statuses(),
    }
    return render(request, "mcpserver/rest_api.html", context)


def problem_fields() -> list[Field]:
    """Return the members of a problem."""
    return fields_of(document()["components"]["schemas"]["Problem"])


def statuses() -> list[ResponseStatus]:
    """Return the statuses of a write tool, which include the statuses of all calls."""
    whole = document()
    shared = whole["components"]["responses"]
    responses = whole["paths"]["/api/v1/tools/create_budget"]["post"]["responses"]
    return [
        status_of(
            code, {"headers": {}, **(shared[each["$ref"].rpartition("/")[2]] if "$ref" in each else each)}
        )
        for code, each in sorted(responses.items())
    ]


def _entry(tool: Tool) -> ToolEntry:
    required = tool.input_schema.get("required", [])
    optional_names = [name for name in tool.input_schema["properties"] if name not in required]
    return ToolEntry(tool.name, tool.title, tool.access.value, [*required, *optional_names])


def snippets_for(url: str, key: str) -> list[Snippet]:
    """Return snippets for the tools at `url` and a plaintext key; each queries the largest services."""
    return [
        Snippet("curl", "curl", "Run in a terminal.", _curl(url, key)),
        Snippet("python", "Python", "Standard library only, Python 3.7 or later.", _python(url, key)),
    ]


def _curl(url: str, key: str) -> str:
    body = json.dumps(_EXAMPLE)
    return f"curl {url}/querySpend \\\n  -H \"Authorization: Bearer {key}\" \\\n  -d '{body}'"


def _python(url: str, key: str) -> str:
    return f"""import json, urllib.request

request = urllib.request.Request(
    "{url}/querySpend",
    data=json.dumps({json.dumps(_EXAMPLE)}).encode(),
    headers={{"Authorization": "Bearer {key}", "Content-Type": "application/json"}},
)
print(json.load(urllib.request.urlopen(request, timeout=30))["summary"])
"""
