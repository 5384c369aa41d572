"""Alerts of imports that change a billing month too much: sent once, with sums before and after."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import Account
from finops.alerts import services
from finops.alerts.services.evaluation_runs import due_accounts, evaluate_if_due
from finops.costs.models import CostImport, CostSource
from finops.costs.services import confirm_import, create_cost_source, import_files, queue_import, run_import
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.alerts import evaluate, subscribe
from tests.factories.bill_text import bill, month_of
from tests.pages import get_page, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def bills(acme: Account) -> CostSource:
    source = create_cost_source(account=acme, name="Bills", actor=ACTOR)
    upload_bill(source, "15")
    return source


def upload_bill(source: CostSource, cost: str) -> CostImport:
    upload = SimpleUploadedFile("march.csv", bill(month_of("2026-02", cost)).encode())
    job = queue_import(source=source, uploads=[upload], actor=ACTOR)
    run_import(job.pk)
    job.refresh_from_db()
    return job


def test_an_import_that_waits_is_sent_once_with_its_sums(acme: Account, bills: CostSource) -> None:
    subscribe(acme, "import")
    assert evaluate_if_due(acme)
    assert due_accounts() == []
    job = upload_bill(bills, "5")
    assert due_accounts() == [acme.pk]
    (delivery,) = services.evaluate(acme)
    assert delivery.message["title"] == "'Acme': an import into 'Bills' needs review"
    assert "2026-02 falls by 66.7 %, from 420.00 USD to 140.00 USD billed." in delivery.message["summary"]
    assert delivery.message["url"].endswith(f"/a/acme/connections/imports/{job.pk}/")
    assert delivery.message["data"]["months"][0]["before"] == {"amount": 420.0, "currency": "USD"}
    confirm_import(job=job, actor=ACTOR)
    run_import(job.pk)
    assert evaluate(acme) == []


def test_a_sync_in_progress_is_shown(acme: Account, bills: CostSource, tmp_path: Path) -> None:
    def import_february(cost: str) -> None:
        path = tmp_path / "march.csv"
        path.write_text(bill(month_of("2026-02", cost)))
        import_files(account=acme, source=bills, paths=[path], actor=ACTOR)

    import_february("3")
    subscribe(acme, "import")
    assert evaluate(acme) == []  # known when the subscription was made
    import_february("3.1")
    import_february("1")
    assert evaluate(acme) == ["an import into 'Bills' changed a month beyond the limit"]


def test_the_list_of_deliveries_is_searched_sorted_and_exported(
    acme: Account, bills: CostSource, cast: Cast
) -> None:
    subscribe(acme, "import")
    upload_bill(bills, "1")
    assert len(evaluate(acme)) == 1
    page = signed_in(cast.viewer)

    for query in ("?q=import", "?sort=kind", "?format=csv"):
        answer = page.get(f"/a/acme/alerts/deliveries/{query}")
        assert "an import into 'Bills' needs review" in html.unescape(b"".join(answer).decode()), query


def test_an_import_alert_is_created_on_the_page(cast: Cast, acme: Account) -> None:
    row = subscribe(acme, "import")
    client = signed_in(cast.member)
    form = client.get("/a/acme/alerts/subscriptions/new/?trigger=import")
    assert "Imports that need review" in text_of(form)
    assert (
        "Imports that shrink or double a billing month or change its sign, with totals before "
        "and after. Limits are in Settings, Imports."
    ) in text_of(form)
    assert "Imports that need review" in get_page(client, f"/a/acme/alerts/subscriptions/{row.pk}/")
