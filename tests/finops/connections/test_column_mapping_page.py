"""The page on which a person maps the columns of a source's files, its preview, and who may use it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import ColumnMapping, CostImport, CostSource
from tests.cast import Cast, signed_in
from tests.factories.imports import cost_by, total
from tests.finops.costs.mapping.mapped_files import BILL, document
from tests.finops.costs.test_archives import zip_bytes
from tests.pages import get_page, text_of

GERMAN = (
    "Datum;Leistung;Betrag (EUR);Standort;Team\n"
    "01.05.2026;Cloud Server;-1.234,56;FSN;web\n"
    "02.05.2026;Volume;-0,44;NBG;\n"
    ";Summe;-1.235,00;;\n"
)


@pytest.fixture
def member(cast: Cast) -> Client:
    return signed_in(cast.member)


def upload(client: Client, text: str, name: str = "rechnung.csv") -> str:
    response = client.post(
        "/a/acme/connections/upload/",
        {"name": "Hetzner", "uploads": [SimpleUploadedFile(name, text.encode())]},
    )
    url = response.headers["Location"]
    for job in CostImport.objects.unscoped().order_by("pk"):
        services.run_import(job.pk)
    return str(url)


def page_url(part: str = "") -> str:
    source = CostSource.objects.unscoped().get(name="Hetzner")
    return f"/a/acme/connections/{source.pk}/mapping/{part}"


def form_values(client: Client, **changes: Any) -> dict[str, Any]:
    """What the page's form has, as a browser sends it, with these changes; `_` stands for the dash of a field's name."""
    form = client.get(page_url()).context["form"]
    values = {name: form[name].value() or "" for name in form.fields}
    values["skip_without_date"] = "on" if form["skip_without_date"].value() else ""
    values["tag_column"] = [tag.column for tag in form.tag_fields]
    values["tag_key"] = [tag.key for tag in form.tag_fields]
    values["category_value"] = [each.value for each in form.category_fields()]
    values["category"] = [each.focus for each in form.category_fields()]
    return {**values, **{name.replace("_at_", "-"): value for name, value in changes.items()}}


def test_an_upload_of_unknown_columns_leads_to_the_mapping_and_is_imported_by_it(
    cast: Cast, member: Client
) -> None:
    url = upload(member, GERMAN)
    waiting = get_page(member, url)
    assert "Not imported yet" in waiting
    assert "Map columns Discard" in waiting
    page = get_page(member, page_url())
    assert "Betrag (EUR) — -1.234,56 · -0,44 · -1.235,00" in page
    preview = text_of(member.post(page_url("preview/"), form_values(member)))
    assert "1 line cannot be read" in preview
    assert "row 4, column Datum is empty" in preview
    preview = text_of(member.post(page_url("preview/"), form_values(member, skip_without_date="on")))
    assert "Total EUR €1,235.00" in preview
    assert "May €1,235.00" in preview
    assert "Cloud Server €1,234.56" in preview
    assert "1 without a date" in preview
    saved = member.post(page_url(), form_values(member, skip_without_date="on"))
    assert saved.headers["Location"] == url
    with account_scope(cast.account):
        job = CostImport.objects.get()
        services.run_import(job.pk)
        assert total(cast.account) == Decimal("1235.00")
        assert cost_by(cast.account, "region")["FSN"][0] == Decimal("1234.56")
        assert cost_by(cast.account, "provider") == {"Hetzner": (Decimal("1235.00"), Decimal("1235.00"))}
    assert "Lines without a date, left out: 1." in get_page(member, url)


def test_a_missing_value_is_shown_in_the_preview_and_at_its_field(member: Client) -> None:
    upload(member, BILL)
    values = form_values(member, BillingCurrency_at_value="")
    preview = text_of(member.post(page_url("preview/"), values))
    assert "Currency: Choose a column, or enter a value for all lines." in preview
    refusal = member.post(page_url(), values)
    assert "Choose a column, or enter a value for all lines." in text_of(refusal, status=422)
    assert not ColumnMapping.objects.unscoped().exists()


def test_dates_of_two_readings_are_imported_by_the_one_that_a_person_chooses(
    cast: Cast, member: Client
) -> None:
    upload(member, "date,service,cost,currency\n05/06/2026,Server,10,EUR\n07/06/2026,Server,1,EUR\n")
    preview = text_of(member.post(page_url("preview/"), form_values(member)))
    assert "Date: Choose the date format. It is ambiguous" in preview

    values = form_values(member, ChargePeriodStart_at_format="%d/%m/%Y")
    assert "Jun €11.00" in text_of(member.post(page_url("preview/"), values))
    member.post(page_url(), values)

    with account_scope(cast.account):
        assert ColumnMapping.objects.get().document.dates["ChargePeriodStart"].format == "%d/%m/%Y"


def test_numbers_of_two_readings_are_imported_by_the_one_that_a_person_chooses(
    cast: Cast, member: Client
) -> None:
    upload(member, "date;service;cost;currency\n2026-06-05;Server;1.234;EUR\n2026-06-06;Server;2.000;EUR\n")
    unchosen = form_values(member)
    assert unchosen["decimal_mark"] == ""
    preview = text_of(member.post(page_url("preview/"), unchosen))
    assert "Choose the number format. It is ambiguous" in preview
    assert "Total with 1,234.56 €3.23 Total with 1.234,56 €3,234.00" in preview
    text_of(member.post(page_url(), unchosen), status=422)
    assert not ColumnMapping.objects.unscoped().exists()

    values = form_values(member, decimal_mark="comma")
    assert "€3,234.00" in text_of(member.post(page_url("preview/"), values))
    member.post(page_url(), values)

    with account_scope(cast.account):
        services.run_import(CostImport.objects.get().pk)
        assert total(cast.account) == Decimal(3234)


def test_a_sum_of_columns_and_categories_of_the_file_are_mapped(cast: Cast, member: Client) -> None:
    upload(
        member,
        "date,service,cost,tax,discount,currency,art\n"
        "2026-06-05,Server,10.5,2,0.25,EUR,Fee\n2026-06-05,Server,1,0.5,,EUR,VAT\n2026-06-06,Disk,3,,1,EUR,Odd\n",
    )
    changes: dict[str, Any] = {
        "BilledCost_at_addend-0": "tax",
        "BilledCost_at_addend-1": "discount",
        "BilledCost_at_sign-1": "minus",
        "ChargeCategory_at_column": "art",
        "ChargeCategory_at_value": "",
    }
    preview = text_of(member.post(page_url("preview/"), form_values(member, **changes)))
    assert "Total EUR €15.75" in preview
    assert "Unknown charge categories Fee: 1 line VAT: 1 line Odd: 1 line" in preview
    assert "Charge categories of the file Fee" in preview

    changes |= {"category_value": ["Fee", "VAT", "Odd"], "category": ["Usage", "Tax", ""]}
    preview = text_of(member.post(page_url("preview/"), form_values(member, **changes)))
    assert "Unknown charge categories Odd: 1 line" in preview
    assert "Charge categories of the file" not in preview
    only_second = {**changes, "category": ["", "Tax", ""]}
    preview = text_of(member.post(page_url("preview/"), form_values(member, **only_second)))
    assert "Unknown charge categories Fee: 1 line Odd: 1 line" in preview
    assert "Charge categories of the file" not in preview, "the fields on the page stay where they are"
    member.post(page_url(), form_values(member, **changes))

    with account_scope(cast.account):
        services.run_import(CostImport.objects.get().pk)
        by_category = {name: billed for name, (billed, _) in cost_by(cast.account, "charge_category").items()}
        assert by_category == {"Usage": Decimal("12.25"), "Tax": Decimal("1.5"), "Odd": Decimal(2)}
    page = get_page(member, page_url().removesuffix("mapping/"))
    assert "cost + tax \N{MINUS SIGN} discount" in page
    again = form_values(member)
    assert (again["BilledCost-addend-1"], again["BilledCost-sign-1"]) == ("discount", "minus")
    assert dict(zip(again["category_value"], again["category"], strict=True)) == {
        "Fee": "Usage",
        "VAT": "Tax",
    }


def test_a_column_missing_in_the_file_is_refused(member: Client) -> None:
    upload(member, BILL)
    values = form_values(member, BillingCurrency_at_value="EUR", BilledCost_at_column="Betrag")
    refusal = member.post(page_url(), values)
    assert "rechnung.csv has no column 'Betrag'. Choose another." in text_of(refusal, status=422)


def test_the_source_shows_its_mapping_and_only_members_change_it(cast: Cast, member: Client) -> None:
    upload(member, BILL)
    member.post(page_url(), form_values(member, BillingCurrency_at_value="EUR"))
    source_url = page_url().removesuffix("mapping/")
    viewer = signed_in(cast.viewer)
    page = get_page(viewer, source_url)
    assert "Column mapping ChargePeriodStart Day BilledCost Amount" in page
    assert "Edit" not in page
    for part in ("", "preview/", "sample/", "remove/"):
        assert viewer.post(page_url(part)).status_code == 403
        assert signed_in(cast.stranger).post(page_url(part)).status_code == 404
    member.post(page_url("remove/"))
    assert not ColumnMapping.objects.unscoped().exists()


def test_a_mapping_is_edited_with_another_file_to_look_at(member: Client) -> None:
    upload(member, BILL)
    member.post(page_url(), form_values(member, BillingCurrency_at_value="EUR"))
    for job in CostImport.objects.unscoped():
        services.run_import(job.pk)
    without = text_of(member.post(page_url("preview/"), form_values(member)))
    assert "Choose a sample file below." in without
    member.post(
        page_url("sample/"), {"sample": SimpleUploadedFile("june.csv", BILL.replace("-05-", "-06-").encode())}
    )
    assert "june.csv" in get_page(member, page_url())
    preview = text_of(member.post(page_url("preview/"), form_values(member)))
    assert "Jun €1.75" in preview
    assert CostImport.objects.unscoped().count() == 1


def test_a_sample_that_is_no_table_says_why(cast: Cast, member: Client) -> None:
    with account_scope(cast.account):
        services.create_cost_source(account=cast.account, name="Hetzner", actor=cast.actor)
    page = get_page(member, page_url())
    assert "No file to map yet Choose a file of this source below." in page
    assert "Save mapping" not in page
    member.post(page_url("sample/"), {"sample": SimpleUploadedFile("bill.zip", b"PK\x03\x04rest")})
    assert "bill.zip is not a complete ZIP archive" in get_page(member, page_url())
    archive = zip_bytes({"bill.csv": BILL.encode()})
    member.post(page_url("sample/"), {"sample": SimpleUploadedFile("bill.zip", archive)})
    assert "Amount — 1.50 · 0.25" in get_page(member, page_url())


def test_a_saved_mapping_is_what_the_form_said(cast: Cast, member: Client) -> None:
    upload(member, BILL)
    changes = {
        "BillingCurrency_at_value": "EUR",
        "BilledCost_at_factor": "0.01",
        "granularity": "hour",
        "time_zone": "Europe/Berlin",
        "costs_sign": "negative",
        "tag_key": ["", "kind", ""],
        "tag_column": ["Day", "Item", "Amount"],
    }
    member.post(page_url(), form_values(member, **changes))
    row = ColumnMapping.objects.unscoped().get()
    expected = document(
        amounts={"BilledCost": {"column": "Amount", "factor": "0.01"}},
        tags=[{"column": "Item", "key": "kind"}],
        granularity="hour",
        time_zone="Europe/Berlin",
        costs_are_negative=True,
    )
    assert row.document == expected
    again = form_values(member)
    assert (again["BilledCost-factor"], again["tag_key"][0]) == ("0.01", "kind")
