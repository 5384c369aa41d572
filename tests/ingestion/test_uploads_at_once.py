"""Uploads at the same moment, and files of any bytes."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from hypothesis import example, given
from hypothesis import strategies as st

from accounts.scoping import account_scope
from finops.lib import clock
from finops.lib.errors import UserError
from ingestion import services
from ingestion.csvfile import COLUMNS, check_header, check_lines, chunks
from ingestion.models import UsageBatch, UsageUpload
from ingestion.parsing import check_batch
from ingestion.queries import metered_events
from tests.cast import Cast
from tests.ingestion.push_client import MOMENT, create_push_client, event, inbox

CONTENT = "customer_id,metric,quantity,timestamp,event_id\n" + "".join(
    f"cust-{number % 50},requests,{number},{MOMENT},e-{number}\n" for number in range(3_000)
)


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What each gives, or the UserError that it raises, all begun at one moment."""
    results: list[Any] = [None] * len(calls)
    start = threading.Barrier(len(calls))

    def run(place: int, call: Callable[[], Any]) -> None:
        start.wait()
        try:
            results[place] = call()
        except UserError as error:
            results[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=each) for each in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.django_db(transaction=True)
def test_one_of_two_equal_concurrent_files_is_accepted_and_one_refused(cast: Cast) -> None:
    push_client = create_push_client(cast)

    def send() -> UsageUpload:
        file = SimpleUploadedFile("events.csv", CONTENT.encode())
        return services.queue_upload(source=push_client.source, upload=file, actor=cast.actor)

    results = at_once(send, send, send, send)

    assert sum(isinstance(each, UsageUpload) for each in results) == 1
    assert sum(isinstance(each, UserError) and "already" in each.message for each in results) == 3
    services.run_upload(UsageUpload.objects.unscoped().get().pk)
    assert len(inbox()) == 3_000


@pytest.mark.django_db(transaction=True)
def test_two_concurrent_workers_store_an_upload_once_beside_pushes_of_its_ids(cast: Cast) -> None:
    push_client = create_push_client(cast)
    file = SimpleUploadedFile("events.csv", CONTENT.encode())
    job = services.queue_upload(source=push_client.source, upload=file, actor=cast.actor)
    same = [
        event(customer_id=f"cust-{n % 50}", quantity=n, event_id=f"e-{n}")
        for n in reversed(range(500, 1_500))
    ]

    def push() -> int:
        return int(push_client.push(*same).headers["Usage-Duplicates"])

    first, second, duplicates, more = at_once(
        lambda: services.run_upload(job.pk), lambda: services.run_upload(job.pk), push, push
    )

    assert sorted([first, second]) in ([False, True], [True, True])
    done = UsageUpload.objects.unscoped().get(pk=job.pk)
    assert (done.status, done.rows, done.accepted) == ("done", 3_000, 3_000)
    assert done.duplicates + duplicates + more == 2_000
    assert len(inbox()) == metered_events(cast.account, clock.today()) == 3_000


@pytest.mark.django_db(transaction=True)
def test_a_batch_voided_twice_at_once_is_voided_once(cast: Cast) -> None:
    push_client = create_push_client(cast)
    batch = UsageBatch.objects.unscoped().get(pk=push_client.push(event(), event()).headers["Usage-Batch-Id"])
    push_client.push(event())

    at_once(*[lambda: services.void_usage_batch(batch=batch, actor=cast.actor)] * 3)

    with account_scope(cast.account):
        assert UsageBatch.objects.exclude(voided_at=None).count() == 1
    assert len(inbox()) == metered_events(cast.account, clock.today()) == 1


HEADER = b"customer_id,metric,quantity,timestamp,dimensions,dim:a\n"
CELLS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "1",
            "-2.5e3",
            "1\uff12",
            "1.\u0663",
            "NaN",
            "1" * 400,
            '"',
            "{}",
            '{"k": 1}',
            "[" * 2_000,
            "\0",
            MOMENT,
            "\ud83d",
        ]
    ),
)
ROWS = st.lists(st.lists(CELLS, min_size=5, max_size=7), max_size=20)


def csv_of(rows: list[list[str]]) -> bytes:
    lines = [",".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row) for row in rows]
    return HEADER + "\n".join(lines).encode("utf-8", "surrogatepass")


@given(rows=ROWS)
@example(rows=[["c", "requests", "1\uff12", MOMENT, "", ""]])
@example(rows=[["c", "requests", "1.\u0663", MOMENT, "", ""]])
def test_any_cells_end_as_events_or_as_refused_lines(rows: list[list[str]]) -> None:
    content = csv_of(rows)

    file_chunks = list(chunks(io.BytesIO(content)))

    for chunk in file_chunks:
        batch = check_batch(chunk.body)
        assert batch.event_count + len(chunk.rejections) == chunk.rows
        assert chunk.lines == sorted(set(chunk.lines))
    assert sum(chunk.rows for chunk in file_chunks) == sum(any(row) for row in rows)


@given(content=st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(lambda rest: HEADER + rest)))
@example(content=HEADER + b'"')
@example(content=HEADER + b"a\rb")
@example(content=b"\xef\xbb\xbf")
@example(content=",".join(COLUMNS).encode())
def test_any_bytes_are_read_or_refused_with_a_sentence(content: bytes) -> None:
    message = ""
    try:
        check_header(io.BytesIO(content))
        check_lines(io.BytesIO(content))
        for chunk in chunks(io.BytesIO(content)):
            check_batch(chunk.body)
    except UserError as error:
        message = error.message
    assert message == "" or message.endswith(".")
    message.encode()  # it can be shown
