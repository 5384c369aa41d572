"""A web server of metadata documents on this machine, with TLS, and the fetcher that may reach it.

The product's own fetcher refuses every address that is not public. `LocalFetcher` is the one way around that, and
only a test's settings name it (`local_documents`).
"""

from __future__ import annotations

import datetime
import json
import ssl
import threading
import time
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
from tests.accounts.oauth.flow import OAuthClient
from tests.cast import Cast, signed_in

HOST = "client.example"
CALLBACK = "https://client.example/callback"
DOCUMENT = {"client_name": "Example", "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
KNOWN = [
    ("https://claude.ai/oauth/mcp-oauth-client-metadata", "https://claude.ai/api/mcp/auth_callback"),
    ("https://claude.ai/oauth/mcp-oauth-client-metadata", "https://claude.com/api/mcp/auth_callback"),
    ("https://claude.ai/oauth/claude-code-client-metadata", "http://localhost:54545/callback"),
    ("https://claude.ai/oauth/claude-code-client-metadata", "http://127.0.0.1:3118/callback"),
    ("https://chatgpt.com/oauth/client.json", "https://chatgpt.com/connector_platform_oauth_redirect"),
    ("https://chatgpt.com/oauth/abc_1/client.json", "https://chatgpt.com/connector/oauth/abc_1"),
    ("https://chatgpt.com/oauth/codex/client.json", "http://127.0.0.1:1455/callback"),
    ("https://cursor.com/oauth/mcp-client.json", "http://localhost:8787/callback"),
    ("https://cursor.com/oauth/mcp-client.json", "https://www.cursor.com/agents/mcp/oauth/callback"),
    ("https://vscode.dev/oauth/client-metadata.json", "http://127.0.0.1:33418/"),
    ("https://vscode.dev/oauth/client-metadata.json", "https://vscode.dev/redirect"),
    ("https://opencode.ai/oauth/opencode/client.json", "http://127.0.0.1:19876/callback"),
]


def ask(cast: Cast, client_id: str, redirect_uri: str = CALLBACK) -> Any:
    """What a member who is sent by this client sees."""
    client = OAuthClient(client_id, redirect_uri=redirect_uri)
    return signed_in(cast.member).get(client.authorize_url())


class LocalFetcher(DocumentFetcher):
    """Reaches HOST on this machine. All else, TLS included, is the product's."""

    certificate: Path

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        trusting = ssl.create_default_context(cafile=str(self.certificate))
        with (
            patch("oauth2_provider.cimd._resolve_and_validate", lambda host, port: ["127.0.0.1"]),
            patch("ssl.create_default_context", lambda: trusting),
        ):
            return super().fetch(client_id)


class Documents:
    """What the server answers, by path; `asked` are the paths that came. `drip` sends a byte in so many seconds."""

    def __init__(self, port: int) -> None:
        self.base = f"https://{HOST}:{port}"
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[str] = []
        self.drip = 0.0

    def publish(
        self,
        path: str,
        document: Any,
        *,
        status: int = 200,
        content_type: str = "application/json",
        **headers: str,
    ) -> str:
        """The client_id of a document that says this (and its client_id, when it is an object)."""
        client_id = f"{self.base}{path}"
        if isinstance(document, dict):
            document = {"client_id": client_id, **document}
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        extra_headers = {key.replace("_", "-"): value for key, value in headers.items()}
        self.answers[path] = (status, {"Content-Type": content_type, **extra_headers}, body)
        return client_id


@contextmanager
def local_documents(folder: Path, settings: Any) -> Iterator[Documents]:
    certificate, key = _certificate(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    documents = Documents(server.server_address[1])
    server.RequestHandlerClass = _handler(documents)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    LocalFetcher.certificate = certificate
    settings.OAUTH2_PROVIDER = {
        **settings.OAUTH2_PROVIDER,
        "CIMD_METADATA_FETCHER": f"{__name__}.LocalFetcher",
    }
    try:
        yield documents
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(documents: Documents) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            documents.asked.append(self.path)
            status, headers, body = documents.answers.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if not documents.drip:
                self.wfile.write(body)
                return
            for byte in body:
                self.wfile.write(bytes([byte]))
                time.sleep(documents.drip)  # a slow server's own pause

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class
            """Quiet."""

    return Handler


def _certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files
