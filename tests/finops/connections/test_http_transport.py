"""Vendors' APIs over HTTP: what is sent again, what is bounded, and what errors say."""

from __future__ import annotations

import gzip
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from pathlib import Path

import msgspec
import pytest
from pytest_django import Settings

from finops.connections.connector import Fetch, SourceError, SourceUnavailable, SyncCancellation
from finops.connections.transports import http
from finops.connections.transports.http import CredentialRefusal, HttpApi, PermissionRefusal, RequestRefusal
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.outbound import UrlRefusal
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply

SECRET = "sk-ant-admin01-a-very-secret-key"


class Page(msgspec.Struct):
    value: Decimal
    next_page: str | None = None


def api_of(replay: ReplayServer, **changes: object) -> HttpApi:
    values: dict[str, object] = {
        "connector": "vendor_costs",
        "vendor": "Vendor",
        "base_url": replay.url,
        "headers": {"X-Api-Key": SECRET},
        "secrets": (SECRET,),
        "key_fix": "Make a new key.",
        "scope_fix": "The key needs the scope read:costs.",
        "attempts": http.MAX_ATTEMPTS,
    }
    return HttpApi(**{**values, **changes})  # type: ignore[arg-type]


def answer(replay: ReplayServer, *replies: Reply) -> None:
    """These one after another, the last one for ever."""
    replay.faults = list(replies[:-1])
    replay.routes["/v1/costs"] = lambda _request: replies[-1]


def get(replay: ReplayServer) -> Page:
    return api_of(replay).get("/v1/costs", [], Page)


def failure(replay: ReplayServer) -> SourceError:
    with pytest.raises(SourceError) as error:
        get(replay)
    assert SECRET not in str(error.value)
    assert replay.url not in str(error.value)
    return error.value


GOOD = Reply(body=b'{"value": 0.123456789012345678}')


def test_a_number_keeps_all_digits_that_the_vendor_wrote(replay: ReplayServer) -> None:
    answer(replay, GOOD)
    assert get(replay).value == Decimal("0.123456789012345678")


def test_the_credential_goes_in_a_header_and_never_into_the_address(replay: ReplayServer) -> None:
    answer(replay, GOOD)
    api_of(replay).get("/v1/costs", [("group_by[]", "model"), ("limit", 5)], Page)
    (request,) = replay.requests
    assert request.headers["x-api-key"] == SECRET
    assert request.params == {"group_by[]": ["model"], "limit": ["5"]}
    assert SECRET not in repr(api_of(replay))


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_a_vendor_that_is_busy_or_broken_is_retried(
    replay: ReplayServer, sleeps: list[float], status: int
) -> None:
    answer(replay, Reply(status), Reply(status), GOOD)
    assert get(replay).value
    assert len(replay.requests) == 3
    assert 1.5 <= sum(sleeps) <= 3


def test_retry_after_is_waited_for_in_seconds_or_until_a_date(
    replay: ReplayServer, sleeps: list[float]
) -> None:
    later = format_datetime(datetime(2026, 3, 20, 12, 0, 30, tzinfo=UTC), usegmt=True)
    answer(
        replay,
        Reply(429, headers={"Retry-After": "7"}),
        Reply(503, headers={"Retry-After": later}),
        GOOD,
    )
    with clock.frozen(datetime(2026, 3, 20, 12, 0, 0, tzinfo=UTC)):
        get(replay)
    assert 37 <= sum(sleeps) <= 37 * 1.1 + 0.01
    assert max(sleeps) <= 1.0


def test_a_vendor_that_wants_a_long_pause_gets_it_from_the_schedule(
    replay: ReplayServer, sleeps: list[float]
) -> None:
    answer(replay, Reply(429, headers={"Retry-After": "3600"}))
    error = failure(replay)
    assert isinstance(error, SourceUnavailable)
    assert error.retry_after == 3600
    assert error.message == "Vendor is rate limiting requests. The next sync tries again."
    assert (len(replay.requests), sleeps) == (1, [])


def test_a_delivery_ends_after_six_failed_attempts(replay: ReplayServer, sleeps: list[float]) -> None:
    answer(replay, Reply(500))
    error = failure(replay)
    assert isinstance(error, SourceUnavailable)
    assert error.message == "Vendor has an internal error (HTTP 500). The next sync tries again."
    assert len(replay.requests) == 6


def test_a_fetch_is_patient_a_listing_less_and_a_check_not_at_all(
    replay: ReplayServer, sleeps: list[float], tmp_path: Path
) -> None:
    answer(replay, Reply(500))
    listing = api_of(replay, attempts=http.LISTING_ATTEMPTS)
    counts = []
    for api in (listing.for_fetch(Fetch(tmp_path)), listing, listing.for_check()):
        replay.requests.clear()
        with pytest.raises(SourceUnavailable):
            api.get("/v1/costs", [], Page)
        counts.append(len(replay.requests))
    assert counts == [6, 3, 1]


@pytest.mark.parametrize("half", [0.0, 0.5])
def test_half_an_answer_is_requested_again(replay: ReplayServer, sleeps: list[float], half: float) -> None:
    answer(replay, Reply(body=GOOD.body, cut=half), Reply(body=GOOD.body[:9]), GOOD)
    assert get(replay).value
    assert len(replay.requests) == 3


def test_half_a_compressed_answer_is_requested_again(replay: ReplayServer, sleeps: list[float]) -> None:
    squeezed = GOOD.compressed()
    answer(replay, Reply(200, squeezed.body[:-6], squeezed.headers), squeezed)
    assert get(replay).value
    assert len(replay.requests) == 2


def test_a_canceled_sync_does_not_wait_to_the_end(replay: ReplayServer, sleeps: list[float]) -> None:
    def progress(_bytes: int) -> None:
        raise SyncCancellation

    answer(replay, Reply(429, headers={"Retry-After": "60"}))
    with pytest.raises(SyncCancellation):
        api_of(replay, progress=progress).get("/v1/costs", [], Page)
    assert sleeps == []


def test_a_wrong_key_says_how_to_make_a_new_one(replay: ReplayServer) -> None:
    answer(replay, Reply.of_json({"error": {"message": f"invalid x-api-key {SECRET}"}}, 401))
    error = failure(replay)
    assert type(error) is CredentialRefusal
    assert error.message == (
        "The credential is not accepted: it may be mistyped, revoked or expired. Make a new key."
    )
    assert len(replay.requests) == 1


def test_an_expired_key_says_so(replay: ReplayServer) -> None:
    answer(replay, Reply.of_json({"error": {"message": "This API key has expired."}}, 401))
    assert failure(replay).message == "The credential has expired. Make a new key."


def test_a_missing_permission_is_named_with_what_the_vendor_says(replay: ReplayServer) -> None:
    answer(replay, Reply.of_json({"error": {"message": f"Missing scopes: read:costs ({SECRET})"}}, 403))
    error = failure(replay)
    assert isinstance(error, PermissionRefusal)
    assert error.message == (
        "The credential lacks a permission. The key needs the scope read:costs. Vendor: Missing scopes: read:costs (…)."
    )


@pytest.mark.parametrize(("minutes", "side"), [(-12, "ahead of"), (12, "behind")])
def test_a_clock_that_is_wrong_is_named_next_to_the_error(
    replay: ReplayServer, minutes: int, side: str
) -> None:
    date = format_datetime(clock.now() + timedelta(minutes=minutes), usegmt=True)
    answer(replay, Reply(401, headers={"Date": date}))
    assert f"This server's clock is 12 minutes {side} Vendor's: set it right." in failure(replay).message


def test_a_refused_request_shows_the_vendors_reason(replay: ReplayServer) -> None:
    answer(replay, Reply.of_json({"error": {"message": "group_by pair\n is not supported"}}, 400))
    error = failure(replay)
    assert isinstance(error, RequestRefusal)
    assert error.status == 400
    assert error.message == (
        "Vendor rejected the request (HTTP 400). Vendor: group_by pair is not supported."
    )


def test_redirects_are_not_followed(replay: ReplayServer) -> None:
    answer(replay, Reply(302, headers={"Location": "http://169.254.169.254/latest/meta-data"}))
    assert failure(replay).message == "Vendor redirects. Redirects are not followed."
    assert len(replay.requests) == 1


def test_an_answer_of_another_form_names_the_place_and_no_value(replay: ReplayServer) -> None:
    answer(replay, Reply.of_json({"value": "many"}))
    assert failure(replay).message == (
        "Vendor returned an unexpected format: Invalid decimal string - at `$.value`. This console may need an "
        "update."
    )


@pytest.mark.parametrize("squeezed", [False, True])
def test_a_huge_page_is_not_read_to_its_end(
    replay: ReplayServer, monkeypatch: pytest.MonkeyPatch, squeezed: bool
) -> None:
    monkeypatch.setattr(http, "MAX_PAGE_BYTES", 1024**2)
    huge = Reply(body=b" " * 64 * 1024**2)
    answer(replay, huge.compressed() if squeezed else huge)
    assert failure(replay).message == "Vendor answered with more than 1 MB at once, the limit."
    assert len(replay.requests) == 1


def test_a_private_address_is_refused_before_anything_is_sent(
    replay: ReplayServer, settings: Settings
) -> None:
    settings.ALERT_ALLOWED_NETWORKS = []
    answer(replay, GOOD)
    with pytest.raises(UrlRefusal):
        get(replay)
    assert replay.requests == []


def test_the_operator_may_set_another_base_url_for_a_connector(
    replay: ReplayServer, settings: Settings
) -> None:
    settings.CONNECTOR_BASE_URLS = {"vendor_costs": f"{replay.url}/proxy/"}
    replay.routes["/proxy/v1/costs"] = lambda _request: GOOD
    assert api_of(replay, base_url="https://vendor.example").get("/v1/costs", [], Page).value


def all_pages(replay: ReplayServer, token_after: dict[str, str]) -> list[Page]:
    def route(request: ReplayRequest) -> Reply:
        return Reply.of_json({"value": "1", "next_page": token_after.get(request.param("page"))})

    replay.routes["/v1/costs"] = route
    api = api_of(replay)
    pages = api.pages(
        lambda token: api.get("/v1/costs", [("page", token)], Page), lambda page: page.next_page or ""
    )
    return list(pages)


def test_pages_are_read_to_the_last_one(replay: ReplayServer) -> None:
    assert len(all_pages(replay, {"": "a", "a": "b", "b": "c" * 4_000})) == 4


def test_a_vendor_that_gives_a_page_twice_is_left(replay: ReplayServer) -> None:
    with pytest.raises(SourceError, match="returned the same page twice"):
        all_pages(replay, {"": "a", "a": "b", "b": "a"})
    assert len(replay.requests) == 3


def test_endless_paging_ends(replay: ReplayServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_PAGES", 5)
    with pytest.raises(SourceError, match="more than 5 pages"):
        all_pages(replay, {"": "0", **{str(number): str(number + 1) for number in range(20)}})


def test_a_file_is_streamed_to_the_disk_and_again_when_it_broke_off(
    replay: ReplayServer, sleeps: list[float], tmp_path: Path
) -> None:
    text = b"BilledCost\n" + b"1.25\n" * 200_000
    answer(replay, Reply(body=text, cut=0.7), Reply(body=text).compressed())
    counted: list[int] = []
    size = api_of(replay, progress=counted.append).download(tmp_path / "focus.csv", path="/v1/costs")
    assert (tmp_path / "focus.csv").read_bytes() == text
    assert size == len(text)
    assert sum(counted) >= len(gzip.compress(text))


def test_a_file_that_is_too_large_is_left(
    replay: ReplayServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(http, "MAX_FILE_BYTES", 1024**2)
    answer(replay, Reply(body=b"1\n" * 8 * 1024**2).compressed())
    with pytest.raises(SourceError, match=re.escape("more than 1 MB at once")):
        api_of(replay).download(tmp_path / "focus.csv", path="/v1/costs")
    assert (tmp_path / "focus.csv").stat().st_size <= 1024**2


def test_an_address_that_the_vendor_gave_gets_no_credential(replay: ReplayServer, tmp_path: Path) -> None:
    answer(replay, GOOD)
    api_of(replay).download(tmp_path / "focus.csv", url=f"{replay.url}/v1/costs?X-Signature={'a' * 4_000}")
    assert len(replay.requests[0].param("X-Signature")) == 4_000
    assert "x-api-key" not in replay.requests[0].headers


def test_an_address_inside_the_network_that_the_vendor_gave_is_refused(
    replay: ReplayServer, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as error:
        api_of(replay).download(tmp_path / "focus.csv", url="https://169.254.169.254/latest?X-Signature=abc")
    assert "X-Signature" not in str(error.value)
