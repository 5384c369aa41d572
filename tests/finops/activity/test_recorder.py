"""The writer apart: nothing of it may fail or slow a call, and little may be lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.db import DataError, InterfaceError, OperationalError, connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.scoping import account_scope
from finops.activity import recorder as recorder_module
from finops.activity.buckets import bucket_of, middle, percentile
from finops.activity.calls import CallRecord, store
from finops.activity.models import AssistantCall, AssistantCallCount, CallOutcome
from finops.activity.recorder import BATCH, MAX_PENDING, Recorder
from finops.activity.recorder import recorder as process_recorder
from tests.cast import Cast
from tests.finops.activity.call_helpers import call_of, credential_of, stored_calls
from tests.mcpserver.mcp_client import McpClient, mint, toy_server
from tests.mcpserver.toys import make_toys
from tests.waiting import wait_until


class CallStore:
    """A store in memory that can be away, and refuses what is called `bad`."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.statements = 0
        self.away: type[Exception] | None = None

    def __call__(self, calls: Sequence[CallRecord]) -> None:
        self.statements += 1
        if self.away is not None:
            raise self.away("away")
        if any(call.name == "bad" for call in calls):
            raise DataError("bad")
        self.names += [call.name for call in calls]


@pytest.fixture
def call_store() -> CallStore:
    return CallStore()


@pytest.fixture
def manual_recorder(call_store: CallStore) -> Recorder[CallRecord]:
    """A recorder that writes when it is told to."""
    return Recorder(call_store, lambda: 0.0)


@pytest.fixture
def recorder_thread(call_store: CallStore, db: None) -> Iterator[Recorder[CallRecord]]:
    """One with its thread, which gathers for a hundredth of a second."""
    recorder = Recorder(call_store, lambda: 0.01)
    yield recorder
    recorder.end()


def recorded_call(name: str, account: Account | None = None) -> CallRecord:
    return call_of(credential_of(account or Account(pk=1)), name)


def test_notes_of_a_moment_are_one_statement(
    manual_recorder: Recorder[CallRecord], call_store: CallStore
) -> None:
    for number in range(30):
        manual_recorder.note(recorded_call(f"n{number}"))

    assert manual_recorder.flush()
    assert call_store.names == [f"n{number}" for number in range(30)]
    assert call_store.statements == 1


def test_many_notes_are_written_in_batches(
    manual_recorder: Recorder[CallRecord], call_store: CallStore
) -> None:
    for _ in range(BATCH + 1):
        manual_recorder.note(recorded_call("n"))

    manual_recorder.flush()

    assert (len(call_store.names), call_store.statements) == (BATCH + 1, 2)


@pytest.mark.parametrize("error_type", [OperationalError, InterfaceError])
def test_notes_wait_while_the_database_is_away(
    manual_recorder: Recorder[CallRecord], call_store: CallStore, error_type: type[Exception]
) -> None:
    manual_recorder.note(recorded_call("first"))
    call_store.away = error_type

    assert not manual_recorder.flush()
    manual_recorder.note(recorded_call("second"))
    call_store.away = None

    assert manual_recorder.flush()
    assert call_store.names == ["first", "second"]


def test_no_more_than_a_bound_waits_and_the_log_says_how_many_were_lost(
    manual_recorder: Recorder[CallRecord], call_store: CallStore, caplog: pytest.LogCaptureFixture
) -> None:
    call = recorded_call("n")
    for _ in range(MAX_PENDING + 7):
        manual_recorder.note(call)

    manual_recorder.flush()

    assert len(call_store.names) == MAX_PENDING
    assert "7 calls of assistants were not recorded" in caplog.text


def test_a_note_that_the_database_refuses_is_dropped_alone(
    manual_recorder: Recorder[CallRecord], call_store: CallStore, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a", "bad", "b"):
        manual_recorder.note(recorded_call(name))

    assert manual_recorder.flush()

    assert call_store.names == ["a", "b"]
    assert "a call of bad could not be recorded" in caplog.text


def test_the_thread_writes_by_itself_and_again_after_it_was_idle(
    recorder_thread: Recorder[CallRecord], call_store: CallStore
) -> None:
    recorder_thread.note(recorded_call("first"))
    wait_until(lambda: call_store.names == ["first"])
    recorder_thread.note(recorded_call("second"))

    wait_until(lambda: call_store.names == ["first", "second"])


def test_the_thread_continues_once_the_database_is_back(
    recorder_thread: Recorder[CallRecord], call_store: CallStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "SECONDS_AWAY", 0.01)
    call_store.away = OperationalError
    recorder_thread.note(recorded_call("n"))
    wait_until(lambda: call_store.statements > 1)

    call_store.away = None

    wait_until(lambda: call_store.names == ["n"])


def test_the_end_of_the_process_writes_the_rest(call_store: CallStore, db: None) -> None:
    recorder = Recorder(call_store, lambda: 3_600.0)
    recorder.note(recorded_call("n"))

    recorder.end()

    assert call_store.names == ["n"]


def test_notes_of_many_threads_are_all_written_once(
    recorder_thread: Recorder[CallRecord], call_store: CallStore
) -> None:
    def note(thread: int) -> None:
        for number in range(200):
            recorder_thread.note(recorded_call(f"{thread}.{number}"))

    threads = [threading.Thread(target=note, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    wait_until(lambda: len(call_store.names) >= 1_600)
    assert sorted(call_store.names) == sorted(
        f"{thread}.{number}" for thread in range(8) for number in range(200)
    )


def test_a_call_runs_no_statement_for_its_record(cast: Cast) -> None:
    toys = McpClient(mint(cast), toy_server(make_toys()))
    toys.call("echo")

    with CaptureQueriesContext(connection) as captured:
        toys.call("echo")

    assert not [query["sql"] for query in captured if "activity_" in query["sql"]]
    with CaptureQueriesContext(connection) as captured:
        process_recorder.flush()
    assert len(captured) == 1


def test_a_call_is_answered_while_nothing_can_be_recorded(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(calls: Sequence[CallRecord]) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(process_recorder, "_store", fail)
    toys = McpClient(mint(cast), toy_server(make_toys()))
    for _ in range(3):
        assert not toys.call("echo")["isError"]
        assert not process_recorder.flush()


def test_the_record_of_a_tool_that_was_rolled_back_stays(cast: Cast) -> None:
    """A read tool runs read only, and one that fails is undone; its record is neither's."""
    toys = McpClient(mint(cast), toy_server(make_toys()))
    toys.problem("sly")

    assert [call.outcome for call in stored_calls(cast.account)] == [CallOutcome.INCIDENT]


# The statement


def count_rows(cast: Cast) -> list[tuple[Any, ...]]:
    with account_scope(cast.account):
        return list(
            AssistantCallCount.objects.order_by("name", "bucket").values_list("name", "calls", "answer_bytes")
        )


def test_storing_counts_by_day_tool_and_duration(cast: Cast) -> None:
    key = credential_of(cast.account)
    store(
        [
            call_of(key, "a", milliseconds=10.0, answer_bytes=5),
            call_of(key, "a", milliseconds=10.1, answer_bytes=6),
        ]
    )
    store(
        [
            call_of(key, "a", milliseconds=10.0, answer_bytes=7),
            call_of(key, "a", milliseconds=99.0, answer_bytes=8),
        ]
    )
    store(
        [call_of(key, "b", milliseconds=10.0, answer_bytes=2**31 - 1), call_of(key, "b", milliseconds=10.0)]
    )

    assert count_rows(cast) == [("a", 3, 18), ("a", 1, 8), ("b", 2, 2**31 + 1_999)]


def test_the_day_is_that_of_utc_whatever_the_database_thinks(cast: Cast) -> None:
    from datetime import UTC, date, datetime

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL TIME ZONE 'Asia/Tokyo'")
    store([call_of(credential_of(cast.account), at=datetime(2026, 11, 20, 23, 59, 59, tzinfo=UTC))])

    with account_scope(cast.account):
        assert AssistantCallCount.objects.get().day == date(2026, 11, 20)


def test_calls_of_an_account_that_is_gone_are_left_out(cast: Cast) -> None:
    deleted_account = Account(pk=cast.account.pk + 10_000)
    store([call_of(credential_of(deleted_account)), call_of(credential_of(cast.account))])

    assert AssistantCall.objects.unscoped().count() == 1


@pytest.mark.parametrize("text", ["\0", "\ud800", "a\0b", "é\n\t", "'; DROP TABLE x --", "%s {} \\"])
def test_any_text_can_be_stored(cast: Cast, text: str) -> None:
    arguments = {"a": text.encode(errors="replace").decode()}
    store([call_of(credential_of(cast.account), text, arguments, problem=text, console_page=text)])

    assert len(stored_calls(cast.account)) == 1


# Durations


@pytest.mark.parametrize("milliseconds", [0.05, 0.3, 1.0, 7.7, 20.0, 333.0, 19_999.0])
def test_the_middle_of_a_size_class_is_within_a_tenth(milliseconds: float) -> None:
    assert middle(bucket_of(milliseconds)) == pytest.approx(milliseconds, rel=0.1)


@pytest.mark.parametrize("milliseconds", [-1.0, 0.0, 1e-9, 1e12])
def test_any_duration_has_a_size_class(milliseconds: float) -> None:
    assert -32_768 < bucket_of(milliseconds) < 32_767


def test_percentiles_are_those_of_the_durations_within_a_tenth() -> None:
    durations = [1.07**n for n in range(1, 101)]
    counts: dict[int, int] = {}
    for each in durations:
        counts[bucket_of(each)] = counts.get(bucket_of(each), 0) + 1

    for share in (0.01, 0.5, 0.95, 1.0):
        exact = durations[round(share * 100) - 1]
        assert percentile(counts, share) == pytest.approx(exact, rel=0.1)
    assert percentile({}, 0.5) is None
