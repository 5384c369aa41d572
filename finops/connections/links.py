"""URLs of a connection's pages, below the source that the connection fills: cost, usage or change events."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from finops.connections.connector import Contents
from finops.connections.models import CostConnection


@dataclass(frozen=True)
class ConnectionLinks:
    """URLs of a connection, for templates and redirects."""

    slug: str
    connection: CostConnection

    @property
    def source(self) -> str:
        return self._url("connection", "usage_source", "event_source")

    @property
    def edit(self) -> str:
        return self._url("connection_edit", "pull_edit", "event_pull_edit")

    @property
    def edit_test(self) -> str:
        return self._url("connection_edit_test", "pull_edit_test", "event_pull_edit_test")

    @property
    def syncs(self) -> str:
        return self._url("cost_syncs", "pull_syncs", "event_pull_syncs")

    @property
    def sync(self) -> str:
        return self._url("connection_sync", "pull_sync", "event_pull_sync")

    @property
    def pause(self) -> str:
        return self._url("connection_pause", "pull_pause", "event_pull_pause")

    @property
    def resume(self) -> str:
        return self._url("connection_resume", "pull_resume", "event_pull_resume")

    def _url(self, of_cost: str, of_usage: str, of_events: str) -> str:
        names = {Contents.COST: of_cost, Contents.USAGE: of_usage, Contents.CHANGE_EVENTS: of_events}
        return reverse(names[self.connection.contents], args=[self.slug, self.connection.target_id])
