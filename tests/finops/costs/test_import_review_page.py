"""The page of an import that needs review, and Settings → Imports."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.costs.models import CostImport, ImportReviewSettings
from tests.cast import Cast, signed_in
from tests.factories.bill_text import bill, month_of
from tests.finops.costs.test_connections_page import imports_of, run_imports, sources_of, upload
from tests.pages import get_page, text_of

SETTINGS = "/a/acme/settings/imports/"
FORM = {"fall_percent": "30", "growth_percent": "200", "least_amount": "5"}


@pytest.fixture
def review(cast: Cast) -> CostImport:
    """465 USD of September, and a file of 186 USD on 12 days of it, with a whole October."""
    client = signed_in(cast.member)
    upload(client, bill(month_of("2026-09", "15.5")))
    run_imports(cast)
    part = bill(month_of("2026-09", "15.5", days=12), month_of("2026-10", "10"))
    upload(client, part, source=sources_of(cast)[0].pk)
    run_imports(cast)
    return imports_of(cast)[-1]


def page_of(job: CostImport, action: str = "") -> str:
    return f"/a/acme/connections/imports/{job.pk}/{action}"


def test_the_page_shows_before_and_after_and_both_choices(cast: Cast, review: CostImport) -> None:
    answer = signed_in(cast.member).get(page_of(review))
    page = text_of(answer)
    assert "Needs review Not imported yet" in page
    assert "12 lines of Sep on 12 days; the source has 30 on 30 days" in page
    assert re.search(r"Sep \$465\.00 \$186\.00 −\$279\.00 −60%", page)
    assert "Replace September 2026" in page
    assert "Add as corrections" in page
    assert "hx-trigger" not in re.search(r'<div id="import"[^>]*>', answer.content.decode()).group()  # type: ignore[union-attr]
    assert "Needs review" in get_page(signed_in(cast.viewer), "/a/acme/connections/")


def test_a_viewer_sees_it_and_decides_nothing(cast: Cast, review: CostImport) -> None:
    client = signed_in(cast.viewer)
    assert "A member, admin or owner can review this import." in get_page(client, page_of(review))
    assert [client.post(page_of(review, each)).status_code for each in ("confirm/", "discard/")] == [
        403,
        403,
    ]


def test_a_member_adds_it_as_corrections(cast: Cast, review: CostImport) -> None:
    client = signed_in(cast.member)
    client.post(page_of(review, "confirm/"), {"choice-2026-09": "add"})
    run_imports(cast)
    page = get_page(client, page_of(review))
    assert re.search(r"Sep Corrections, carried by Oct", page)
    assert "$465.00 $651.00 +$186.00" in page


def test_a_choice_that_is_not_offered_is_refused(cast: Cast, review: CostImport) -> None:
    client = signed_in(cast.member)
    answer = client.post(page_of(review, "confirm/"), {"choice-2026-10": "add"}, follow=True)
    assert "2026-10 cannot be imported as" in answer.content.decode()
    assert imports_of(cast)[-1].status == "waiting"


def test_a_member_discards_it(cast: Cast, review: CostImport) -> None:
    answer = signed_in(cast.member).post(page_of(review, "discard/"), follow=True)
    assert "Discarded Nothing was imported" in text_of(answer)
    again = signed_in(cast.member).post(page_of(review, "confirm/"), follow=True)
    assert "no longer needs review: it is discarded" in again.content.decode()


def test_an_admin_chooses_when_imports_need_review(cast: Cast) -> None:
    answer = signed_in(cast.admin).post(SETTINGS, FORM, follow=True)
    assert "Saved. Applies to new imports." in answer.content.decode()
    with account_scope(cast.account):
        row = ImportReviewSettings.objects.get()
        assert (row.fall_percent, row.growth_percent, row.least_amount) == (30, 200, Decimal(5))
        assert AuditEntry.objects.latest("pk").action == "import_review.change"
    assert 'value="30"' in signed_in(cast.viewer).get(SETTINGS).content.decode()


@pytest.mark.parametrize(
    ("person", "changed", "status"),
    [("member", {}, 403), ("viewer", {}, 403), ("admin", {"fall_percent": "0"}, 422)],
)
def test_invalid_settings_and_roles_are_refused(
    person: str, changed: dict[str, Any], status: int, cast: Cast
) -> None:
    assert signed_in(cast.person(person)).post(SETTINGS, {**FORM, **changed}).status_code == status
