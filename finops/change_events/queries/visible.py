"""Change events that a reader may see: with limited cost access, only events about cost within the limit."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from django.db.models import Func, JSONField, Q, QuerySet
from django.db.models.fields.json import KeyTransform

from finops.change_events.models import ChangeEvent, EventSource
from finops.lib.cost_access import current_limit


class _SmallLetters(Func):
    """A JSON value with its texts in lower case."""

    template = "lower((%(expressions)s)::text)::jsonb"
    output_field: Any = JSONField()


def visible_events() -> QuerySet[ChangeEvent]:
    """Events of the account in scope that the reader may see. With a limit, only events whose scope has, in one
    dimension, only values that the limit contains as a whole: further dimensions narrow such a scope. The scope alone
    decides, no cost lines are read. An event without a scope concerns all cost. Raises NoCostAccess if no endpoint
    has set the reader's cost access."""
    events = ChangeEvent.objects.select_related("source")
    limit = current_limit()
    return events if limit is None else _within(events, limit.whole_values)


def visible_sources() -> QuerySet[EventSource]:
    """Sources of the events that the reader may see; without a limit, all sources of the account in scope."""
    sources = EventSource.objects.all()
    if current_limit() is None:
        return sources
    return sources.filter(pk__in=visible_events().order_by().values("source"))


def _within(events: QuerySet[ChangeEvent], whole: Iterable[tuple[str, str]]) -> QuerySet[ChangeEvent]:
    condition = Q(pk__in=[])
    for place, (name, pairs) in enumerate(groupby(sorted(whole), key=lambda pair: pair[0])):
        alias = f"scope_values_{place}"
        events = events.alias(**{alias: _SmallLetters(KeyTransform(name, "scope"))})
        values = [value for _name, value in pairs]
        # An empty list would be contained in any.
        condition |= Q(**{f"{alias}__contained_by": values}) & ~Q(**{alias: []})
    return events.filter(condition)
