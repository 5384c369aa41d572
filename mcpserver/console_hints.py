"""Console pages for actions that no tool offers."""

from __future__ import annotations

from mcpserver.context import ToolCall

_PAGES = {
    "alert": "alerts/",
    "anomal": "anomalies/",
    "budget": "budgets/",
    "cost_tag": "cost-tags/",
    "dashboard": "dashboards/",
    "saving": "savings/",
    "team": "teams/",
}
"""Console pages by what the name of an unknown tool may refer to."""


def console_hint(name: str, call: ToolCall) -> str:
    """Return a sentence with the page for the name of an unknown tool; empty for a name that does not suggest a
    change."""
    casefolded_name = name.casefold()
    if not casefolded_name.startswith(("update", "edit", "change", "set", "delete", "remove", "rename")):
        return ""
    page = next((page for part, page in _PAGES.items() if part in casefolded_name), "")
    return f" Members change this in the console: {call.console_url(page)}"
