"""The types of events: their names, the arguments that filter them, and their figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from finops.alerts.models import EventSubscription

Event = EventSubscription.Event
Schema = dict[str, Any]


class NoArguments(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None


class AnomalyArguments(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    minimum_impact: Annotated[
        Decimal | None, Meta(description="Smallest impact so far, up or down; needs currency.")
    ] = None
    currency: Annotated[str, Meta(description="Of minimum_impact, such as USD.", max_length=3)] = ""

    def __post_init__(self) -> None:
        if (self.minimum_impact is None) == bool(self.currency):
            raise ValueError("minimum_impact and currency belong together")


class BudgetArguments(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    budget: Annotated[int | str | None, Meta(description="Name or ID. Default: every budget.")] = None
    thresholds: Annotated[
        list[Annotated[int, Meta(ge=1, le=1000)]],
        Meta(description="Percent of the amount.", min_length=1, max_length=10),
    ] = msgspec.field(default_factory=lambda: [80, 100])
    measure: Annotated[
        Literal["actual", "forecast"], Meta(description="Cost so far, or the forecast of the period's end.")
    ] = "actual"


class ForecastArguments(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    minimum_percent: Annotated[
        int, Meta(description="Smallest change since the last event, up or down.", ge=1, le=1000)
    ] = 10


Arguments = NoArguments | AnomalyArguments | BudgetArguments | ForecastArguments


@dataclass(frozen=True)
class EventType:
    """A type of event. `figures` are the properties of `data.figures` in the delivered event."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    figures: Mapping[str, Schema]

    @property
    def payload_schema(self) -> Schema:
        text: Schema = {"type": "string"}
        account = {"type": "object", "properties": {"slug": text, "name": text}}
        figures = {"type": "object", "properties": dict(self.figures)}
        return {
            "type": "object",
            "properties": {
                "title": text,
                "summary": text,
                "severity": {"type": "string", "enum": ["info", "warning", "critical"]},
                "console_url": {"type": "string", "format": "uri"},
                "account": account,
                "figures": figures,
            },
            "required": ["title", "summary", "severity", "console_url", "account", "figures"],
        }


_TEXT: Final[Schema] = {"type": "string"}
_AMOUNT: Final[Schema] = {
    "type": ["object", "null"],
    "properties": {"amount": {"type": "number"}, "currency": {"type": "string"}},
}

EVENT_TYPES: Final[Mapping[str, EventType]] = {
    each.name: each
    for each in (
        EventType(
            Event.ANOMALY_OPENED.value,
            "Anomaly opened",
            "A cost anomaly was detected. Details: listAnomalies.",
            AnomalyArguments,
            {
                "anomaly_id": _TEXT,
                "source": _TEXT,
                "first_day": _TEXT,
                "last_day": _TEXT,
                "impact": _AMOUNT,
                "actual": _AMOUNT,
                "expected": _AMOUNT,
            },
        ),
        EventType(
            Event.BUDGET_THRESHOLD.value,
            "Budget threshold reached",
            "A budget reached a threshold in its current period. Details: listBudgets.",
            BudgetArguments,
            {
                "budget_id": {"type": "integer"},
                "budget": _TEXT,
                "threshold_percent": {"type": "integer"},
                "amount": _AMOUNT,
                "spent": _AMOUNT,
                "forecast": _AMOUNT,
            },
        ),
        EventType(
            Event.CONNECTION_PROBLEM.value,
            "Connection late or failing",
            "A source of cost, usage or change events became late, its syncs began to fail, or it recovered. Details: getDataHealth.",
            NoArguments,
            {"source": _TEXT, "state": {"type": "string", "enum": ["late", "failing", "resolved"]}},
        ),
        EventType(
            Event.IMPORT_FINISHED.value,
            "Import finished",
            "A cost import finished and counts.",
            NoArguments,
            {"import_id": {"type": "integer"}, "source": _TEXT},
        ),
        EventType(
            Event.FORECAST_CHANGED.value,
            "Forecast changed",
            "The forecast of the current month changed. Details: forecastSpend.",
            ForecastArguments,
            {
                "period": {"type": "object"},
                "expected": _AMOUNT,
                "previous": _AMOUNT,
                "data_through": {"type": ["string", "null"]},
            },
        ),
    )
}


def arguments_of(subscription: EventSubscription) -> Arguments:
    """As its type takes them."""
    kind = EVENT_TYPES[subscription.event].arguments
    arguments: Arguments = msgspec.convert(subscription.arguments, kind, strict=False)
    return arguments
