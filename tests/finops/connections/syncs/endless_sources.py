"""A connector whose look asks a server that never ends its answer, by the transport that a file in its folder names, and that server."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

from django.conf import settings

from finops.connections.connector import BillMonth
from finops.connections.connectors.postgresql import Postgresql, PostgresqlConfig
from finops.connections.transports.azure_blob import AzureBlobBucket
from finops.connections.transports.gcs import CONNECTOR, GcsBucket
from finops.connections.transports.http import HttpApi
from finops.connections.transports.rest_bucket import BearerToken
from finops.connections.transports.s3 import S3Credentials, open_s3
from tests.finops.connections.syncs.month_folders import MonthFolders, MonthFoldersConfig

DRIP_SECONDS: Final = 0.05
PAUSES: Final = {"drip": DRIP_SECONDS, "flood": 0.0}
PARTS: Final = {"drip": b" ", "flood": b" " * 2**20}


class _Token(BearerToken):
    def _sign_in(self) -> tuple[str, float]:
        return "a-token", (datetime.now(UTC) + timedelta(hours=1)).timestamp()


def _ask_api(url: str) -> None:
    HttpApi(connector="endless", vendor="Vendor", base_url=url, key_fix="", scope_fix="").get(
        "/months", [], dict
    )


def _ask_azure(url: str) -> None:
    AzureBlobBucket(url, "bills", "", _Token()).objects()


def _ask_google(url: str) -> None:
    settings.CONNECTOR_BASE_URLS = {CONNECTOR: url}
    GcsBucket("bills", "", _Token()).objects()


def _ask_s3(url: str) -> None:
    open_s3("bills", "", S3Credentials(key="AKIAEXAMPLE", secret="secret"), endpoint=url).objects()


ASK: Final[dict[str, Callable[[str], None]]] = {
    "api": _ask_api,
    "azure": _ask_azure,
    "google": _ask_google,
    "s3": _ask_s3,
}


class EndlessSources(MonthFolders):
    def months(self, config: MonthFoldersConfig) -> list[BillMonth]:
        transport, url = json.loads((Path(config.folder).parent / "script").read_text())
        settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
        ASK[transport](url)
        return [BillMonth(date(2026, 5, 1), "one")]


class LoopbackPostgresql(Postgresql):
    """Databases of this machine, also in a child, which has not the settings of a test."""

    def months(self, config: PostgresqlConfig) -> list[BillMonth]:
        settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
        return super().months(config)


@contextmanager
def endless_server(kind: str) -> Iterator[str]:
    """Its URL. It answers each request with a body that goes on for ever, a byte at a time or as fast as it is read."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = threading.Event()

        def answer(client: socket.socket) -> None:
            with client, suppress(OSError):
                client.recv(65_536)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
                while not ended.wait(PAUSES[kind]):
                    client.sendall(PARTS[kind])

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
