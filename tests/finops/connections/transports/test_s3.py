"""Endpoints that people enter, and what a server that speaks S3 may answer."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from finops.connections.connector import AccessError, SourceError, SourceUnavailable
from finops.connections.transports.bucket import BucketObject
from finops.connections.transports.s3 import S3Bucket, S3Credentials, open_s3
from finops.lib.errors import UserError
from tests.finops.connections.conftest import LOOPBACK, S3TestBucket
from tests.receivers import Receiver, http_receiver, reset_connection, respond_with
from tests.s3 import REGION

SECRET = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY"
ROLE = S3Credentials(key="AKIAEXAMPLE", secret=SECRET, token="a-token", principal="the role finops")


@pytest.fixture
def server(settings: Settings) -> Iterator[Receiver]:
    settings.ALERT_ALLOWED_NETWORKS = LOOPBACK
    with http_receiver() as receiver:
        yield receiver


def open_bills(receiver: Receiver, host: str = "127.0.0.1") -> S3Bucket:
    port = receiver.url.split(":")[2].split("/")[0]
    return open_s3("bills", "exports", ROLE, region=REGION, endpoint=f"http://{host}:{port}")


def error(code: str, **more: str) -> str:
    extra = "".join(f"<{name}>{value}</{name}>" for name, value in more.items())
    return f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{SECRET}</Message>{extra}</Error>"


@pytest.mark.parametrize(
    ("status", "code", "kind", "text"),
    [
        (
            403,
            "AccessDenied",
            AccessError,
            "The role finops is not allowed s3:ListBucket on arn:aws:s3:::bills.",
        ),
        (403, "InvalidAccessKeyId", AccessError, "rejected the role finops: unknown, or with a wrong secret"),
        (403, "SignatureDoesNotMatch", AccessError, "or with a wrong secret"),
        (400, "ExpiredToken", SourceUnavailable, "session of the role finops expired"),
        (404, "NoSuchBucket", SourceError, "the bucket does not exist"),
        (301, "PermanentRedirect", SourceError, "the endpoint redirects"),
        (403, "RequestTimeTooSkewed", SourceError, "This server's clock"),
        (400, "SomethingNew", SourceError, "refused s3:ListBucket on arn:aws:s3:::bills: SomethingNew"),
        (500, "InternalError", SourceUnavailable, "overloaded or down: InternalError"),
    ],
)
def test_an_answer_becomes_an_error_that_says_what_to_do(
    server: Receiver, status: int, code: str, kind: type[SourceError], text: str
) -> None:
    server.answer(status, error(code))

    with open_bills(server) as bucket, pytest.raises(SourceError) as source_error:
        bucket.objects()

    assert type(source_error.value) is kind
    assert text in source_error.value.message
    assert SECRET not in source_error.value.message


def test_how_long_an_overloaded_server_asks_for_is_kept(server: Receiver) -> None:
    server.answer(503, error("SlowDown"), Retry_After="120")

    with open_bills(server) as bucket, pytest.raises(SourceUnavailable) as unavailable:
        bucket.objects()

    assert unavailable.value.retry_after == 120


@pytest.mark.parametrize(
    "behave", [reset_connection, respond_with(200, "<html>no S3"), respond_with(200, "{}")]
)
def test_a_server_other_than_s3_is_an_error(server: Receiver, behave: Any) -> None:
    server.behave = behave

    with open_bills(server) as bucket, pytest.raises(SourceError, match="bills"):
        bucket.objects()


def test_no_redirect_is_followed(server: Receiver) -> None:
    with http_receiver() as other:
        server.answer(302, "", Location=other.url)
        with open_bills(server) as bucket, pytest.raises(SourceError, match="redirects"):
            bucket.objects()
        assert server.requests != []
        assert other.requests == []


def test_a_body_that_ends_early_is_requested_again_and_then_unavailable(server: Receiver) -> None:
    server.behave = lambda handler, over: _short(handler)

    with open_bills(server) as bucket, pytest.raises(SourceUnavailable, match="the connection broke"):
        bucket.read(BucketObject("manifest.json", 100, '"etag"'))

    assert len(server.requests) >= 3


def _short(handler: Any) -> None:
    handler.send_response(206)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b"only this")
    handler.close_connection = True


def test_no_secret_is_logged(server: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    server.answer(403, error("AccessDenied"))

    with open_bills(server) as bucket, pytest.raises(AccessError):
        bucket.objects()

    assert SECRET not in caplog.text
    assert SECRET not in repr(ROLE)
    assert "a-token" not in repr(ROLE)


# Addresses


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://127.0.0.1:9000",
        "http://169.254.169.254",
        "https://10.0.0.1",
        "https://[::1]:9000",
        "http://s3.example.com",
        "https://user:pass@s3.example.com",
        "ftp://s3.example.com",
        "s3.example.com",
        "https://localhost:9000",
    ],
)
def test_an_endpoint_that_nothing_is_sent_to_is_refused(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    settings.ALERT_ALLOWED_NETWORKS = []
    resolve = {"s3.example.com": "93.184.215.14"}
    _answer_names(monkeypatch, lambda host: resolve.get(host, "127.0.0.1"))

    with pytest.raises(UserError) as error:
        open_s3("bills", "", ROLE, endpoint=endpoint)

    assert error.value.field == "endpoint"


def test_a_name_that_leads_elsewhere_once_it_was_checked_is_not_connected_to(
    s3: S3TestBucket, server: Receiver, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: the first answer is permitted, the second is the address of something private."""
    answers = iter(["127.0.0.1"])
    _answer_names(monkeypatch, lambda _host: next(answers, "127.0.0.2"))
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.1/32"]

    with (
        open_bills(server, "s3.example.com") as bucket,
        pytest.raises(SourceError, match="private or reserved"),
    ):
        bucket.objects()

    assert server.requests == []


def test_the_operators_own_endpoint_is_not_asked_for_customers_buckets(
    server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS_ENDPOINT_URL is where the lake may be."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.url)
    _answer_names(monkeypatch, lambda _host: "127.0.0.1")  # port 443 of this machine: nobody is there

    with open_s3("bills", "", ROLE, region=REGION) as bucket, pytest.raises(SourceUnavailable):
        bucket.objects()

    assert server.requests == []


def _answer_names(monkeypatch: pytest.MonkeyPatch, address_of: Any) -> None:
    real = socket.getaddrinfo

    def resolve(host: Any, port: Any, *arguments: Any, **more: Any) -> Any:
        text = host.decode() if isinstance(host, bytes) else host
        is_name = text.count(".") != 3 and ":" not in text
        return real(address_of(text) if is_name else host, port, *arguments, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
