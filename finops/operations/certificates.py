"""TLS certificates of the servers in the settings: their expiry, and whether this server trusts them."""

from __future__ import annotations

import smtplib
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cryptography import x509
from django.conf import settings
from django.core.cache import cache

from finops.lib import clock

TIMEOUT_SECONDS: Final = 3.0
CACHE_SECONDS: Final = 600
_CACHE_KEY: Final = "operations-certificates"
EXPIRES_SOON: Final = timedelta(days=21)
_POSTGRESQL_SSL_REQUEST: Final = bytes.fromhex("0000000804d2162f")


@dataclass(frozen=True)
class TlsServer:
    """A server. `setting` names its setting. `protocol`: TLS at once, or the protocol before it (smtp, postgresql).
    `authorities`: the file of trusted ones, by default the system's."""

    setting: str
    host: str
    port: int
    protocol: str = "tls"
    authorities: str | None = None


@dataclass(frozen=True)
class CertificateStatus:
    """A certificate's status. `expires_at` is None where none was read; `problem` then says why, else why it is not
    trusted."""

    server: TlsServer
    expires_at: datetime | None
    problem: str = ""

    @property
    def state(self) -> str:
        """`ok`, `soon`, `expired`, `untrusted`, `unreachable`."""
        if self.expires_at is None:
            return "unreachable"
        if self.expires_at <= clock.now():
            return "expired"
        if self.problem:
            return "untrusted"
        return "soon" if self.expires_at - clock.now() < EXPIRES_SOON else "ok"


def tls_servers() -> list[TlsServer]:
    """The servers in the settings that use TLS."""
    urls = {
        "PUBLIC_URL": settings.PUBLIC_URL,
        "REDIS_URL": settings.REDIS_URL,
        "OTEL_EXPORTER_OTLP_ENDPOINT": settings.TRACES_URL,
        "SENTRY_DSN": settings.SENTRY_DSN,
    }
    servers = []
    for name, url in urls.items():
        address = urlsplit(url)
        if address.scheme in ("https", "rediss") and address.hostname:
            port = address.port or (443 if address.scheme == "https" else 6379)
            servers.append(TlsServer(name, address.hostname, port))
    if settings.EMAIL_HOST and (settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL):
        protocol = "tls" if settings.EMAIL_USE_SSL else "smtp"
        servers.append(TlsServer("EMAIL_URL", settings.EMAIL_HOST, settings.EMAIL_PORT, protocol))
    database = settings.DATABASES["default"]
    if database["OPTIONS"].get("sslmode") in ("require", "verify-ca", "verify-full"):
        port = int(database["PORT"] or 5432)
        authorities = _authorities_of(database["OPTIONS"].get("sslrootcert"))
        servers.append(TlsServer("DATABASE_URL", database["HOST"], port, "postgresql", authorities))
    return servers


def _authorities_of(sslrootcert: str | None) -> str | None:
    """libpq's `sslrootcert`: a file, or `system`; unset is a file below the home folder, where there is one."""
    if sslrootcert is None:
        default = Path("~/.postgresql/root.crt").expanduser()
        return str(default) if default.is_file() else None
    return None if sslrootcert == "system" else sslrootcert


def certificates() -> list[CertificateStatus]:
    """The status of each server's certificate, fetched in parallel, TIMEOUT_SECONDS at most a step; cached for ten minutes."""
    servers = tls_servers()
    if not servers:
        return []
    statuses: list[CertificateStatus] | None = cache.get(_CACHE_KEY)
    if statuses is None or [status.server for status in statuses] != servers:
        with ThreadPoolExecutor(len(servers)) as pool:
            statuses = list(pool.map(certificate_of, servers))
        cache.set(_CACHE_KEY, statuses, CACHE_SECONDS)
    return statuses


def certificate_of(server: TlsServer) -> CertificateStatus:
    """Return the status, verified as a client does; an untrusted certificate is read again without verification, for its
    expiry."""
    try:
        return CertificateStatus(
            server, _expiry(server, ssl.create_default_context(cafile=server.authorities))
        )
    except ssl.SSLCertVerificationError as error:
        problem = error.verify_message
    except (OSError, smtplib.SMTPException) as error:
        return CertificateStatus(server, None, str(error))
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
    try:
        return CertificateStatus(server, _expiry(server, unchecked), problem)
    except (OSError, smtplib.SMTPException) as error:
        return CertificateStatus(server, None, str(error))


def _expiry(server: TlsServer, context: ssl.SSLContext) -> datetime:
    """Return the certificate's expiry. Raises OSError and SMTPException."""
    if server.protocol == "smtp":
        with smtplib.SMTP(server.host, server.port, timeout=TIMEOUT_SECONDS) as client:
            client.starttls(context=context)
            return _not_after(client.sock)
    with closing(socket.create_connection((server.host, server.port), TIMEOUT_SECONDS)) as plain:
        if server.protocol == "postgresql":
            plain.sendall(_POSTGRESQL_SSL_REQUEST)
            if plain.recv(1) != b"S":
                raise OSError("The server has no TLS")
        with context.wrap_socket(plain, server_hostname=server.host) as secured:
            return _not_after(secured)


def _not_after(secured: object) -> datetime:
    der = secured.getpeercert(binary_form=True) if isinstance(secured, ssl.SSLSocket) else None
    if der is None:
        raise OSError("The server has no certificate")
    return x509.load_der_x509_certificate(der).not_valid_after_utc
