from __future__ import annotations

import logging
import socket
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.signals import got_request_exception


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown_host(host: object, *_rest: object, **_options: object) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "no network in tests")

    monkeypatch.setattr(socket, "getaddrinfo", unknown_host)


@pytest.fixture
def faults() -> Iterator[list[str]]:
    """The tracebacks of errors that no view expected."""
    tracebacks: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info:
                tracebacks.append("".join(traceback.format_exception(*record.exc_info)))

    def add(**_signal: Any) -> None:
        tracebacks.append(traceback.format_exc())

    handler = Handler(logging.ERROR)
    got_request_exception.connect(add)
    logging.getLogger().addHandler(handler)
    yield tracebacks
    logging.getLogger().removeHandler(handler)
    got_request_exception.disconnect(add)
