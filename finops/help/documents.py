"""The documentation as Markdown at /docs/, and /llms.txt, which lists it for assistants (llmstxt.org).

The files are those of docs/, whole. A link to what is not served here becomes its text.
"""

from __future__ import annotations

import functools
import re
from pathlib import PurePosixPath
from typing import Final

import msgspec
from django.conf import settings

from finops.help.terms import terms_by_topic

GLOSSARY: Final = "glossary"
"""Written from the terms of the console's help; docs/glossary.md is for who changes the code."""

_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!https?://)([^)\s]+)\)")


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A file of docs/ by its name without .md. `summary` is what llms.txt says of it."""

    name: str
    title: str
    summary: str


def _document(name: str, title: str, summary: str) -> Document:
    return Document(name=name, title=title, summary=summary)


SECTIONS: Final[dict[str, tuple[Document, ...]]] = {
    "Assistants and programs": (
        _document(
            "connect-an-assistant", "Connect an assistant", "MCP over OAuth or a key, client by client"
        ),
        _document("api", "REST API", "every MCP tool as a path, errors, idempotency, command line"),
        _document("configuration-as-code", "Configuration as code", "an account's settings as one YAML file"),
    ),
    "How figures are counted": (
        _document(
            "how-we-count", "How we count", "cost view, days, forecasts, anomalies, savings, unit cost"
        ),
        _document(GLOSSARY, "Glossary", "the terms of pages and answers"),
        _document("currency", "Currency", "display currency and exchange rates"),
        _document("cost-tags", "Cost tags", "custom dimensions defined by rules"),
        _document("ai-spend", "AI spend", "billed and estimated cost of language models"),
        _document("cost-access", "Limited cost access", "who sees what cost"),
    ),
    "Cost in": (
        _document("connectors", "Connectors", "where cost, usage and change events come from by themselves"),
        _document("connections", "How syncs work", "schedules, months, errors of connections"),
        _document("focus-import", "Importing FOCUS files", "accepted files and their checks"),
        _document("native-formats", "Native formats", "the clouds' own exports as FOCUS"),
        _document("column-mapping", "Column mapping", "any CSV, JSON or Parquet file"),
        _document("cost-push", "Pushing cost", "FOCUS rows by HTTP, a month at a time"),
    ),
    "Usage and events in": (
        _document("ingestion-api", "Pushing usage", "the push API for product usage"),
        _document("cloudevents-and-otlp", "Usage in other formats", "CloudEvents and OpenTelemetry metrics"),
        _document("change-events", "Change events", "deployments, releases and incidents shown with cost"),
    ),
    "Data out": (
        _document("data-exports", "Data exports", "FOCUS Parquet to a bucket on a schedule"),
        _document("reading-the-lake", "Reading the lake", "cost files with DuckDB, Spark or Iceberg"),
        _document("alert-channels", "Alert channels", "email, Slack, Teams, webhooks and their payloads"),
        _document("issue-trackers", "Issue trackers", "savings as issues of GitHub, Jira or Linear"),
        _document("audit-log", "Audit log", "entries, CSV and webhook"),
    ),
    "Administration": (
        _document("sign-on", "Single sign-on", "OpenID Connect, SAML and SCIM"),
        _document("operations", "Operations", "running the service: sizing, backup, metrics"),
        _document("configuration", "Configuration", "every environment variable"),
        _document("scale", "Beyond one machine", "Spark Connect for large accounts"),
        _document("upgrading", "Upgrading", "new versions without a stop"),
    ),
}

_NAMES: Final = frozenset(document.name for documents in SECTIONS.values() for document in documents)


def is_document(name: str) -> bool:
    return name in _NAMES


@functools.cache
def markdown(name: str) -> str:
    """The document as Markdown. `name` is one that `is_document` accepts."""
    if name == GLOSSARY:
        return _glossary()
    path = settings.BASE_DIR / "docs" / f"{name}.md"
    return _LINK.sub(_served_link, path.read_text(encoding="utf-8"))


def llms_txt(address: str) -> str:
    """The list of all documents with their addresses below `address`, the console's own."""
    lines = [
        "# FinOps Console",
        "",
        "> Cloud and AI cost: spend, budgets, anomalies, savings, unit economics.",
        "",
    ]
    lines += [
        f"MCP server: {address}/api/mcp (Server Card: {address}/api/mcp/server-card).",
        f"REST API: {address}/api/v1/openapi.json. Both need a key or OAuth; the documents below do not.",
    ]
    for section, documents in SECTIONS.items():
        lines += ["", f"## {section}", ""]
        lines += [f"- [{each.title}]({address}/docs/{each.name}.md): {each.summary}" for each in documents]
    return "\n".join(lines) + "\n"


def _served_link(match: re.Match[str]) -> str:
    text, target = match.groups()
    path = PurePosixPath(target.partition("#")[0])
    is_here = not path.name or (str(path) == path.name and path.suffix == ".md" and is_document(path.stem))
    return match[0] if is_here else text


def _glossary() -> str:
    lines = ["# Glossary"]
    for topic, terms in terms_by_topic().items():
        lines += ["", f"## {topic}", ""]
        lines += [f"- **{term.name}**: {term.text}" for _anchor, term in terms]
    return "\n".join(lines) + "\n"
