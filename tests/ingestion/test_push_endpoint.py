"""POST /api/usage/events as HTTP: who gets in, which body is read, and in which form the answer is."""

from __future__ import annotations

import gzip
import json
import random
import time
import zlib
from io import BytesIO
from typing import Any

import pyarrow as pa
import pytest
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from accounts.keys import mint_mcp_key
from finops.lib.push_body import PushError, read_body
from ingestion import services
from ingestion.parsers import body_limit
from ingestion.services.keys import PREFIX
from ingestion.views.push import push
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import PATH, PushClient, create_push_client, event, inbox, key_of, reasons

BODY = json.dumps({"events": [event()]}).encode()
each = pytest.mark.parametrize


def problem(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"] == "application/json"
    content = answer.json()
    assert content.keys() == {"error"}
    assert content["error"].keys() == {"code", "message"}
    code = content["error"]["code"]
    assert isinstance(code, str)
    return code


def test_the_path_is_the_one_of_the_interface() -> None:
    assert reverse("usage_events") == PATH == "/api/usage/events"


def test_a_push_is_answered_with_the_ingestion_result(push_client: PushClient) -> None:
    answer = push_client.push(event(), event(quantity="x"))

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json() == {
        "accepted": 1,
        "rejected": 1,
        "errors": [{"index": 1, "error": "quantity must be a number"}],
    }


# Credentials


def assert_unauthorized(answer: Any) -> None:
    assert problem(answer, 401) == "unauthorized"
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert inbox() == []


@each(
    "header",
    ["", "Bearer", "Bearer ", "Basic abc", "Token abc", "Bearer é", "Bearer a b", "Bearer " + "x" * 5_000],
)
def test_a_request_without_a_bearer_token_is_refused(push_client: PushClient, header: str) -> None:
    assert_unauthorized(push_client.send(BODY, authorization=header))


def test_an_unknown_key_gets_401(push_client: PushClient) -> None:
    from accounts.keys import new_secret

    unknown, _lookup = new_secret(PREFIX)

    assert_unauthorized(push_client.send(BODY, authorization=f"Bearer {unknown}"))
    assert_unauthorized(push_client.send(BODY, authorization=f"Bearer {push_client.key[:-1]}"))
    assert_unauthorized(push_client.send(BODY, authorization=f"Bearer {push_client.key}x"))


def test_a_revoked_key_gets_401(cast: Cast, push_client: PushClient) -> None:
    services.revoke_usage_key(source=push_client.source, actor=cast.actor)

    assert_unauthorized(push_client.send(BODY))


def test_a_regenerated_key_gets_401_and_its_successor_gets_in(cast: Cast, push_client: PushClient) -> None:
    _key, fresh = services.regenerate_usage_key(source=push_client.source, actor=cast.actor)

    assert_unauthorized(push_client.send(BODY))
    assert reasons(PushClient(push_client.source, fresh).send(BODY), submitted=1) == {}


@each("scope", ["read", "read_write"])
def test_an_mcp_key_opens_nothing_here(cast: Cast, push_client: PushClient, scope: str) -> None:
    _key, mcp = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude", scope=scope)

    assert_unauthorized(push_client.send(BODY, authorization=f"Bearer {mcp}"))


def test_a_session_opens_nothing_here(cast: Cast) -> None:
    client = signed_in(cast.owner)

    assert_unauthorized(client.post(PATH, BODY, content_type="application/json"))


def test_a_usage_key_opens_nothing_else(cast: Cast, push_client: PushClient) -> None:
    header = {"authorization": f"Bearer {push_client.key}"}

    assert (
        Client().post("/api/mcp", b"{}", content_type="application/json", headers=header).status_code == 401
    )
    assert Client().get("/a/acme/connections/usage/", headers=header).status_code == 302


@each("place", ["query", "cookie", "body"])
def test_a_key_counts_in_the_authorization_header_alone(push_client: PushClient, place: str) -> None:
    client = Client()
    if place == "cookie":
        client.cookies["Authorization"] = f"Bearer {push_client.key}"
    url = f"{PATH}?access_token={push_client.key}" if place == "query" else PATH
    body = json.dumps({"events": [event()], "key": push_client.key}) if place == "body" else BODY

    assert_unauthorized(client.post(url, body, content_type="application/json"))


def test_the_word_bearer_is_read_in_any_case(push_client: PushClient) -> None:
    assert reasons(push_client.send(BODY, authorization=f"bearer  {push_client.key}"), submitted=1) == {}


def test_events_go_to_the_account_and_source_of_the_key_whatever_they_say(
    cast: Cast, push_client: PushClient
) -> None:
    elsewhere = create_push_client(cast, cast.other_account)

    push_client.push(event(account=cast.other_account.pk, source_id=elsewhere.source.pk))
    elsewhere.push(event())

    assert [(row.account_id, row.source_id) for row in inbox()] == [
        (cast.account.pk, push_client.source.pk),
        (cast.other_account.pk, elsewhere.source.pk),
    ]


# Last used


@each(
    ("request_", "status"),
    [
        ({"body": BODY}, 200),
        ({"body": b"no json"}, 400),
        ({"body": b"", "method": "GET"}, 405),
        ({"body": b"x" * 2_000}, 413),
        ({"body": BODY, "content_encoding": "br"}, 415),
    ],
    ids=["200", "400", "405", "413", "415"],
)
@override_settings(USAGE_MAX_BODY_BYTES=1_000)
def test_every_request_made_with_a_key_is_a_use_of_it(
    push_client: PushClient, request_: dict[str, Any], status: int
) -> None:
    before = key_of(push_client.source)
    assert before is not None
    assert before.last_used_at is None

    assert push_client.send(**request_).status_code == status

    after = key_of(push_client.source)
    assert after is not None
    assert after.last_used_at is not None


def test_a_request_with_a_forged_secret_is_no_use_of_the_key(push_client: PushClient) -> None:
    from accounts.keys import _checksum

    body = push_client.key[:15] + "A" * 32

    assert_unauthorized(push_client.send(BODY, authorization=f"Bearer {body}{_checksum(body)}"))

    key = key_of(push_client.source)
    assert key is not None
    assert key.last_used_at is None


# Methods and bodies


@each("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_only_post_is_served(push_client: PushClient, method: str) -> None:
    answer = push_client.send(BODY, method=method)

    assert problem(answer, 405) == "method_not_allowed"
    assert answer.headers["Allow"] == "POST"


@each(
    "content_type",
    [
        "application/x-www-form-urlencoded",
        "text/plain",
        "multipart/form-data; boundary=x",
        "image/png",
        "",
        "nonsense",
    ],
)
def test_the_content_type_is_ignored(push_client: PushClient, content_type: str) -> None:
    request = RequestFactory().post(
        PATH, BODY, content_type=content_type, headers={"authorization": f"Bearer {push_client.key}"}
    )

    assert push(request).status_code == 200


@each("accept", ["text/html", "application/xml;q=1", "*/*", "nonsense"])
def test_the_answer_is_json_whatever_the_client_accepts(push_client: PushClient, accept: str) -> None:
    assert reasons(push_client.send(BODY, accept=accept), submitted=1) == {}


@override_settings(USAGE_MAX_BODY_BYTES=len(BODY) + 10)
def test_a_body_of_exactly_the_limit_is_taken_and_a_byte_more_is_not(push_client: PushClient) -> None:
    full = BODY + b" " * 10

    assert reasons(push_client.send(full), submitted=1) == {}
    answer = push_client.send(full + b" ")
    assert problem(answer, 413) == "body_too_large"
    assert answer.json()["error"]["message"] == (
        f"The body is larger than {len(full)} bytes, also the limit after decompression; send smaller batches."
    )
    assert len(inbox()) == 1


def test_the_limit_is_16_mib(settings: Any) -> None:
    assert settings.USAGE_MAX_BODY_BYTES == 16 * 1024 * 1024


@override_settings(USAGE_MAX_BODY_BYTES=len(BODY) + 10)
def test_a_gzip_body_is_bounded_before_and_after_inflating(push_client: PushClient) -> None:
    fits = gzip.compress(BODY + b" " * 10)
    bomb = gzip.compress(BODY + b" " * 11)

    assert reasons(push_client.send(fits, content_encoding="gzip"), submitted=1) == {}
    assert problem(push_client.send(bomb, content_encoding="gzip"), 413) == "body_too_large"
    assert (
        problem(push_client.send(b"\x1f" * (len(BODY) + 11), content_encoding="gzip"), 413)
        == "body_too_large"
    )


def test_a_bomb_of_gigabytes_is_let_go_at_the_limit(push_client: PushClient) -> None:
    """Members of a megabyte, over and over: 4 GiB when whole."""
    bomb = gzip.compress(b" " * 2**20) * 4096

    assert problem(push_client.send(bomb, content_encoding="gzip"), 413) == "body_too_large"


def test_a_body_that_inflates_a_thousandfold_is_refused_for_the_price_of_what_was_sent(
    push_client: PushClient,
) -> None:
    bomb = gzip.compress(b"[" * 16_000_000)
    spent = time.process_time()
    assert problem(push_client.send(bomb, content_encoding="gzip"), 413) == "body_too_large"
    assert time.process_time() - spent < 0.5
    body = {"events": [event()] * 1_000}
    answer = push_client.send(gzip.compress(json.dumps(body).encode()), content_encoding="gzip")
    assert reasons(answer, submitted=1_000) == {}


def test_gzip_in_a_multitude_of_empty_members_is_refused_at_once(push_client: PushClient) -> None:
    """16 MB of them cost 20 s of CPU, and inflate to nothing that a limit could stop."""
    whole = gzip.compress(BODY)

    assert (
        reasons(push_client.send(whole + gzip.compress(b"") * 999, content_encoding="gzip"), submitted=1)
        == {}
    )
    answer = push_client.send(whole + gzip.compress(b"") * 1000, content_encoding="gzip")
    assert problem(answer, 400) == "invalid_gzip"


@each("encoding", ["gzip", "GZIP", " gzip "])
def test_gzip_is_inflated(push_client: PushClient, encoding: str) -> None:
    assert reasons(push_client.send(gzip.compress(BODY), content_encoding=encoding), submitted=1) == {}


def test_gzip_in_several_members_is_one_body(push_client: PushClient) -> None:
    body = gzip.compress(BODY[:20]) + gzip.compress(BODY[20:])

    assert reasons(push_client.send(body, content_encoding="gzip"), submitted=1) == {}


@each(
    "body",
    [b"", BODY, gzip.compress(BODY)[:-4], gzip.compress(BODY) + b"x"],
    ids=["empty", "plain", "cut", "more"],
)
def test_invalid_gzip_is_refused(push_client: PushClient, body: bytes) -> None:
    assert problem(push_client.send(body, content_encoding="gzip"), 400) == "invalid_gzip"
    assert inbox() == []


def raw_deflate(content: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(content) + compressor.flush()


def zstd(content: bytes) -> bytes:
    # As a stream, so without the size of the content in its header.
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    compressed: bytes = sink.getvalue().to_pybytes()
    return compressed


ENCODINGS = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "zstd": ("zstd", zstd),
}
compressions = each(("encoding", "compress"), ENCODINGS.values(), ids=ENCODINGS.keys())


@compressions
def test_a_compressed_body_is_read_in_any_case_and_within_its_limits(
    push_client: PushClient, encoding: str, compress: Any
) -> None:
    def code(content: bytes, status: int) -> str:
        return problem(push_client.send(content, content_encoding=encoding), status)

    many = json.dumps({"events": [event(customer_id=f"c-{at}") for at in range(1_000)]}).encode()
    for content, count in ((compress(BODY), 1), (compress(many), 1_000)):
        for name in (encoding, f" {encoding.upper()} "):
            assert reasons(push_client.send(content, content_encoding=name), submitted=count) == {}

    invalid = f"invalid_{encoding.removeprefix('x-')}"
    for content in (b"", BODY, compress(BODY)[:-4], compress(BODY)[:2], compress(BODY) + b"x"):
        assert code(content, 400) == invalid
    with override_settings(USAGE_MAX_BODY_BYTES=len(many) - 1):
        assert code(compress(many), 413) == "body_too_large"
    spent = time.process_time()
    assert code(compress(b"[" * 16_000_000), 413) == "body_too_large"
    assert time.process_time() - spent < 0.5


@compressions
def test_a_compressed_body_in_small_chunks_is_read(
    push_client: PushClient, encoding: str, compress: Any
) -> None:
    class SlowBody(BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(size or 1, 1))

    def send(content: bytes) -> Any:
        headers = {"authorization": f"Bearer {push_client.key}", "content-encoding": encoding}
        request = RequestFactory().post(PATH, headers=headers)
        request.META.update(
            {"CONTENT_LENGTH": "", "wsgi.input": SlowBody(content), "wsgi.input_terminated": True}
        )
        return push(request)

    assert send(compress(BODY)).status_code == 200
    assert send(compress(BODY)[:-1]).status_code == 400


def refusal_of(content: bytes, encoding: str) -> tuple[int, Any] | None:
    request = RequestFactory().post(PATH, content, "application/json", headers={"content-encoding": encoding})
    try:
        read_body(request, body_limit())
    except PushError as error:
        return error.status_code, error.get_codes()
    return None


@given(content=st.binary(max_size=200), encoding=st.sampled_from(["gzip", "deflate", "zstd"]))
def test_bytes_that_are_no_body_are_refused_in_every_encoding(content: bytes, encoding: str) -> None:
    assert refusal_of(content, encoding) in (None, (400, f"invalid_{encoding}"))


@each("encoding", ["br", "gzip, gzip", "deflate, gzip", "compress", "x"])
def test_another_encoding_is_refused(push_client: PushClient, encoding: str) -> None:
    answer = push_client.send(BODY, content_encoding=encoding)

    assert problem(answer, 415) == "unsupported_encoding"
    assert answer.headers["Accept-Encoding"] == "gzip, deflate, zstd, identity"


@each("encoding", ["", "identity", "Identity"])
def test_identity_is_no_encoding(push_client: PushClient, encoding: str) -> None:
    assert reasons(push_client.send(BODY, content_encoding=encoding), submitted=1) == {}


def test_a_chunked_body_is_read_to_its_end_and_no_further_than_the_limit(push_client: PushClient) -> None:
    def send(body: bytes) -> Any:
        request = RequestFactory().post(PATH, headers={"authorization": f"Bearer {push_client.key}"})
        request.META.update(
            {"CONTENT_LENGTH": "", "wsgi.input": BytesIO(body), "wsgi.input_terminated": True}
        )
        return push(request)

    assert send(BODY).status_code == 200
    with override_settings(USAGE_MAX_BODY_BYTES=100):
        assert send(b" " * 101).status_code == 413


def test_a_chunked_gzip_body_is_read_no_further_than_its_limit_before_inflating(
    push_client: PushClient,
) -> None:
    class CountingBody(BytesIO):
        byte_count = 0

        def read(self, size: int | None = -1) -> bytes:
            part = super().read(size)
            self.byte_count += len(part)
            return part

    packed = CountingBody(gzip.compress(random.Random(1).randbytes(3_000)) * 50)
    request = RequestFactory().post(
        PATH, headers={"authorization": f"Bearer {push_client.key}", "content-encoding": "gzip"}
    )
    request.META.update({"CONTENT_LENGTH": "", "wsgi.input": packed, "wsgi.input_terminated": True})
    with override_settings(USAGE_MAX_BODY_BYTES=1_000):
        answer = push(request)

    assert answer.status_code == 413
    assert json.loads(answer.content)["error"]["code"] == "body_too_large"
    assert packed.byte_count == 1_001


def test_a_body_that_breaks_off_is_refused_and_nothing_is_stored(push_client: PushClient) -> None:
    class BrokenBody(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("the client went away")

    headers = {"authorization": f"Bearer {push_client.key}"}
    request = RequestFactory().post(PATH, BODY, content_type="text/plain", headers=headers)
    request._stream = BrokenBody()

    assert push(request).status_code == 400
    assert inbox() == []


# Answers to our own faults


def test_when_storage_fails_the_answer_says_send_again_and_nothing_is_stored(
    push_client: PushClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    def fail(**_: Any) -> None:
        raise OperationalError("connection refused: secret detail")

    monkeypatch.setattr("ingestion.views.push.accept_events", fail)

    answer = push_client.push(event())

    assert problem(answer, 503) == "unavailable"
    assert answer.headers["Retry-After"] == "5"
    assert "secret" not in answer.content.decode()


def test_a_fault_of_ours_is_json_with_an_incident_and_no_detail(
    push_client: PushClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: bytes) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("ingestion.parsers.check_batch", fail)

    answer = push_client.push(event())

    assert problem(answer, 500) == "internal_error"
    assert "incident" in answer.json()["error"]["message"]
    assert "secret" not in answer.content.decode()
