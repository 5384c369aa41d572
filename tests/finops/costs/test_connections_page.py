from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, override_settings

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import CostImport, CostSource
from tests.cast import Cast, signed_in
from tests.finops.costs.test_imports import HEADER, MAY, MAY_AND_JUNE
from tests.pages import get_page, text_of

LIST = "/a/acme/connections/"
UPLOAD = "/a/acme/connections/upload/"


def upload(client: Client, *texts: str, **fields: Any) -> Any:
    files = [SimpleUploadedFile(f"costs-{number}.csv", text.encode()) for number, text in enumerate(texts)]
    return client.post(UPLOAD, {"name": "AWS", "uploads": files, **fields})


def imports_of(cast: Cast) -> list[CostImport]:
    with account_scope(cast.account):
        return list(CostImport.objects.order_by("pk"))


def sources_of(cast: Cast) -> list[CostSource]:
    with account_scope(cast.account):
        return list(CostSource.objects.order_by("pk"))


def run_imports(cast: Cast) -> None:
    for job in imports_of(cast):
        services.run_import(job.pk)


def test_an_empty_list_says_what_to_do_next(cast: Cast) -> None:
    member, viewer = (get_page(signed_in(user), LIST) for user in (cast.member, cast.viewer))

    assert "Add connection" in member
    assert "Upload files" in member
    assert "Add connection" not in viewer
    assert "Upload files" not in viewer
    assert "Ask a member, admin or owner to add a connection." in viewer


def test_an_uploaded_file_is_imported_and_reported(cast: Cast) -> None:
    client = signed_in(cast.member)

    response = upload(client, MAY_AND_JUNE)
    waiting = get_page(client, response.headers["Location"])
    run_imports(cast)
    finished_page = get_page(client, response.headers["Location"])

    assert response.status_code == 302
    assert "Waiting" in waiting
    assert "Done 2 rows, May – Jun" in finished_page
    assert "May 1 $1.50 $1.25" in finished_page
    assert "View cost" in finished_page
    listing = get_page(signed_in(cast.viewer), LIST)
    assert "AWS" in listing
    assert "costs-0.csv" in listing


def test_a_file_that_could_be_read_in_two_ways_is_imported_as_the_form_says(cast: Cast) -> None:
    client = signed_in(cast.member)
    ambiguous = MAY.replace("1.50,1.25", '"12,350","1,250"')

    refusal = upload(client, ambiguous)
    response = upload(client, ambiguous, number_format="comma", date_order="day-first", name="Comma")
    run_imports(cast)

    says = get_page(client, refusal.headers["Location"])
    assert "is 12350 with a decimal point and 12.35 with a decimal comma" in says
    finished_page = get_page(client, response.headers["Location"])
    assert "May 1 $12.35 $1.25" in finished_page
    assert "Number format 1.234,56 (set for this import)" in finished_page
    assert upload(client, MAY, number_format="odd", name="Odd").status_code == 422


def test_the_link_to_its_cost_asks_for_its_months_and_source(cast: Cast) -> None:
    client = signed_in(cast.member)
    response = upload(client, MAY_AND_JUNE, name="A & B")
    run_imports(cast)

    page = client.get(response.headers["Location"]).content.decode()
    link = re.search(r'href="([^"]*cost-explorer/\?[^"]*)"', page)
    assert link
    answer = get_page(client, link.group(1).replace("&amp;", "&"))

    assert "$3.50" in answer


def test_progress_asks_again_until_it_is_finished(cast: Cast) -> None:
    client = signed_in(cast.member)
    url = upload(client, MAY).headers["Location"]
    with account_scope(cast.account):
        CostImport.objects.update(status="running", stage="reading", bytes_total=1000, bytes_done=420, rows=7)

    part = client.get(url, headers={"HX-Request": "true"}).content.decode()
    with account_scope(cast.account):
        CostImport.objects.update(status="queued")
    run_imports(cast)
    finished = client.get(url, headers={"HX-Request": "true"}).content.decode()

    assert "<html" not in part
    assert 'hx-trigger="every 1s"' in part
    assert 'value="42"' in part
    assert "hx-trigger" not in finished


def test_a_script_gets_the_address_of_the_import(cast: Cast) -> None:
    files = {"name": "AWS", "uploads": [SimpleUploadedFile("may.csv", MAY.encode())]}

    answer = signed_in(cast.member).post(UPLOAD, files, headers={"Accept": "application/json"})

    (job,) = imports_of(cast)
    assert (answer.status_code, answer.json()) == (202, {"url": f"/a/acme/connections/imports/{job.pk}/"})


def test_a_file_that_is_not_focus_says_so_and_changes_nothing(cast: Cast) -> None:
    client = signed_in(cast.member)

    url = upload(client, "a\n1\n").headers["Location"]
    run_imports(cast)
    page = get_page(client, url)

    assert "Nothing was imported" in page
    assert "costs-0.csv" in page
    assert "Try another file" in page


def test_a_bad_row_is_named_with_its_column(cast: Cast) -> None:
    client = signed_in(cast.member)

    url = upload(client, MAY.replace("1.50", "lots")).headers["Location"]
    run_imports(cast)
    page = get_page(client, url)

    assert "BilledCost" in page
    assert "row 2" in page
    assert "lots" in page


def test_a_column_missing_in_the_file_is_given_on_the_form(cast: Cast) -> None:
    client = signed_in(cast.member)
    text = MAY.replace("BillingCurrency,", "").replace("USD,", "")

    url = upload(client, text, currency="EUR").headers["Location"]
    run_imports(cast)
    page = get_page(client, url)

    assert "€1.50" in page
    assert "BillingCurrency = EUR" in page


def test_files_go_together_and_into_an_existing_source(cast: Cast) -> None:
    client = signed_in(cast.member)
    upload(client, MAY)
    (source,) = sources_of(cast)

    upload(client, MAY, MAY_AND_JUNE, source=str(source.pk), name="")
    run_imports(cast)

    assert sources_of(cast) == [source]
    assert [job.rows for job in imports_of(cast)] == [1, 3]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "Enter a name, or choose an existing source."),
        ({"source": "999999"}, "Select a valid choice"),
        ({"defaults": "BillingCurrency"}, "”: use the format Column=value."),
        ({"defaults": "Colour=red"}, "is not used by imports. Columns:"),
        ({"uploads": []}, "Choose at least one file"),
    ],
)
def test_a_form_that_cannot_be_leaves_nothing_behind(
    cast: Cast, fields: dict[str, Any], message: str
) -> None:
    answer = upload(signed_in(cast.member), MAY, **fields)

    assert message in text_of(answer, status=422)
    assert sources_of(cast) == []
    assert imports_of(cast) == []


def test_a_source_of_another_account_is_no_choice(cast: Cast) -> None:
    with account_scope(cast.other_account):
        foreign_source = CostSource.objects.create(account=cast.other_account, name="Theirs")
    client = signed_in(cast.member)

    assert "Theirs" not in get_page(client, UPLOAD)
    assert upload(client, MAY, source=str(foreign_source.pk)).status_code == 422


def test_a_viewer_sees_sources_and_may_change_nothing(cast: Cast) -> None:
    upload(signed_in(cast.member), MAY)
    run_imports(cast)
    (source,) = sources_of(cast)
    client = signed_in(cast.viewer)

    page = get_page(client, f"{LIST}{source.pk}/")

    assert "AWS" in page
    assert "Rename" not in page
    assert "3 days, as documented by AWS; not confirmed by imports yet." in page
    assert client.post(f"{LIST}{source.pk}/settle-days/", {"settle_days": "1"}).status_code == 403
    assert "Delete" not in page
    assert upload(client, MAY).status_code == 403
    assert client.post(f"{LIST}{source.pk}/rename/", {"name": "x"}).status_code == 403
    assert client.post(f"{LIST}{source.pk}/delete/").status_code == 403
    assert len(imports_of(cast)) == 1


def test_a_member_renames_and_deletes_a_source(cast: Cast) -> None:
    client = signed_in(cast.member)
    upload(client, MAY)
    run_imports(cast)
    (source,) = sources_of(cast)

    renamed = client.post(f"{LIST}{source.pk}/rename/", {"name": "Payer"}, follow=True)
    unnamed = client.post(f"{LIST}{source.pk}/rename/", {"name": " "})
    settles = client.post(f"{LIST}{source.pk}/settle-days/", {"settle_days": "5"}, follow=True)
    never = client.post(f"{LIST}{source.pk}/settle-days/", {"settle_days": "99"})
    deleted = client.post(f"{LIST}{source.pk}/delete/", follow=True)

    assert "Payer" in text_of(renamed)
    assert unnamed.status_code == 422
    assert "5 days, set in this account." in text_of(settles)
    assert never.status_code == 422
    assert "with all its cost lines" in text_of(deleted)
    assert sources_of(cast) == []
    with account_scope(cast.account):
        actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions[-3:] == ["cost_source.rename", "cost_source.change_settle_days", "cost_source.delete"]


def test_a_name_that_is_taken_is_said_next_to_the_form(cast: Cast) -> None:
    client = signed_in(cast.member)
    upload(client, MAY)

    again = upload(client, MAY)

    assert "A cost source with this name already exists." in text_of(again, status=422)
    assert len(sources_of(cast)) == 1


def test_an_upload_beyond_the_limit_is_refused_unread(cast: Cast) -> None:
    with override_settings(UPLOAD_MAX_BYTES=-999_900):
        answer = upload(signed_in(cast.member), HEADER)

    assert "Too large" in text_of(answer, status=413)


def test_a_stranger_to_the_console_cannot_fill_the_disk() -> None:
    client = Client(enforce_csrf_checks=True)

    answer = upload(client, MAY)

    assert answer.status_code == 403


def test_the_list_exports_what_it_shows(cast: Cast) -> None:
    upload(signed_in(cast.member), MAY)
    run_imports(cast)

    exported = b"".join(signed_in(cast.viewer).get(LIST, {"format": "csv"})).decode()

    assert exported.splitlines()[0] == (
        "Source,Kind,Status,Data from,Data through,Rows,Last sync,Next sync,Last error"
    )
    assert exported.splitlines()[1].startswith("AWS,Upload,stale,2026-05-03,2026-05-03,1,")


def test_the_imports_of_a_source_are_exported(cast: Cast) -> None:
    upload(signed_in(cast.member), MAY)
    run_imports(cast)
    (source,) = sources_of(cast)

    exported = b"".join(signed_in(cast.viewer).get(f"{LIST}{source.pk}/", {"format": "csv"})).decode()

    assert exported.splitlines()[1].startswith("costs-0.csv,done,1,2026-05,")
