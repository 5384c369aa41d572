"""How a connection stands, as the list of sources and the page of one show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from accounts.models import Account
from finops.connections.connector import PROVIDER_FIELD, Connector
from finops.connections.connectors import connectors
from finops.connections.models import INTERVALS, CostConnection
from finops.connections.queries import (
    ConnectionOverview,
    connection_overview,
    connections_overview,
    usage_connections_overview,
)
from finops.lib import clock

LATE: Final = "late"
SHARED_PROVIDERS: Final = ("Files", "Databases")
"""What connectors call the provider of places where bills of any may lie."""
PROVIDER_ICONS: Final = {
    "AWS": "brand-aws",
    "Anthropic": "sparkles",
    "Databricks": "stack-2",
    "Google Cloud": "brand-google",
    "Microsoft": "brand-azure",
    "MongoDB": "leaf",
    "OpenAI": "brand-openai",
    "Oracle": "cloud",
    "Snowflake": "snowflake",
}
"""By FOCUS's ServiceProviderName."""
GRACE: Final = timedelta(minutes=30)
"""A sync that is due so long and has not begun is late: no worker takes it."""


@dataclass(frozen=True)
class ConnectionState:
    """An overview with its icon and words. `status`: healthy, syncing, failing, paused, late."""

    overview: ConnectionOverview

    @property
    def connection(self) -> CostConnection:
        return self.overview.connection

    @property
    def title(self) -> str:
        return self.overview.connector_title

    @property
    def icon(self) -> str:
        connector: Connector[Any] | None = connectors().get(self.connection.connector)
        return connector.icon if connector else "plug-connected"

    def kind(self, provider: str) -> str:
        """The connector's title; of a shared place the provider that its cost lines name, else the one that was entered."""
        return (self._provider(provider) if self._is_shared else "") or self.title

    def provider_icon(self, provider: str) -> str:
        """That of the same provider, where the connector is of none."""
        return PROVIDER_ICONS.get(self._provider(provider), self.icon) if self._is_shared else self.icon

    def _provider(self, provider: str) -> str:
        return provider or str(self.connection.config.get(PROVIDER_FIELD, ""))

    @property
    def _is_shared(self) -> bool:
        """Whether files of any provider may lie there."""
        connector = connectors().get(self.connection.connector)
        return connector is not None and connector.provider in SHARED_PROVIDERS

    @property
    def status(self) -> str:
        due = self.overview.next_sync_at
        is_late = due is not None and clock.now() > due + GRACE
        return LATE if is_late and self.overview.status == "healthy" else self.overview.status

    @property
    def last_sync_at(self) -> datetime | None:
        """When the newest sync ended, or the last success before one that has not."""
        sync = self.overview.sync
        return (sync.finished_at if sync else None) or self.overview.last_success_at

    @property
    def next_text(self) -> str:
        """What stands in place of the time of the next sync; empty where the time does."""
        due = self.overview.next_sync_at
        if self.overview.status == "syncing":
            return "In progress"
        if due is None:
            return "Paused"
        return "Due now" if due <= clock.now() else ""

    @property
    def last_error(self) -> str:
        """While it fails."""
        return self.overview.last_error if self.connection.failures else ""

    @property
    def schedule(self) -> str:
        minutes = self.connection.interval_minutes
        return dict(INTERVALS).get(minutes) or f"Every {minutes:,} minutes"


def connection_states(account: Account) -> Mapping[int, ConnectionState]:
    """Of every connection of the account, by the id of its cost source. Three queries."""
    return {each.connection.cost_source.pk: ConnectionState(each) for each in connections_overview(account)}


def usage_connection_states(account: Account) -> Mapping[int, ConnectionState]:
    """Of every connection that fills a usage source, by the id of that. Three queries."""
    return {each.connection.target_id: ConnectionState(each) for each in usage_connections_overview(account)}


def connection_state(connection: CostConnection) -> ConnectionState:
    """Of one. Three queries."""
    return ConnectionState(connection_overview(connection))
