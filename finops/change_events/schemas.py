"""Arguments of the tool `listChangeEvents`, and a change event in answers.

Docstrings of these types are in the OpenAPI document.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from finops.change_events.models import ChangeEvent
from finops.costs.spend_query import MAX_FILTERS, CostFilter
from finops.lib.answers import AccountAnswer

KindName = Literal["deployment", "release", "change", "purchase", "incident", "note"]
MAX_LIMIT = 100


class ChangeEventsQuery(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    start_date: date | None = None
    end_date: date | None = None
    kinds: Annotated[list[KindName], Meta(description="Empty: all.")] = []
    filters: Annotated[list[CostFilter], Meta(description="On their scope.", max_length=MAX_FILTERS)] = []
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT)] = 20
    cursor: str = ""


class ChangeEventRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """scope: values by dimension of cost; without one, all cost."""

    occurred_at: datetime
    kind: str
    title: str
    source: str
    actor: str = ""
    url: str = ""
    scope: dict[str, list[str]] = {}


# A change event beside a change of cost: by scope and time it may have to do with it. docs/how-we-count.md has the formula.
class ChangeCandidate(ChangeEventRow, frozen=True, kw_only=True, omit_defaults=True):
    """A candidate, not a cause."""

    score: Decimal


class ChangeEventsAnswer(AccountAnswer, frozen=True, kw_only=True):
    events: list[ChangeEventRow]
    total_events: int
    cursor: str
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""


def origin_of(event: ChangeEvent) -> str:
    """Where an event is from, for people: its source's name, or what it is instead."""
    return event.source.name if event.source else event.get_origin_display()
