"""Pages in gzip through the served program, and not for another site, which could guess by lengths (BREACH)."""

from __future__ import annotations

import gzip
import http.client
import re
from urllib.parse import urlsplit

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory

from accounts.models import Account
from finops.web.compression import CompressionMiddleware
from tests.servers import LiveServer

LOGIN = "/auth/login/"


def ask(server: LiveServer, path: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    """Bytes as they come over the wire."""
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    try:
        connection.request(
            "GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def test_a_page_is_sent_in_gzip_to_who_accepts_it(live_server_process: LiveServer) -> None:
    whole, text = ask(live_server_process, LOGIN)
    small, body = ask(live_server_process, LOGIN, Accept_Encoding="gzip, deflate, br")

    assert whole.headers["Content-Encoding"] is None
    assert small.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in small.headers["Vary"]
    assert int(small.headers["Content-Length"]) == len(body)
    assert b"</html>" in gzip.decompress(body)
    assert len(body) * 2 < len(text)


@pytest.mark.parametrize(
    ("site", "encoding"),
    [("same-origin", "gzip"), ("none", "gzip"), ("cross-site", None), ("same-site", None)],
)
def test_a_request_of_another_site_gets_nothing_compressed(
    live_server_process: LiveServer, site: str, encoding: str | None
) -> None:
    answer, _body = ask(live_server_process, LOGIN, Accept_Encoding="gzip", Sec_Fetch_Site=site)

    assert answer.headers["Content-Encoding"] == encoding


def test_lengths_and_csrf_tokens_differ_from_answer_to_answer(live_server_process: LiveServer) -> None:
    bodies = [ask(live_server_process, LOGIN, Accept_Encoding="gzip")[1] for _ in range(8)]
    tokens = [
        re.findall(r'name="csrfmiddlewaretoken"\s+value="(\w+)"', gzip.decompress(body).decode())[0]
        for body in bodies
    ]

    assert len({len(body) for body in bodies}) > 1
    assert len(set(tokens)) == len(tokens)


@pytest.mark.django_db
def test_a_csv_that_is_streamed_is_the_same_in_gzip(acme: Account, member: Client) -> None:
    path = "/a/acme/settings/members/?format=csv"
    plain, small = member.get(path), member.get(path, headers={"Accept-Encoding": "gzip"})

    assert small["Content-Encoding"] == "gzip"
    assert gzip.decompress(small.getvalue()) == plain.getvalue()


def test_files_that_are_no_text_stay_as_they_are() -> None:
    request = RequestFactory().get("/", headers={"Accept-Encoding": "gzip"})
    parquet = HttpResponse(b"0" * 5000, content_type="application/vnd.apache.parquet")
    pieces = StreamingHttpResponse(iter([b"0" * 5000]), content_type="application/zip")

    compression = CompressionMiddleware(lambda _request: HttpResponse())

    for answer in (parquet, pieces):
        assert compression.process_response(request, answer).headers.get("Content-Encoding") is None
