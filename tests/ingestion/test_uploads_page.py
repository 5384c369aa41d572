"""Backfill by CSV: the rules of a push, each event once whatever happens, a report by line."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.scoping import account_scope
from finops.lake.usage.flush import flush_usage
from finops.lib import clock
from finops.lib.errors import UserError
from ingestion import services
from ingestion.csvfile import COLUMNS
from ingestion.models import Customer, UsageBatch, UsageUpload
from ingestion.queries import metered_events
from ingestion.services import upload_files
from ingestion.tasks import run_due_uploads
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import MOMENT, PushClient, create_push_client, inbox, reasons
from tests.ingestion.upload_client import HEADER, csv, line, rejected_lines_of, run_new_upload, send
from tests.pages import get_page, text_of
from tests.periodic_tasks import run_due


def test_a_file_is_uploaded_stored_and_reported(cast: Cast) -> None:
    push_client, client = create_push_client(cast), signed_in(cast.member)
    header = f"{HEADER},customer_name,unit,dim:region,dimensions,event_id"
    content = csv(
        f'cust-1,requests,12.5,{MOMENT},Globex,calls,eu,"{{""plan"": ""pro""}}",e-1',
        f"cust-2,requests,five,{MOMENT},,,,,",
        f"cust-3,requests,-2.30000000000000004,{MOMENT},,,,,",
        header=header,
    )

    answer = client.post(f"{push_client.page}upload/", {"upload": SimpleUploadedFile("past.csv", content)})
    run_due(run_due_uploads)
    report = get_page(client, answer.headers["Location"])

    assert "2 events stored" in report
    assert "quantity must be a number" in report
    assert "Quantities rounded to 12 places 1" in report
    assert rejected_lines_of(UsageUpload.objects.unscoped().get()) == {3: "quantity must be a number"}
    rows_by_customer = {row.customer_id: row for row in inbox()}
    assert rows_by_customer["cust-1"].quantity == Decimal("12.5")
    assert rows_by_customer["cust-1"].unit == "calls"
    assert rows_by_customer["cust-1"].dimensions == {"plan": "pro", "region": "eu"}
    assert rows_by_customer["cust-3"].dimensions is None
    with account_scope(cast.account):
        assert Customer.objects.get(customer_id="cust-1").name == "Globex"
    assert metered_events(cast.account, clock.today()) == 2
    page = get_page(client, push_client.page)
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
    pushed, uploaded = create_push_client(cast, name="Pushed"), create_push_client(cast, name="Uploaded")
    whole = {"customer_id": "c", "metric": "m", "quantity": "1", "timestamp": MOMENT, **fields}
    digits = (
        whole["quantity"] if re.fullmatch(r"[-\d.eE+]+", whole["quantity"]) else json.dumps(whole["quantity"])
    )
    body = json.dumps({"events": [{**whole, "quantity": "@"}]}).replace('"@"', digits)

    job = run_new_upload(uploaded, csv(",".join(whole.values()), header=",".join(whole)), cast)
    with account_scope(cast.account):  # so that the id of the one is not a duplicate of the other
        services.void_usage_batch(batch=UsageBatch.objects.get(), actor=cast.actor)
    answer = pushed.send(body)
    by_push = reasons(answer, submitted=1)

    assert list(rejected_lines_of(job).values()) == list(by_push.values())
    assert job.accepted == 1 - len(by_push)
    assert job.rounded == int(answer["Usage-Rounded"])


def test_quantities_and_times_arrive_as_a_push_brings_them(cast: Cast) -> None:
    run_new_upload(
        create_push_client(cast),
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

    job = run_new_upload(create_push_client(cast), content, cast)

    assert rejected_lines_of(job) == {
        4: "timestamp must be a parseable date",
        7: "the line has 2 cells, the header 4",
        8: "the line is not UTF-8",
    }
    assert (job.accepted, job.rejected, job.rows) == (2, 3, 5)
    assert [row.position for row in inbox()] == [2, 6]


WRONG_HEADERS = {
    "missing": (b"customer_id,metric,quantity\n1,2,3\n", "The header has no timestamp"),
    "misspelt": (b"customer_id,metric,quantiy,timestamp\n", "Did you mean quantity?"),
    "nameless": (b"customer_id,metric,quantity,timestamp,\n", "Column 5 of the header has no name"),
    "twice": (b"metric,customer_id,metric,quantity,timestamp\n", "The column metric is given twice"),
    "empty": (b"\n", "no header line"),
    "utf-16": ("customer_id".encode("utf-16"), "CSV UTF-8"),
    "gzip": (b"\x1f\x8b\x08", "plain CSV"),
    "excel": (b"PK\x03\x04", "plain CSV"),
    "bytes": (bytes(range(128, 256)), "not UTF-8"),
}


@pytest.mark.parametrize(("content", "message"), WRONG_HEADERS.values(), ids=WRONG_HEADERS.keys())
def test_a_header_that_cannot_work_is_refused_at_once(cast: Cast, content: bytes, message: str) -> None:
    push_client, client = create_push_client(cast), signed_in(cast.member)
    before = set(upload_files.folder().iterdir())

    answer = client.post(f"{push_client.page}upload/", {"upload": SimpleUploadedFile("past.csv", content)})

    assert message in text_of(answer, status=422)
    assert not UsageUpload.objects.unscoped().exists()
    assert set(upload_files.folder().iterdir()) == before


def test_a_script_gets_the_same_refusal_as_json(cast: Cast) -> None:
    push_client, client = create_push_client(cast), signed_in(cast.member)

    answer = client.post(f"{push_client.page}upload/", {}, headers={"accept": "application/json"})

    assert answer.status_code == 422
    assert answer.json() == {"errors": {"upload": ["Choose a CSV file."]}}


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("sign", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
def test_files_written_by_spreadsheets_are_read(cast: Cast, start: bytes, sign: str) -> None:
    content = csv(line(1), line(2)).decode().replace(",", sign).replace("\n", "\r\n").encode()

    job = run_new_upload(create_push_client(cast), start + content, cast)

    assert (job.status, job.accepted, job.rejected) == ("done", 2, 0)


@pytest.mark.parametrize("bad", [b'"never closed', b"x" * (2**20 + 1)], ids=["open quote", "no line end"])
def test_a_file_that_stops_being_csv_stores_nothing(cast: Cast, bad: bytes) -> None:
    content = csv(*[line(number) for number in range(1_500)]) + bad

    job = run_new_upload(create_push_client(cast), content, cast)

    assert job.status == "failed"
    assert "Line 1502" in job.error
    assert inbox() == []


def test_an_upload_is_one_batch_and_voided_as_one(cast: Cast) -> None:
    push_client, client = create_push_client(cast), signed_in(cast.member)
    job = run_new_upload(push_client, csv(*[line(number) for number in range(2_500)]), cast)
    flush_usage(cast.account)
    page = f"/a/acme/connections/usage/uploads/{job.pk}/"

    assert "Void upload" in get_page(client, page)
    client.post(f"{push_client.page}batches/void/", {"batch": str(job.batch)})

    with account_scope(cast.account):
        (batch,) = UsageBatch.objects.all()
    assert (batch.origin, batch.accepted, batch.stored_count) == ("upload", 2_500, 0)
    assert metered_events(cast.account, clock.today()) == 0
    assert "Voided" in get_page(client, page)
    assert "Void upload" not in get_page(client, page)


def test_an_upload_that_runs_is_not_voided(cast: Cast) -> None:
    job = run_new_upload(create_push_client(cast), csv(line(1)), cast)
    UsageUpload.objects.unscoped().update(status="running")
    with account_scope(cast.account):
        batch = UsageBatch.objects.get(pk=job.batch)

    with pytest.raises(UserError, match=r"This upload is still in progress\. Void it when it has finished"):
        services.void_usage_batch(batch=batch, actor=cast.actor)


def test_a_viewer_sees_uploads_and_may_not_send_one(cast: Cast) -> None:
    push_client, client = create_push_client(cast), signed_in(cast.viewer)
    job = run_new_upload(push_client, csv(line(1), "x"), cast)

    page = client.get(push_client.page).content.decode()

    assert "events.csv" in page
    assert 'type="file"' not in page
    answer = client.post(f"{push_client.page}upload/", {"upload": SimpleUploadedFile("f.csv", csv(line(2)))})
    assert answer.status_code == 403
    assert client.get(f"/a/acme/connections/usage/uploads/{job.pk}/").status_code == 200
    assert signed_in(cast.stranger).get(f"/a/acme/connections/usage/uploads/{job.pk}/").status_code == 404
    assert (
        signed_in(cast.stranger).get(f"/a/elsewhere/connections/usage/uploads/{job.pk}/").status_code == 404
    )


def test_a_source_that_pulls_takes_no_file(cast: Cast) -> None:
    source = services.create_usage_source(account=cast.account, actor=cast.actor, name="Vendor", kind="pull")

    with pytest.raises(UserError, match="push source"):
        send(PushClient(source, ""), csv(line(1)), cast)


def test_refused_lines_are_kept_up_to_a_limit_and_all_counted(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.services.chunks.MAX_REJECTED_LINES", 1_200)
    job = run_new_upload(create_push_client(cast), csv(*[line(number, "?") for number in range(2_300)]), cast)

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

    job = run_new_upload(create_push_client(cast), template, cast)

    assert (job.accepted, job.rejected) == (2, 0)
    assert set(COLUMNS) - {"dimensions"} <= set(template.decode().splitlines()[0].split(","))


def test_progress_is_reported_while_it_runs(cast: Cast) -> None:
    job = send(create_push_client(cast), csv(line(1)), cast)
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
