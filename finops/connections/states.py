"""The state of a connection, for the list of sources and the page of a source."""

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
"""`provider` of connectors whose files may be bills of any provider."""
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
"""Icons by FOCUS's ServiceProviderName."""
GRACE: Final = timedelta(minutes=30)
"""A sync that has been due this long without a start is late: no worker runs it."""


@dataclass(frozen=True)
class ConnectionState:
    """An overview with its icon and texts. `status`: healthy, syncing, failing, paused, late."""

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
        """Return the connector's title. For a connector of files of any provider: the provider in its cost lines, or
        else the entered one."""
        return (self._provider(provider) if self._is_shared else "") or self.title

    def provider_icon(self, provider: str) -> str:
        """Return the icon of that provider, or of the connector if it has a provider of its own."""
        return PROVIDER_ICONS.get(self._provider(provider), self.icon) if self._is_shared else self.icon

    def _provider(self, provider: str) -> str:
        return provider or str(self.connection.config.get(PROVIDER_FIELD, ""))

    @property
    def _is_shared(self) -> bool:
        """Whether the files may be bills of any provider."""
        connector = connectors().get(self.connection.connector)
        return connector is not None and connector.provider in SHARED_PROVIDERS

    @property
    def status(self) -> str:
        due = self.overview.next_sync_at
        is_late = due is not None and clock.now() > due + GRACE
        return LATE if is_late and self.overview.status == "healthy" else self.overview.status

    @property
    def last_sync_at(self) -> datetime | None:
        """End of the newest sync, or the last success if the newest has not ended."""
        sync = self.overview.sync
        return (sync.finished_at if sync else None) or self.overview.last_success_at

    @property
    def next_text(self) -> str:
        """Text in place of the time of the next sync; empty if the time is shown."""
        due = self.overview.next_sync_at
        if self.overview.status == "syncing":
            return "In progress"
        if due is None:
            return "Paused"
        return "Due now" if due <= clock.now() else ""

    @property
    def last_error(self) -> str:
        """The last error, while syncs fail; otherwise empty."""
        return self.overview.last_error if self.connection.failures else ""

    @property
    def schedule(self) -> str:
        minutes = self.connection.interval_minutes
        return dict(INTERVALS).get(minutes) or f"Every {minutes:,} minutes"


def connection_states(account: Account) -> Mapping[int, ConnectionState]:
    """Return the states of the account's connections by the id of their cost source. Three queries."""
    return {each.connection.cost_source.pk: ConnectionState(each) for each in connections_overview(account)}


def usage_connection_states(account: Account) -> Mapping[int, ConnectionState]:
    """Return the states of the connections of usage sources, by the source's id. Three queries."""
    return {each.connection.target_id: ConnectionState(each) for each in usage_connections_overview(account)}


def connection_state(connection: CostConnection) -> ConnectionState:
    """Return the state of one connection. Three queries."""
    return ConnectionState(connection_overview(connection))
