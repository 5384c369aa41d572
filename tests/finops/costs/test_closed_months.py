"""Closed months: frozen as of then; later restatements come in and are shown as such."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from accounts.models import AuditEntry
from finops.costs import services
from finops.costs.models import ClosedMonth, CostSource
from finops.costs.queries import query_spend
from finops.costs.services.closed_months import close_month
from finops.costs.spend_query import SpendQuery
from finops.insights.data_health import data_health
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.formats.sentences import reader_text
from tests.cast import Cast, signed_in
from tests.factories.imports import import_bill, write_bill
from tests.finops.costs.focus_reader import as_csv

MAY = date(2026, 5, 1)
JULY = datetime(2026, 7, 10, 12, tzinfo=UTC)


def bill(folder: Path, billed: str, effective: str = "9") -> Path:
    rows = [{"BilledCost": billed, "EffectiveCost": effective}, {"BillingCurrency": "EUR"}]
    return write_bill(folder, as_csv(*rows).decode())


def sums() -> set[tuple[str, Decimal, Decimal, Decimal, Decimal]]:
    return {
        (row.currency, row.billed_cost, row.billed_now, row.effective_cost, row.effective_now)
        for row in ClosedMonth.objects.get().sums.all()
    }


def summary_of_may(cast: Cast, basis: str = "billed") -> str:
    query = SpendQuery(start_date=MAY, end_date=date(2026, 5, 31), basis=basis)  # type: ignore[arg-type]
    return query_spend(cast.account, query).summary


def test_a_closed_month_stays_and_what_restates_it_is_said(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    admin, viewer = signed_in(cast.admin), signed_in(cast.viewer)
    with clock.frozen(JULY):
        import_bill(cast, source, bill(tmp_path, "10"))
        assert "Close May 2026" in admin.get("/a/acme/invoices/closed-months/?month=2026-05").content.decode()
        assert signed_in(cast.member).post("/a/acme/invoices/closed-months/close/").status_code == 403
        admin.post("/a/acme/invoices/closed-months/close/", {"month": "2026-05", "note": "Books of May"})
        eur = "EUR", Decimal("1.5"), Decimal("1.5"), Decimal("1.25"), Decimal("1.25")
        assert sums() == {("USD", Decimal(10), Decimal(10), Decimal(9), Decimal(9)), eur}
        assert "closed" not in summary_of_may(cast)

        job = import_bill(cast, source, bill(tmp_path, "22.34", "8"))
        assert ("2026-05 is closed and keeps its figures; this import restates it by +12.34 USD billed.") in (
            job.report["notes"]
        )
        assert sums() == {("USD", Decimal(10), Decimal("22.34"), Decimal(9), Decimal(8)), eur}
        clause = "2026-05 was closed and restated since: {} in the account"
        assert clause.format("+12.34 USD") in summary_of_may(cast).partition(". ")[0]
        assert clause.format("-1.00 USD") in summary_of_may(cast, "amortized")
        explorer = viewer.get("/a/acme/cost-explorer/?start_date=2026-05-01&end_date=2026-05-31&basis=billed")
        assert reader_text(clause.format("+12.34 USD")) in explorer.content.decode()
        june = SpendQuery(start_date=date(2026, 6, 1), end_date=date(2026, 6, 30))
        assert "restated" not in query_spend(cast.account, june).summary
        assert "2026-05 is closed and restated since close: +12.34 USD billed and -1.00 USD amortized." in (
            data_health(cast.account).warnings
        )
        page = viewer.get("/a/acme/invoices/closed-months/").content.decode()
        assert "+$12.34" in page
        assert "Reopen" not in page

        import_bill(cast, source, bill(tmp_path, "10"))
        assert "restated" not in summary_of_may(cast)
        services.delete_cost_source(source=source, actor=cast.actor)
        assert {row[2] for row in sums()} == {Decimal(0)}

        row = ClosedMonth.objects.get()
        assert admin.post(f"/a/acme/invoices/closed-months/{row.pk}/reopen/").status_code == 302
        assert not ClosedMonth.objects.exists()
    entries = AuditEntry.objects.filter(action__startswith="month.").order_by("pk")
    assert [(each.action, each.target) for each in entries] == [
        ("month.close", "2026-05"),
        ("month.reopen", "2026-05"),
    ]
    assert {
        (each["currency"], Decimal(each["billed"]), Decimal(each["billed_now"]))
        for each in entries[1].detail["sums"]
    } == {
        ("USD", Decimal(10), Decimal(0)),
        ("EUR", Decimal("1.5"), Decimal(0)),
    }


def test_a_month_that_is_not_over_empty_or_closed_already_is_not_closed(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    with clock.frozen(datetime(2026, 5, 31, 12, tzinfo=UTC)):
        import_bill(cast, source, bill(tmp_path, "10"))
        with pytest.raises(UserError, match="2026-05 has not ended and cannot be closed"):
            close_month(account=cast.account, actor=cast.actor, month=MAY)
        with pytest.raises(UserError, match="2026-04 has no cost lines to close"):
            close_month(account=cast.account, actor=cast.actor, month=date(2026, 4, 1))
    with clock.frozen(JULY):
        close_month(account=cast.account, actor=cast.actor, month=MAY)
        with pytest.raises(UserError, match="2026-05 is already closed"):
            close_month(account=cast.account, actor=cast.actor, month=MAY)


@pytest.mark.parametrize("month", ["9999-12", "0001-01", "２０２６-05", "2199-12"])  # noqa: RUF001
def test_pages_answer_for_months_that_no_bill_has(cast: Cast, month: str) -> None:
    owner = signed_in(cast.owner)
    pages = (
        "invoices/",
        "connections/bill-versions/",
        "invoices/closed-months/",
        "reports/",
        "reports/?format=csv",
    )

    answers = [owner.get(f"/a/acme/{page}", {"month": month}) for page in pages]
    closing = owner.post("/a/acme/invoices/closed-months/close/", {"month": month, "note": ""})

    assert {answer.status_code // 100 for answer in (*answers, closing)} <= {2, 3, 4}
