"""The pages of a connection, beneath the source that it fills: of cost or of usage."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from finops.connections.connector import Contents
from finops.connections.models import CostConnection


@dataclass(frozen=True)
class ConnectionLinks:
    """URLs, for templates and redirects."""

    slug: str
    connection: CostConnection

    @property
    def source(self) -> str:
        return self._url("connection", "usage_source")

    @property
    def edit(self) -> str:
        return self._url("connection_edit", "pull_edit")

    @property
    def edit_test(self) -> str:
        return self._url("connection_edit_test", "pull_edit_test")

    @property
    def syncs(self) -> str:
        return self._url("cost_syncs", "pull_syncs")

    @property
    def sync(self) -> str:
        return self._url("connection_sync", "pull_sync")

    @property
    def pause(self) -> str:
        return self._url("connection_pause", "pull_pause")

    @property
    def resume(self) -> str:
        return self._url("connection_resume", "pull_resume")

    def _url(self, of_cost: str, of_usage: str) -> str:
        name = of_cost if self.connection.contents == Contents.COST else of_usage
        return reverse(name, args=[self.slug, self.connection.target_id])
