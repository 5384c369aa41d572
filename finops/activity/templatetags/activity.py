"""Template filters of calls: duration and arguments, for a table cell."""

from __future__ import annotations

from django import template

from finops.activity.models import CallOutcome
from finops.lib.sentences import truncate

register = template.Library()

_TINTS = {
    CallOutcome.OK: "green",
    CallOutcome.ERROR: "yellow",
    CallOutcome.REFUSED: "orange",
    CallOutcome.INCIDENT: "red",
}


@register.filter
def duration(milliseconds: float) -> str:
    """`0.8 ms`, `42 ms`, `1.3 s`."""
    if milliseconds >= 1_000:
        return f"{milliseconds / 1_000:.1f} s"
    return f"{milliseconds:.1f} ms" if milliseconds < 10 else f"{milliseconds:.0f} ms"


@register.filter
def tint(outcome: str) -> str:
    return _TINTS[CallOutcome(outcome)]


@register.filter
def arguments_line(arguments: str) -> str:
    """The arguments as far as they fit a cell; empty for none."""
    return "" if arguments == "{}" else truncate(arguments, 160)


@register.filter
def without_key(label: str) -> str:
    """The name of an MCP key without its masked form; other credentials are unchanged."""
    return label.rpartition(" (fmcp_")[0] or label
