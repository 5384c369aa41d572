"""TLS in front of the test database, which has none: it behaves as a PostgreSQL server with a certificate."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

SSL_REQUEST = bytes.fromhex("0000000804d2162f")


@contextmanager
def postgresql_with_tls(unix_socket: str, folder: Path, *, offers_tls: bool = True) -> Iterator[int]:
    """Yield the port on loopback."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(folder))
    with socket.create_server(("127.0.0.1", 0)) as server:
        arguments = (server, unix_socket, context if offers_tls else None)
        threading.Thread(target=_serve, args=arguments, daemon=True).start()
        yield server.getsockname()[1]


def _serve(server: socket.socket, unix_socket: str, context: ssl.SSLContext | None) -> None:
    with suppress(OSError):
        while True:
            client, _address = server.accept()
            threading.Thread(target=_answer, args=(client, unix_socket, context), daemon=True).start()


def _answer(client: socket.socket, unix_socket: str, context: ssl.SSLContext | None) -> None:
    with suppress(OSError), client, socket.socket(socket.AF_UNIX) as database:
        if client.recv(8) != SSL_REQUEST:
            return
        client.sendall(b"S" if context else b"N")
        if context is None:
            client.recv(1)
            return
        database.connect(unix_socket)
        with context.wrap_socket(client, server_side=True) as secured:
            back = threading.Thread(target=_pump, args=(database, secured), daemon=True)
            back.start()
            _pump(secured, database)
            with suppress(OSError):
                database.shutdown(socket.SHUT_RDWR)
            back.join(5)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def certificate(folder: Path) -> Path:
    """Write a self-signed certificate for localhost with its key, and return the file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path
