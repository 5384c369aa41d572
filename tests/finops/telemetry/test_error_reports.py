from __future__ import annotations

import gzip
import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import brotli
import pytest
import sentry_sdk
from django.http import HttpResponse
from django.test import RequestFactory
from pytest_django import Settings

from accounts.keys import PREFIX, new_secret
from finops.lib.telemetry.context import TENANT
from finops.telemetry import error_reports, programs
from finops.telemetry.middleware import trace_request

log = logging.getLogger("finops.tests.error_reports")


class Sentry(ThreadingHTTPServer):
    """A receiver of reports on this machine."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver)
        self.envelopes: list[bytes] = []

    @property
    def dsn(self) -> str:
        return f"http://key@127.0.0.1:{self.server_port}/1"

    def events(self) -> list[dict[str, Any]]:
        sentry_sdk.flush(20)
        lines = [line for envelope in self.envelopes for line in envelope.splitlines()]
        parts = [json.loads(line) for line in lines if line.startswith(b"{")]
        return [part for part in parts if "level" in part]


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if encoding := self.headers.get("Content-Encoding"):
            body = {"gzip": gzip.decompress, "br": brotli.decompress}[encoding](body)
        server: Any = self.server
        server.envelopes.append(body)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args: Any) -> None:
        return


@pytest.fixture
def sentry(settings: Settings) -> Iterator[Sentry]:
    receiver = Sentry()
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    settings.SENTRY_DSN = receiver.dsn
    error_reports.start()
    yield receiver
    sentry_sdk.get_client().close(timeout=5)
    sentry_sdk.init()
    receiver.shutdown()
    receiver.server_close()


def fail(request: Any) -> HttpResponse:
    request.META[TENANT] = "account 7"
    secret = request.POST["key"]
    try:
        raise ValueError(
            f"{secret} of kim@example.com\nLINE 1: SELECT 'Planted'\nDETAIL: Key (name)=(Planted) exists."
        )
    except ValueError:
        log.exception("incident %s at %s", "Planted", request.get_full_path())
    return HttpResponse(status=500)


def test_an_error_is_reported_without_what_the_request_had(sentry: Sentry) -> None:
    secret = new_secret(PREFIX)[0]
    request = RequestFactory().post(
        "/planted/path?q=Planted",
        {"key": secret, "other": "Planted"},
        headers={"X-Request-Id": "walk-3", "Cookie": "a=Planted", "User-Agent": "Planted"},
    )
    trace_request(fail)(request)

    (event,) = sentry.events()
    assert event["level"] == "error"
    assert event["tags"] == {"request_id": "walk-3", "account_id": "7"}
    assert event["logentry"] == {"message": "incident %s at %s"}
    (exception,) = event["exception"]["values"]
    assert (exception["type"], exception["value"]) == ("ValueError", "[hidden] of [address]")
    assert exception["stacktrace"]["frames"][-1]["function"] == "fail"
    everything = b"\n".join(sentry.envelopes).decode()
    # Source lines around the error are the program's own.
    for planted in (secret, "kim@example.com\\n", "/planted/path", "a=Planted", "127.0.0.1"):
        assert planted not in everything.replace(sentry.dsn, "")


def test_warnings_are_not_reported(sentry: Sentry) -> None:
    log.warning("no more than that")

    assert sentry.events() == []


def test_without_a_dsn_nothing_is_imported(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[bool] = []
    monkeypatch.setattr(error_reports, "start", lambda: started.append(True))
    settings.SENTRY_DSN = ""
    programs.start("web")
    assert started == []

    settings.SENTRY_DSN = "http://key@127.0.0.1:9/1"
    programs.start("web")
    assert started == [True]
