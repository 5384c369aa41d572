from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from tests.accounts.oauth.documents import Documents, local_documents


@pytest.fixture(autouse=True)
def _no_backoff() -> None:
    """Documents that failed in another test are asked for again."""
    cache.clear()


@pytest.fixture
def documents(tmp_path: Path, settings: Any) -> Iterator[Documents]:
    with local_documents(tmp_path, settings) as served:
        yield served


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names that something asked the DNS for; each is unknown."""
    hosts: list[str] = []

    def getaddrinfo(host: str, *args: Any, **kwargs: Any) -> Any:
        hosts.append(host)
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return hosts
