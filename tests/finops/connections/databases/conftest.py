from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.finops.connections.replay_server import ReplayServer, replay_server


@pytest.fixture
def server(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReplayServer]:
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    monkeypatch.setattr("finops.connections.transports.http.sleep", lambda _seconds: None)
    monkeypatch.setattr("finops.connections.connectors.snowflake.sleep", lambda _seconds: None)
    monkeypatch.setattr("finops.connections.connectors.databricks.sleep", lambda _seconds: None)
    with replay_server() as replay:
        names = ("bigquery", "bigquery_token", "snowflake", "databricks")
        settings.CONNECTOR_BASE_URLS = dict.fromkeys(names, replay.url)
        yield replay
