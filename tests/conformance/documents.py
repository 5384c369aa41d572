"""A client's metadata document, served over TLS on loopback, and the fetcher that may go there in these tests."""

from __future__ import annotations

import datetime
import ipaddress
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from accounts.oauth.cimd import DocumentFetcher

HOST = "127.0.0.1"


class LoopbackFetcher(DocumentFetcher):
    """The product's own in everything but this: the one address it may go to is loopback."""

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        with patch("oauth2_provider.cimd._resolve_and_validate", lambda host, port: [HOST]):
            return super().fetch(client_id)


@contextmanager
def served(folder: Path, metadata: dict[str, Any]) -> Iterator[str]:
    """The client_id of a client that describes itself so. SSL_CERT_FILE=`certificate(folder)` trusts its server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(folder))
    with ThreadingHTTPServer((HOST, 0), type("Handler", (_Handler,), {"metadata": metadata})) as server:
        client_id = f"https://{HOST}:{server.server_port}/client.json"
        metadata["client_id"] = client_id
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield client_id
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    metadata: dict[str, Any]

    def do_GET(self) -> None:
        body = json.dumps(self.metadata).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_said: object) -> None:
        """Nothing is said: the tests look at the answers."""


def certificate(folder: Path) -> Path:
    """A self-signed certificate of loopback with its key, in one file; made once a folder."""
    path = folder / "loopback.pem"
    if path.exists():
        return path
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(private + made.public_bytes(pem))
    return path
