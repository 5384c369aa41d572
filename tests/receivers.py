"""Servers of this machine that receive alerts, and fail as real ones do: HTTP, HTTPS, SMTP and DNS.

Nothing here waits for a fixed time: a server that hangs does so until the test is over.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclasses.dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Behaviour = Callable[[BaseHTTPRequestHandler, threading.Event], None]


class Receiver:
    """A running server. `requests` are the completely received ones. `behave` answers the next requests; `over` ends
    handlers that hang."""

    def __init__(self, host: str, port: int, scheme: str) -> None:
        self.host, self.port = host, port
        self.url = f"{scheme}://{host}:{port}/hooks/T024-B017-xXsecretpathXx"
        self.requests: list[Request] = []
        self.over = threading.Event()
        self.behave: Behaviour = respond_with(200, "ok")

    def answer(self, status: int, body: str = "", **headers: str) -> None:
        self.behave = respond_with(status, body, **headers)


def respond_with(status: int, body: str = "", **headers: str) -> Behaviour:
    def behave(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        handler.send_response(status)
        content = body.encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in {**named, "Content-Length": str(len(content))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(content)

    return behave


def hang(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """Receive the request and send nothing."""
    over.wait(60)


def reset_connection(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """Close the connection at once, with a reset."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True


def send_no_http(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
    handler.wfile.write(b"220 this is no HTTP\r\n")


def drip_headers(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """Send headers without an end, a byte at a time."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drip: ")
    _drip(handler, over)


def drip_body(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nok")
    _drip(handler, over)


def flood(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """Send a body without an end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while not over.is_set():
        handler.wfile.write(b"x" * 65_536)


def _drip(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
    while not over.wait(0.01):
        handler.wfile.write(b"x")


@contextmanager
def http_receiver(
    host: str = "127.0.0.1", *, port: int = 0, certificate: tuple[Path, Path] | None = None
) -> Iterator[Receiver]:
    server = _Server((host, port), BaseHTTPRequestHandler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    receiver = Receiver(host, server.server_address[1], "https" if certificate else "http")
    server.RequestHandlerClass = _handler(receiver)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of clients that disconnect, which these tests provoke."""


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.requests.append(Request(self.path, headers, body))
            receiver.behave(self, receiver.over)

        do_GET = do_HEAD = do_POST

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class
            """Log nothing."""

    return Handler


class MailServer:
    """A running SMTP server. `mails` are the accepted messages: (address, raw message). `refuse` is the response to
    RCPT of an address, `answer` that to every message."""

    def __init__(self) -> None:
        self.mails: list[tuple[str, bytes]] = []
        self.refuse: dict[str, str] = {}
        self.answer = "250 taken"
        self.port = 0

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.refuse:
            return self.refuse[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.answer.startswith("2"):
            content = envelope.content
            assert isinstance(content, bytes)
            self.mails += [(address, content) for address in envelope.rcpt_tos]
        return self.answer


@contextmanager
def smtp_server() -> Iterator[MailServer]:
    server = MailServer()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        server.port = probe.getsockname()[1]
    controller = Controller(server, hostname="127.0.0.1", port=server.port)
    controller.start()
    try:
        yield server
    finally:
        controller.stop()


class NameServer:
    """DNS over UDP: each question for an address gets the next of `answers`, and the last one is repeated. `asked`
    has the names."""

    def __init__(self, sock: socket.socket) -> None:
        self.answers: list[str] = []
        self.asked: list[str] = []
        self._sock = sock

    def resolve(self, host: str, port: int) -> list[str]:
        """Resolve a name at this server over the network, as a Resolver (finops.lib.outbound)."""
        name = b"".join(bytes([len(label)]) + label.encode() for label in host.split(".")) + b"\0"
        question = struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + name + struct.pack(">2H", 1, 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(30)
            sock.sendto(question, self._sock.getsockname())
            request = sock.recv(512)
        return [socket.inet_ntoa(request[-4:])]

    def serve(self) -> None:
        while True:
            question, client = self._sock.recvfrom(512)
            if not question:
                return
            self.asked.append(_name_in(question))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            head = question[:2] + struct.pack(">5H", 0x8180, 1, 1, 0, 0)
            record = struct.pack(">3HIH", 0xC00C, 1, 1, 0, 4) + socket.inet_aton(answer)
            self._sock.sendto(head + question[12:] + record, client)


def _name_in(question: bytes) -> str:
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]].decode())
        at += question[at] + 1
    return ".".join(labels)


@contextmanager
def name_server() -> Iterator[NameServer]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        server = NameServer(sock)
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        yield server
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ender:
            ender.sendto(b"", sock.getsockname())
        thread.join()


def certificate_of(host: str, folder: Path) -> tuple[Path, Path]:
    """Write a self-signed certificate of the host and its key to files, and return them."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / f"{host}.pem", folder / f"{host}.key"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return files
