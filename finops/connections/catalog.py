"""The catalogue of "Add connection": the connectors as cards, grouped by kind of provider."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from finops.connections.connector import Connector, Contents
from finops.connections.connectors import connectors

CLOUD, AI, DATA_PLATFORMS, ANY_FOCUS = "Cloud", "AI", "Data platforms", "Any FOCUS source"
USAGE, EVENTS = "Usage of your product", "Change events"

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    CLOUD: ("AWS", "Microsoft Azure", "Google Cloud", "Oracle Cloud", "Oracle"),
    AI: ("Anthropic", "OpenAI"),
    DATA_PLATFORMS: ("Snowflake", "Databricks", "MongoDB", "Grafana Labs", "Databases"),
    ANY_FOCUS: (),
    USAGE: (),
    EVENTS: (),
}
"""Providers by group, in the order of the page. Other providers are in the group ANY_FOCUS."""


@dataclass(frozen=True)
class ConnectorGroup:
    title: str
    connectors: list[Connector[Any]]


def connector_groups(search: str = "") -> list[ConnectorGroup]:
    """Return the connectors whose title, provider and description contain every word of `search`, by group, without
    empty groups."""
    words = search.casefold().split()
    matches = [each for each in connectors().values() if each.is_offered and _has_words(each, words)]
    return [
        ConnectorGroup(title, members)
        for title in GROUPS
        if (members := [each for each in matches if group_of(each) == title])
    ]


def group_of(connector: Connector[Any]) -> str:
    if connector.contents != Contents.COST:
        return USAGE if connector.contents == Contents.USAGE else EVENTS
    return next((title for title, providers in GROUPS.items() if connector.provider in providers), ANY_FOCUS)


def _has_words(connector: Connector[Any], words: Iterable[str]) -> bool:
    text = f"{connector.title} {connector.provider} {connector.description}".casefold()
    return all(word in text for word in words)
