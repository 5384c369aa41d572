"""An emulator of Google Cloud Storage on this machine, and the key of a service account that its token server
accepts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import httpx
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from gcp_storage_emulator.server import create_server  # type: ignore[import-untyped]

from tests.servers import free_port

ACCOUNT = "finops-console@acme.iam.gserviceaccount.com"


@contextmanager
def gcs_emulator() -> Iterator[str]:
    port = free_port()
    server = create_server("127.0.0.1", port, in_memory=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop()


@cache
def private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def key_file() -> str:
    """As Google Cloud gives it. Its token_uri is of somebody else."""
    fields = {
        "type": "service_account",
        "client_email": ACCOUNT,
        "private_key_id": "1",
        "private_key": private_key(),
        "token_uri": "https://somebody-else.example/token",
    }
    return json.dumps(fields)


@dataclass
class GcsTestBucket:
    """A bucket of the emulator, and a client to look behind the connector's back."""

    url: str
    name: str

    def create(self) -> None:
        httpx.post(f"{self.url}/storage/v1/b", json={"name": self.name}, trust_env=False).raise_for_status()

    def put(self, key: str, content: bytes = b"content") -> None:
        url = f"{self.url}/upload/storage/v1/b/{self.name}/o"
        params = {"uploadType": "media", "name": key}
        httpx.post(url, params=params, content=content, trust_env=False).raise_for_status()
