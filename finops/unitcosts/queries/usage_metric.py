"""Which usage metric a question means, and what to say when it has no usage."""

from __future__ import annotations

import difflib

from finops.lib.errors import UserError, nearest_choices, unknown_value
from finops.lib.sentences import join_with_and
from ingestion.models import UsageMetric
from ingestion.queries import find_metric

ALIKE = 0.8
"""So alike is a misspelt name; anything less is taken for a metric that is yet to be pushed."""

HOW_TO_PUSH = (
    "Create a usage source on the Connections page, generate its API key there, and let your backend POST events with "
    "this metric to /api/usage/events; the next answer counts them."
)
MAX_METRIC_LENGTH = 100
SHOWN_METRICS = 5


def match_metric(metrics: list[UsageMetric], name: str) -> UsageMetric | None:
    """The metric meant; None for one that no event has named, UserError for one that looks misspelt."""
    if not name.strip() and all(each.name != name for each in metrics):
        names_text = (
            ", ".join(each.name for each in metrics[:SHOWN_METRICS]) or "none, since none has been pushed"
        )
        raise UserError(
            f"Give usage_metric, what the cost is divided by, or the name of a saved unit_metric. Usage metrics: {names_text}; "
            "getAccountContext lists all of both. Cost by customer needs none: querySpend with group_by customer.",
            field="usage_metric",
        )
    if len(name) > MAX_METRIC_LENGTH:
        raise UserError(
            f"usage_metric: {name[:60]!r}… has {len(name)} characters, a metric at most {MAX_METRIC_LENGTH}.",
            field="usage_metric",
        )
    try:
        return find_metric(metrics, name)
    except UserError:
        names = [each.name.casefold() for each in metrics]
        if not difflib.get_close_matches(name.casefold(), names, n=1, cutoff=ALIKE):
            return None
    raise unknown_value("usage_metric", name, [each.name for each in metrics], listed_by="getAccountContext")


def why_unused(metrics: list[UsageMetric], metric: UsageMetric | None, name_given: str) -> str:
    """Why a range has no usage."""
    if metric is not None:
        return f"No usage event of {metric.name!r} is of these days."
    if not metrics:
        return f"No usage has been pushed yet, so there is nothing to divide by. {HOW_TO_PUSH}"
    names = [each.name for each in metrics]
    listed_names = list(dict.fromkeys([*nearest_choices(name_given, names), *names]))[:SHOWN_METRICS]
    others = " and others" if len(listed_names) < len(names) else ""
    return (
        f"No usage event has named the metric {name_given!r}; the account has {join_with_and([repr(name) for name in listed_names])}{others}, "
        f"getAccountContext lists them. {HOW_TO_PUSH}"
    )


def notes_of(metric: UsageMetric | None, name: str) -> list[str]:
    """What to say of a metric that was read as another than was written."""
    if metric is None or metric.name == name:
        return []
    return [f"Usage metric {name!r} was read as {metric.name!r}."]
