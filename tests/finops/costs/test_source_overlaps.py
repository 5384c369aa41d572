"""Two sources that hold the same cost are named, with the amount that may be counted twice."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.costs import services, tasks
from finops.costs.models import CostImport, CostSource, SourceOverlap
from finops.costs.queries.import_notices import import_notices
from finops.insights.data_health import data_health
from finops.lib.formats.sentences import reader_text
from tests.cast import Cast, signed_in
from tests.factories.bill_text import bill, month_of
from tests.factories.imports import import_bill, write_bill
from tests.pages import get_page

SEPTEMBER = month_of("2026-09", "15.5", account="123", resource="bucket")
OTHERS = month_of("2026-09", "3.25", account="456", resource="disk")


def other_source(cast: Cast) -> CostSource:
    return services.create_cost_source(account=cast.account, name="Other", actor=cast.actor)


def import_lines(cast: Cast, source: CostSource, folder: Path, *lines: Sequence[str]) -> CostImport:
    return import_bill(cast, source, write_bill(folder, bill(*lines)))


def overlaps() -> list[tuple[str, Decimal, Decimal]]:
    return [
        (f"{each.month:%Y-%m}", each.amount, each.share) for each in SourceOverlap.objects.order_by("month")
    ]


def test_the_same_lines_in_two_sources_are_named_with_their_amount(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    import_lines(cast, source, tmp_path, SEPTEMBER, OTHERS)
    import_lines(cast, other_source(cast), tmp_path, SEPTEMBER)
    assert overlaps() == [("2026-09", Decimal(465), Decimal(1))]
    health = data_health(cast.account)
    sentence = "465.00 USD of 2026-09 may be counted twice: Bills and Other have equal cost"
    assert sentence in health.warnings[0]
    assert "465.00 USD may be counted twice" in health.summary
    assert reader_text(sentence) in get_page(signed_in(cast.viewer), "/a/acme/connections/")


def test_an_overlap_goes_when_the_month_is_restated_or_the_source_deleted(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    import_lines(cast, source, tmp_path, SEPTEMBER)
    other = other_source(cast)
    import_lines(cast, other, tmp_path, SEPTEMBER, OTHERS)
    assert overlaps()
    import_lines(cast, other, tmp_path, OTHERS)
    assert overlaps() == []
    import_lines(cast, other, tmp_path, SEPTEMBER)
    assert len(overlaps()) == 1
    services.delete_cost_source(source=other, actor=cast.actor)
    assert import_notices(cast.account).overlaps == []


def test_a_false_alarm_is_dismissed_until_another_month_is_similar(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    other = other_source(cast)
    october = month_of("2026-10", "2", account="123", resource="bucket")
    for each in (source, other):
        import_lines(cast, each, tmp_path, SEPTEMBER)
    (notice,) = import_notices(cast.account).overlaps
    shown = {"source_id": source.pk, "other_id": other.pk, "currency": "USD", "months": "2026-09"}
    page, url = "/a/acme/connections/", "/a/acme/connections/overlaps/dismiss/"
    assert reader_text(notice.sentence) in get_page(signed_in(cast.viewer), page)
    assert "Dismiss" not in get_page(signed_in(cast.viewer), page)
    assert signed_in(cast.viewer).post(url, shown).status_code == 403
    member = signed_in(cast.member)
    for wrong in (
        {},
        shown | {"months": "September"},
        shown | {"months": "2026-08"},
        shown | {"currency": "EUR"},
    ):
        member.post(url, wrong)
    assert import_notices(cast.account).overlaps == [notice]

    member.post(url, shown)

    assert import_notices(cast.account).overlaps == []
    assert "may be counted twice" not in data_health(cast.account).summary
    import_lines(cast, other, tmp_path, SEPTEMBER, OTHERS)
    assert import_notices(cast.account).overlaps == []
    for each in (source, other):
        import_lines(cast, each, tmp_path, SEPTEMBER, october)
    (again,) = import_notices(cast.account).overlaps
    assert again.months == ("2026-10",)
    entry = AuditEntry.objects.get(action="source_overlap.dismiss")
    assert entry.target == "Bills and Other"
    assert entry.detail == {"months": ["2026-09"], "amount": "465.000000000000000000", "currency": "USD"}


def test_another_bill_is_no_overlap(cast: Cast, source: CostSource, tmp_path: Path) -> None:
    import_lines(cast, source, tmp_path, SEPTEMBER)
    other = other_source(cast)
    for lines in (
        OTHERS,
        month_of("2026-09", "15.4", account="123", resource="bucket"),
        month_of("2026-09", "15.5", account="123", resource="bucket", provider="Azure"),
        month_of("2026-10", "15.5", account="123", resource="bucket"),
        month_of("2026-09", "15.5", account="123", resource="bucket", currency="EUR"),
    ):
        import_lines(cast, other, tmp_path, lines)
        assert overlaps() == []


def test_other_billing_accounts_are_no_overlap(cast: Cast, source: CostSource, tmp_path: Path) -> None:
    def bill_of_payer(payer: str) -> Path:
        rows = bill(SEPTEMBER).splitlines()
        text = "\n".join([rows[0] + ",BillingAccountId", *(f"{row},{payer}" for row in rows[1:])])
        return write_bill(tmp_path, text + "\n")

    import_bill(cast, source, bill_of_payer("payer-1"))
    other = other_source(cast)
    import_bill(cast, other, bill_of_payer("payer-2"))
    assert overlaps() == []
    import_bill(cast, other, bill_of_payer("payer-1"))
    assert len(overlaps()) == 1


def test_an_overlap_that_was_not_looked_for_is_by_the_task(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    import_lines(cast, source, tmp_path, SEPTEMBER)
    import_lines(cast, other_source(cast), tmp_path, SEPTEMBER)
    SourceOverlap.objects.all().delete()
    CostImport.objects.update(overlaps_looked_for_at=None)
    tasks.find_due_overlaps()
    assert len(overlaps()) == 1
    with account_scope(cast.account):
        assert not CostImport.objects.filter(overlaps_looked_for_at=None).exists()
