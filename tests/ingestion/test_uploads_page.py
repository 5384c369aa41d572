"""Backfill by CSV: the rules of a push, each event once whatever happens, a report by line."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.lake.flush import flush_usage
from finops.lib import clock
from finops.lib.errors import UserError
from ingestion import services
from ingestion.csvfile import COLUMNS, pieces
from ingestion.models import Customer, UsageBatch, UsageUpload
from ingestion.queries import metered
from ingestion.services import upload_files
from ingestion.services.ledger import roll_up
from ingestion.services.pieces import store_piece
from ingestion.services.uploads import MAX_ATTEMPTS
from ingestion.tasks import run_due_uploads, run_upload
from tests.cast import Cast, signed_in
from tests.finops.lake.killing import database_url
from tests.ingestion.pushing import MOMENT, Door, event, inbox, open_door, reasons
from tests.ingestion.upload_killing import STEPS

HEADER = "customer_id,metric,quantity,timestamp"


def csv(*lines: str, header: str = HEADER) -> bytes:
    return "\n".join([header, *lines, ""]).encode()


def line(number: int = 1, quantity: str = "1") -> str:
    return f"cust-{number},requests,{quantity},{MOMENT}"


def send(door: Door, content: bytes, cast: Cast, name: str = "events.csv") -> UsageUpload:
    file = SimpleUploadedFile(name, content)
    return services.queue_upload(source=door.source, upload=file, actor=cast.actor)


def taken(door: Door, content: bytes, cast: Cast, name: str = "events.csv") -> UsageUpload:
    job = send(door, content, cast, name)
    services.run_upload(job.pk)
    return UsageUpload.objects.unscoped().get(pk=job.pk)


def refused(job: UsageUpload) -> dict[int, str]:
    with account_scope(job.account):
        return dict(job.rejected_lines.values_list("line", "error"))


def page_of(door: Door) -> str:
    return f"/a/{door.source.account.slug}/connections/usage/{door.source.pk}/"


def text_of(answer: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def test_a_file_is_uploaded_stored_and_reported(cast: Cast) -> None:
    door, client = open_door(cast), signed_in(cast.member)
    header = f"{HEADER},customer_name,unit,dim:region,dimensions,event_id"
    content = csv(
        f'cust-1,requests,12.5,{MOMENT},Globex,calls,eu,"{{""plan"": ""pro""}}",e-1',
        f"cust-2,requests,five,{MOMENT},,,,,",
        f"cust-3,requests,-2.30000000000000004,{MOMENT},,,,,",
        header=header,
    )

    answer = client.post(f"{page_of(door)}upload/", {"upload": SimpleUploadedFile("past.csv", content)})
    run_due_uploads()
    report = text_of(client.get(answer.headers["Location"]))

    assert "2 events stored" in report
    assert "quantity must be a number" in report
    assert "Quantities rounded to 12 places 1" in report
    assert refused(UsageUpload.objects.unscoped().get()) == {3: "quantity must be a number"}
    found = {row.customer_id: row for row in inbox()}
    assert found["cust-1"].quantity == Decimal("12.5")
    assert found["cust-1"].unit == "calls"
    assert found["cust-1"].dimensions == {"plan": "pro", "region": "eu"}
    assert found["cust-3"].dimensions is None
    with account_scope(cast.account):
        assert Customer.objects.get(customer_id="cust-1").name == "Globex"
    assert metered(cast.account, clock.today()) == 2
    page = text_of(client.get(page_of(door)))
    assert "past.csv" in page
    assert "Upload" in page


SAME_RULES = {
    "no customer": {"customer_id": ""},
    "long customer": {"customer_id": "c" * 256},
    "long metric": {"metric": "m" * 101},
    "no metric": {"metric": ""},
    "no quantity": {"quantity": ""},
    "text": {"quantity": "many"},
    "rounded": {"quantity": "0.1234567890123"},
    "blank metric": {"metric": " "},
    "too large": {"quantity": "1e20"},
    "exponent": {"quantity": "1.5E+3"},
    "negative": {"quantity": "-3.25"},
    "exact": {"quantity": "99999999999999999999.999999999999"},
    "no date": {"timestamp": "yesterday"},
    "date alone": {"timestamp": "2026-11-19"},
    "long id": {"event_id": "i" * 256},
}


@pytest.mark.parametrize("fields", SAME_RULES.values(), ids=SAME_RULES.keys())
def test_a_line_has_the_rules_of_a_push(cast: Cast, fields: dict[str, str]) -> None:
    pushed, uploaded = open_door(cast, name="Pushed"), open_door(cast, name="Uploaded")
    whole = {"customer_id": "c", "metric": "m", "quantity": "1", "timestamp": MOMENT, **fields}
    digits = (
        whole["quantity"] if re.fullmatch(r"[-\d.eE+]+", whole["quantity"]) else json.dumps(whole["quantity"])
    )
    body = json.dumps({"events": [{**whole, "quantity": "@"}]}).replace('"@"', digits)

    job = taken(uploaded, csv(",".join(whole.values()), header=",".join(whole)), cast)
    with account_scope(cast.account):  # so that the id of the one is not a duplicate of the other
        services.void_usage_batch(batch=UsageBatch.objects.get(), actor=cast.actor)
    answer = pushed.send(body)
    by_push = reasons(answer, submitted=1)

    assert list(refused(job).values()) == list(by_push.values())
    assert job.accepted == 1 - len(by_push)
    assert job.rounded == int(answer["Usage-Rounded"])


def test_quantities_and_times_arrive_as_a_push_brings_them(cast: Cast) -> None:
    taken(
        open_door(cast),
        csv(line(1, "0.000000000001"), "c,m,1.5E+3,2026-11-19", "c,m,-0,20261119T010203+02:00"),
        cast,
    )

    assert [row.quantity for row in inbox()] == [Decimal("1E-12"), Decimal(1500), Decimal(0)]
    assert [row.event_time.isoformat() for row in inbox()][1:] == [
        "2026-11-19T00:00:00+00:00",
        "2026-11-18T23:02:03+00:00",
    ]


def test_lines_are_named_as_an_editor_counts_them(cast: Cast) -> None:
    content = csv(line(1), "", '"two\nlines",requests,1,never', line(3), "too,few", b"\xff".decode("latin1"))
    content = content.replace("ÿ".encode(), b"\xff,m,1,2026-01-01")

    job = taken(open_door(cast), content, cast)

    assert refused(job) == {
        4: "timestamp must be a parseable date",
        7: "the line has 2 cells, the header 4",
        8: "the line is not UTF-8",
    }
    assert (job.accepted, job.rejected, job.rows) == (2, 3, 5)
    assert [row.position for row in inbox()] == [2, 6]


WRONG_HEADERS = {
    "missing": (b"customer_id,metric,quantity\n1,2,3\n", "The header lacks timestamp"),
    "misspelt": (b"customer_id,metric,quantiy,timestamp\n", "Did you mean quantity?"),
    "nameless": (b"customer_id,metric,quantity,timestamp,\n", "Column 5 of the header has no name"),
    "twice": (b"metric,customer_id,metric,quantity,timestamp\n", "The column metric is there twice"),
    "empty": (b"\n", "no header line"),
    "utf-16": ("customer_id".encode("utf-16"), "CSV UTF-8"),
    "gzip": (b"\x1f\x8b\x08", "plain CSV"),
    "excel": (b"PK\x03\x04", "plain CSV"),
    "bytes": (bytes(range(128, 256)), "not UTF-8"),
}


@pytest.mark.parametrize(("content", "said"), WRONG_HEADERS.values(), ids=WRONG_HEADERS.keys())
def test_a_header_that_cannot_work_is_refused_at_once(cast: Cast, content: bytes, said: str) -> None:
    door, client = open_door(cast), signed_in(cast.member)
    before = set(upload_files.folder().iterdir())

    answer = client.post(f"{page_of(door)}upload/", {"upload": SimpleUploadedFile("past.csv", content)})

    assert answer.status_code == 422
    assert said in text_of(answer)
    assert not UsageUpload.objects.unscoped().exists()
    assert set(upload_files.folder().iterdir()) == before


def test_a_script_gets_the_same_refusal_as_json(cast: Cast) -> None:
    door, client = open_door(cast), signed_in(cast.member)

    answer = client.post(f"{page_of(door)}upload/", {}, headers={"accept": "application/json"})

    assert answer.status_code == 422
    assert answer.json() == {"errors": {"upload": ["Choose a CSV file."]}}


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("sign", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
def test_what_spreadsheets_write_is_read(cast: Cast, start: bytes, sign: str) -> None:
    content = csv(line(1), line(2)).decode().replace(",", sign).replace("\n", "\r\n").encode()

    job = taken(open_door(cast), start + content, cast)

    assert (job.status, job.accepted, job.rejected) == ("done", 2, 0)


@pytest.mark.parametrize("bad", [b'"never closed', b"x" * (2**20 + 1)], ids=["open quote", "no line end"])
def test_a_file_that_stops_being_csv_stores_nothing(cast: Cast, bad: bytes) -> None:
    content = csv(*[line(number) for number in range(1_500)]) + bad

    job = taken(open_door(cast), content, cast)

    assert job.status == "failed"
    assert "Line 1502" in job.error
    assert inbox() == []


def test_the_same_file_is_refused_until_what_it_brought_is_voided(cast: Cast) -> None:
    one, two = open_door(cast, name="One"), open_door(cast, name="Two")
    content = csv(line(1), line(2))
    job = taken(one, content, cast)

    for door in (one, two):
        with pytest.raises(UserError, match="was uploaded already"):
            send(door, content, cast, "other-name.csv")
    with account_scope(cast.account):
        batch = UsageBatch.objects.get(pk=job.batch)
    services.void_usage_batch(batch=batch, actor=cast.actor)
    assert inbox() == []
    again = taken(two, content, cast)

    assert (again.status, again.accepted) == ("done", 2)
    assert len(inbox()) == 2
    assert metered(cast.account, clock.today()) == 2
    assert UsageUpload.objects.unscoped().get(pk=job.pk).status == "voided"


def test_a_file_of_which_nothing_was_stored_is_taken_again(cast: Cast) -> None:
    door = open_door(cast)
    pushed = door.push(event(event_id="a", quantity=5))
    content = csv(f"cust-1,requests,6,{MOMENT},a", header=f"{HEADER},event_id")
    refused_at_first = taken(door, content, cast)
    with account_scope(cast.account):
        batch = UsageBatch.objects.get(pk=pushed.headers["Usage-Batch-Id"])
    services.void_usage_batch(batch=batch, actor=cast.actor)

    again = taken(door, content, cast)

    assert (refused_at_first.status, refused_at_first.stored) == ("done", 0)
    assert (again.status, again.stored) == ("done", 1)
    assert [str(row.quantity.normalize()) for row in inbox()] == ["6"]
    assert "Taken again" in text_of(signed_in(cast.viewer).get(page_of(door)))
    with pytest.raises(UserError, match="was uploaded already"):
        send(door, content, cast)


def test_a_file_that_failed_in_one_source_before_anything_was_stored_may_go_to_another(cast: Cast) -> None:
    one, two = open_door(cast, name="One"), open_door(cast, name="Two")
    failed = taken(one, csv(line(1), '"never closed'), cast)

    again = taken(two, csv(line(1), '"never closed'), cast)

    assert (failed.status, again.status, again.source_id) == ("failed", "failed", two.source.pk)
    assert "Line 3" in again.error


def test_what_has_left_the_ledger_is_not_said_to_be_voidable(cast: Cast) -> None:
    door, content = open_door(cast), csv(line(1))
    taken(door, content, cast)
    with clock.frozen(clock.now() + timedelta(days=36)):
        roll_up()

    with pytest.raises(UserError, match="no longer be voided: send corrections"):
        send(door, content, cast)


def test_a_file_of_a_source_that_is_deleted_may_come_again_with_its_event_ids(cast: Cast) -> None:
    ids = [f"{line(number)},id-{number}" for number in range(1_200)]
    content = csv(*ids, header=f"{HEADER},event_id")
    door = open_door(cast)
    taken(door, content, cast)

    services.delete_usage_source(source=door.source, actor=cast.actor)
    again = taken(open_door(cast), content, cast)

    assert (again.stored, again.duplicates) == (1_200, 0)
    assert len(inbox()) == 1_200


def test_another_account_may_upload_the_same_file(cast: Cast) -> None:
    content = csv(line(1))
    taken(open_door(cast), content, cast)

    job = taken(open_door(cast, cast.other_account), content, cast)

    assert (job.status, job.accepted) == ("done", 1)


def test_event_ids_of_a_file_are_those_of_a_push(cast: Cast) -> None:
    door = open_door(cast)
    door.push(event(event_id="a", quantity=5))
    lines = [f"cust-1,requests,5,{MOMENT},a", f"cust-1,requests,6,{MOMENT},a"]
    lines += [f"cust-1,requests,{number},{MOMENT},n-{number % 1_200}" for number in range(1_300)]

    job = taken(door, csv(*lines, header=f"{HEADER},event_id"), cast)

    said = {number: error for number, error in refused(job).items() if number < 10}
    assert said == {3: "event_id must not be that of an event with other content"}
    assert job.duplicates == 1
    assert job.rejected == 1 + 100  # the second thousand has 100 ids of the first, with other content
    assert len(inbox()) == 1 + 1_200
    with account_scope(cast.account):
        services.void_usage_batch(batch=UsageBatch.objects.get(pk=job.batch), actor=cast.actor)
    assert (
        door.push(event(event_id="n-1"), event(event_id="a", quantity=5)).headers["Usage-Duplicates"] == "1"
    )


def test_an_upload_is_one_batch_and_voided_as_one(cast: Cast) -> None:
    door, client = open_door(cast), signed_in(cast.member)
    job = taken(door, csv(*[line(number) for number in range(2_500)]), cast)
    flush_usage(cast.account)
    page = f"/a/acme/connections/usage/uploads/{job.pk}/"

    assert "Void what it brought" in text_of(client.get(page))
    client.post(f"{page_of(door)}batches/void/", {"batch": str(job.batch)})

    with account_scope(cast.account):
        (batch,) = UsageBatch.objects.all()
    assert (batch.origin, batch.accepted, batch.stored) == ("upload", 2_500, 0)
    assert metered(cast.account, clock.today()) == 0
    assert "Voided" in text_of(client.get(page))
    assert "Void what it brought" not in text_of(client.get(page))


def test_an_upload_that_runs_is_not_voided(cast: Cast) -> None:
    job = taken(open_door(cast), csv(line(1)), cast)
    UsageUpload.objects.unscoped().update(status="running")
    with account_scope(cast.account):
        batch = UsageBatch.objects.get(pk=job.batch)

    with pytest.raises(UserError, match="still running"):
        services.void_usage_batch(batch=batch, actor=cast.actor)


def test_a_viewer_sees_uploads_and_may_not_send_one(cast: Cast) -> None:
    door, client = open_door(cast), signed_in(cast.viewer)
    job = taken(door, csv(line(1), "x"), cast)

    page = client.get(page_of(door)).content.decode()

    assert "events.csv" in page
    assert 'type="file"' not in page
    answer = client.post(f"{page_of(door)}upload/", {"upload": SimpleUploadedFile("f.csv", csv(line(2)))})
    assert answer.status_code == 403
    assert client.get(f"/a/acme/connections/usage/uploads/{job.pk}/").status_code == 200
    assert signed_in(cast.stranger).get(f"/a/acme/connections/usage/uploads/{job.pk}/").status_code == 404
    assert (
        signed_in(cast.stranger).get(f"/a/elsewhere/connections/usage/uploads/{job.pk}/").status_code == 404
    )


def test_a_source_that_pulls_takes_no_file(cast: Cast) -> None:
    source = services.create_usage_source(account=cast.account, actor=cast.actor, name="Vendor", kind="pull")

    with pytest.raises(UserError, match="push source"):
        send(Door(source, ""), csv(line(1)), cast)


def test_refused_lines_are_kept_up_to_a_limit_and_all_counted(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.services.pieces.LINES_KEPT", 1_200)
    job = taken(open_door(cast), csv(*[line(number, "?") for number in range(2_300)]), cast)

    lines = (
        signed_in(cast.viewer)
        .get(f"/a/acme/connections/usage/uploads/{job.pk}/?format=csv")
        .getvalue()
        .decode()
    )

    assert job.rejected == 2_300
    assert job.reasons == {"quantity must be a number": 2_300}
    assert len(lines.splitlines()) == 1 + 1_200
    assert lines.splitlines()[1].startswith("2,quantity must be a number,")


def test_the_template_is_taken_as_it_is(cast: Cast) -> None:
    template = signed_in(cast.viewer).get("/a/acme/connections/usage/template/").getvalue()

    job = taken(open_door(cast), template, cast)

    assert (job.accepted, job.rejected) == (2, 0)
    assert set(COLUMNS) - {"dimensions"} <= set(template.decode().splitlines()[0].split(","))


def test_progress_is_told_while_it_runs(cast: Cast) -> None:
    job = send(open_door(cast), csv(line(1)), cast)
    UsageUpload.objects.unscoped().filter(pk=job.pk).update(
        status="running", bytes_done=job.bytes_total // 2, rows=1
    )
    client = signed_in(cast.viewer)

    whole = client.get(f"/a/acme/connections/usage/uploads/{job.pk}/").content.decode()
    polled = client.get(
        f"/a/acme/connections/usage/uploads/{job.pk}/",
        headers={"hx-request": "true", "hx-target": "upload-state"},
    )

    assert 'hx-trigger="every 1s"' in whole
    assert "Storing events" in whole
    assert "<html" not in polled.content.decode()


def test_a_task_of_another_account_leaves_it_alone(cast: Cast) -> None:
    job = send(open_door(cast), csv(line(1)), cast)

    run_upload(cast.other_account.pk, job.pk)
    assert inbox() == []
    run_upload(cast.account.pk, job.pk)
    assert len(inbox()) == 1


def test_the_file_goes_when_it_is_done_and_forgotten_ones_after_a_day(
    cast: Cast, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        job = taken(open_door(cast), csv(line(1)), cast)
    assert not Path(job.path).exists()
    left = upload_files.folder() / "left"
    left.write_bytes(b"")
    assert upload_files.remove_forgotten() == 0
    os.utime(left, (0, 0))
    assert upload_files.remove_forgotten() == 1


def test_a_file_is_read_by_pieces_and_from_any_line_on() -> None:
    content = csv(*[line(number) for number in range(2_345)])
    whole = [len(piece.events) for piece in pieces(io.BytesIO(content))]
    rest = list(pieces(io.BytesIO(content), skip=1_999))

    assert whole == [1_000, 1_000, 345]
    assert (rest[0].lines[0], sum(piece.rows for piece in rest)) == (2_001, 346)
    assert rest[-1].bytes_done == len(content)


def test_an_upload_that_failed_goes_on_where_it_stopped(cast: Cast) -> None:
    door, content = open_door(cast), csv(*[line(number) for number in range(2_500)])
    job = send(door, content, cast)
    UsageUpload.objects.unscoped().filter(pk=job.pk).update(status="running")
    running = UsageUpload.objects.unscoped().select_related("account", "source").get(pk=job.pk)
    with Path(job.path).open("rb") as file:
        store_piece(job=running, piece=next(pieces(file)))
    UsageUpload.objects.unscoped().filter(pk=job.pk).update(attempts=MAX_ATTEMPTS)
    services.run_upload(job.pk)
    failed = UsageUpload.objects.unscoped().get(pk=job.pk)
    assert failed.status == "failed"
    assert "The 1,000 events before that count" in failed.error

    again = taken(door, content, cast)

    assert again.pk == job.pk
    assert (again.status, again.accepted) == ("done", 2_500)
    assert sorted(row.position for row in inbox()) == list(range(2, 2_502))
    with account_scope(cast.account):
        assert [
            row.action for row in AuditEntry.objects.filter(action__startswith="usage_upload").order_by("pk")
        ] == [
            "usage_upload.queue",
            "usage_upload.fail",
            "usage_upload.resume",
            "usage_upload.finish",
        ]


@pytest.fixture
def killed_at() -> Iterator[Any]:
    """Starts the process that makes workers of an upload, and ends it."""
    started: list[subprocess.Popen[str]] = []

    def start(upload_id: int) -> Any:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.ingestion.upload_killing", str(upload_id)],
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "finops.settings",
                "DATABASE_URL": database_url(),
                "DATABASE_POOL": "0",
                "VAR_DIR": str(settings.VAR_DIR),
                "LAKE_URL": str(settings.LAKE_URL),
            },
            cwd=settings.BASE_DIR,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)

        def kill(step: int) -> str:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{step}\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        return kill

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.django_db(transaction=True)
def test_killed_at_every_step_each_event_is_there_once(cast: Cast, killed_at: Any) -> None:
    lines = [
        f"cust-{n},requests,{'x' if n % 400 == 7 else n},{MOMENT},{f'e-{n}' if n % 2 else ''}"
        for n in range(3_500)
    ]
    job = send(open_door(cast), csv(*lines, header=f"{HEADER},event_id"), cast)
    kill, steps = killed_at(job.pk), []

    for step in range(7):
        steps.append(kill(step))
        now = UsageUpload.objects.unscoped().get(pk=job.pk)
        rows = inbox()
        assert len(rows) == len({row.position for row in rows}) == now.accepted
        assert metered(cast.account, clock.today()) == now.accepted
    while steps[-1]:
        steps.append(kill(1_000))

    done = UsageUpload.objects.unscoped().get(pk=job.pk)
    assert {f"after {name}" for name in STEPS} <= set(steps)
    assert (done.status, done.rows, done.rejected, done.accepted) == ("done", 3_500, 9, 3_491)
    assert sorted(row.position for row in inbox()) == [n + 2 for n in range(3_500) if n % 400 != 7]
    assert sorted(refused(done)) == [n + 2 for n in range(3_500) if n % 400 == 7]
