"""The start page shows the expiry of certificates of the servers in the settings, read from real TLS servers."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from finops.lib import clock
from finops.operations.certificates import (
    CertificateStatus,
    TlsServer,
    certificate_of,
    certificates,
    tls_servers,
)
from tests.cast import Cast, signed_in
from tests.tls_proxy import certificate, postgresql_with_tls


@contextmanager
def tls_server(folder: Path, greeting: bool = False) -> Iterator[int]:
    """A port that ends each connection after its handshake; with `greeting` an SMTP server that offers STARTTLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(folder))

    def answer(client: socket.socket) -> None:
        with suppress(OSError), client:
            if greeting:
                client.sendall(b"220 mail ESMTP\r\n")
                client.recv(1000)
                client.sendall(b"250-mail\r\n250 STARTTLS\r\n")
                client.recv(1000)
                client.sendall(b"220 go ahead\r\n")
            with context.wrap_socket(client, server_side=True) as secured:
                secured.recv(1)

    def serve() -> None:
        with suppress(OSError):
            while True:
                answer(server.accept()[0])

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


@pytest.fixture
def is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate that `certificate` writes counts as that of an authority."""
    trusted = ssl.create_default_context

    def context(*, cafile: str | None = None) -> ssl.SSLContext:
        tls_context = trusted(cafile=cafile)
        tls_context.load_verify_locations(tmp_path / "server.pem")
        return tls_context

    monkeypatch.setattr("finops.operations.certificates.ssl.create_default_context", context)


@pytest.mark.parametrize("protocol", ["tls", "smtp"])
@pytest.mark.usefixtures("is_trusted")
def test_a_trusted_certificate_has_its_last_day(tmp_path: Path, protocol: str) -> None:
    with tls_server(tmp_path, greeting=protocol == "smtp") as port:
        status = certificate_of(TlsServer("PUBLIC_URL", "localhost", port, protocol))

    assert status.problem == ""
    assert status.expires_at is not None
    assert timedelta(hours=23) < status.expires_at - clock.now() < timedelta(hours=25)
    assert status.state == "soon"
    with clock.frozen(clock.now() - timedelta(days=30)):
        assert status.state == "ok"
    with clock.frozen(clock.now() + timedelta(days=2)):
        assert status.state == "expired"


def test_an_untrusted_certificate_has_the_reason_and_its_last_day(tmp_path: Path) -> None:
    with tls_server(tmp_path) as port:
        status = certificate_of(TlsServer("PUBLIC_URL", "localhost", port))

    assert (status.state, status.expires_at is None) == ("untrusted", False)
    assert "self-signed" in status.problem


def test_that_of_postgresql_is_read_after_its_own_greeting(tmp_path: Path) -> None:
    database = socket.socket(socket.AF_UNIX)
    database.bind(str(tmp_path / "postgresql"))
    database.listen()
    with database, postgresql_with_tls(str(tmp_path / "postgresql"), tmp_path) as port:
        server = TlsServer("DATABASE_URL", "localhost", port, "postgresql")
        assert certificate_of(server).state == "untrusted"
    with postgresql_with_tls("/nowhere", tmp_path, offers_tls=False) as port:
        server = TlsServer("DATABASE_URL", "localhost", port, "postgresql")
        assert certificate_of(server) == CertificateStatus(server, None, "The server has no TLS")


def test_a_certificate_of_an_authority_in_the_settings_is_trusted(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = {
        **settings.DATABASES["default"],
        "HOST": "localhost",
        "PORT": "5433",
        "OPTIONS": {"sslmode": "verify-full", "sslrootcert": str(tmp_path / "server.pem")},
    }
    monkeypatch.setitem(settings.DATABASES, "default", database)
    named = next(server for server in tls_servers() if server.setting == "DATABASE_URL")
    with tls_server(tmp_path) as port:
        trusted = certificate_of(TlsServer("DATABASE_URL", "localhost", port, authorities=named.authorities))

    assert (named.protocol, named.authorities) == ("postgresql", str(tmp_path / "server.pem"))
    assert (trusted.state, trusted.problem) == ("soon", "")


def test_a_file_of_authorities_that_is_gone_is_a_problem(tmp_path: Path) -> None:
    status = certificate_of(TlsServer("DATABASE_URL", "localhost", 1, authorities=str(tmp_path / "none.pem")))

    assert (status.state, "No such file" in status.problem) == ("unreachable", True)


def test_a_server_that_does_not_answer_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    status = certificate_of(TlsServer("PUBLIC_URL", "localhost", port))

    assert (status.state, "refused" in status.problem.lower()) == ("unreachable", True)


def test_the_settings_name_the_servers(settings: Any) -> None:
    settings.PUBLIC_URL = "https://finops.example.com"
    settings.REDIS_URL = "rediss://:secret@redis.example.com:6380/0"
    settings.TRACES_URL = "http://collector:4318"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_USE_TLS = "mail.example.com", 587, True

    assert tls_servers() == [
        TlsServer("PUBLIC_URL", "finops.example.com", 443),
        TlsServer("REDIS_URL", "redis.example.com", 6380),
        TlsServer("EMAIL_URL", "mail.example.com", 587, "smtp"),
    ]


def test_the_start_page_fetches_them_by_themselves(
    cast: Cast, operator: Client, settings: Any, tmp_path: Path
) -> None:
    cache.clear()
    assert 'hx-get="/admin/certificates/"' in operator.get("/admin/").content.decode()
    assert "No certificates" in operator.get("/admin/certificates/").content.decode()
    with tls_server(tmp_path) as port:
        settings.PUBLIC_URL = f"https://localhost:{port}"
        page = operator.get("/admin/certificates/").content.decode()
    again = certificates()

    assert "Not trusted" in page
    assert f"localhost:{port}" in page
    assert [status.state for status in again] == ["untrusted"]  # kept, the server is gone
    assert signed_in(cast.owner).get("/admin/certificates/").status_code == 404
