from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

import boto3  # type: ignore[import-untyped]
import botocore.session
import pytest
from botocore.retries.standard import ExponentialBackoff
from moto.core.models import DEFAULT_ACCOUNT_ID as ACCOUNT
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer
from pytest_django import Settings

from finops.connections.transports import http
from finops.connections.transports.s3 import S3Bucket, S3Credentials, open_s3
from tests.finops.connections.azurite import AzureContainer, azurite
from tests.finops.connections.gcs_emulator import GcsTestBucket, gcs_emulator
from tests.finops.connections.replay_server import ReplayServer, Reply, replay_server
from tests.s3 import KEY, REGION

LOOPBACK = ["127.0.0.0/8"]

# The descriptions of AWS's services are megabytes of JSON, which each session of botocore would read for itself.
botocore.session.create_loader = cache(botocore.session.create_loader)


@dataclass
class S3TestBucket:
    """A bucket of a real S3 server on loopback, and a client to look behind the connector's back."""

    endpoint: str
    client: Any
    name: str

    def put(self, key: str, content: bytes = b"content") -> None:
        self.client.upload_fileobj(io.BytesIO(content), self.name, key)

    def age(self, key: str, by: timedelta) -> None:
        """As if the object had been put so much earlier. S3 tells whole seconds, and tests do not wait for them."""
        stored_key = s3_backends[ACCOUNT]["aws"].buckets[self.name].keys[key]
        stored_key.last_modified -= by

    def open(self, prefix: str = "", **options: Any) -> S3Bucket:
        return open_s3(
            self.name,
            prefix,
            S3Credentials(key=KEY, secret=KEY),
            region=REGION,
            **{"endpoint": self.endpoint, **options},
        )


@cache
def client_of(endpoint: str, service: str = "s3", key: str = KEY, secret: str = KEY) -> Any:
    return boto3.client(
        service,
        endpoint_url=endpoint,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        region_name=REGION,
    )


@pytest.fixture(autouse=True)
def _no_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore tries as often as it does, and sleeps no seconds between its tries."""
    monkeypatch.setattr(ExponentialBackoff, "delay_amount", lambda _self, _context: 0.0)


@pytest.fixture(scope="session")
def moto_server() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(moto_server: str, settings: Settings, request: pytest.FixtureRequest) -> S3TestBucket:
    settings.ALERT_ALLOWED_NETWORKS = LOOPBACK
    client = client_of(moto_server)
    name = f"b{abs(hash(request.node.nodeid))}"
    client.create_bucket(Bucket=name)
    return S3TestBucket(moto_server, client, name)


@pytest.fixture(scope="session")
def azurite_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with azurite(tmp_path_factory.mktemp("azurite")) as url:
        yield url


@pytest.fixture
def container(azurite_server: str, settings: Settings, request: pytest.FixtureRequest) -> AzureContainer:
    settings.ALERT_ALLOWED_NETWORKS = LOOPBACK
    container = AzureContainer(azurite_server, f"c{abs(hash(request.node.nodeid))}")
    container.create()
    return container


@pytest.fixture(scope="session")
def gcs_server() -> Iterator[str]:
    with gcs_emulator() as url:
        yield url


@pytest.fixture
def gcs(
    gcs_server: str, replay: ReplayServer, settings: Settings, request: pytest.FixtureRequest
) -> GcsTestBucket:
    """A bucket; Google's token server is `replay`, which gives everybody a token."""
    settings.CONNECTOR_BASE_URLS = {"google_storage": gcs_server, "google_storage_token": replay.url}
    replay.routes["/token"] = lambda _request: Reply.of_json({"access_token": "token-1"})
    gcs_bucket = GcsTestBucket(gcs_server, f"g{abs(hash(request.node.nodeid))}")
    gcs_bucket.create()
    return gcs_bucket


@pytest.fixture
def replay(settings: Settings) -> Iterator[ReplayServer]:
    settings.ALERT_ALLOWED_NETWORKS = LOOPBACK
    with replay_server() as server:
        yield server


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the transport would have slept."""
    slept: list[float] = []
    monkeypatch.setattr(http, "sleep", slept.append)
    return slept
