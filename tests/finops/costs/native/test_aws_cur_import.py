"""A Cost and Usage Report from the file to the answer: uploads take it, the page says what it was."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from django.core.management import call_command
from django.urls import reverse

from finops.costs.models import CostSource
from tests.cast import Cast, signed_in
from tests.factories.imports import import_bill, total
from tests.finops.costs.native.cur_files import as_legacy_csv, as_parquet, line, usage
from tests.pages import get_page


def test_chunks_of_a_report_become_cost_and_the_page_of_the_import_says_what_they_were(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    negation = line("SavingsPlanNegation", "-2")
    covered = line("SavingsPlanCoveredUsage", "2", savings_plan_savings_plan_effective_cost=Decimal("1.5"))
    (tmp_path / "report-00001.snappy.parquet").write_bytes(as_parquet([usage("1"), covered]))
    (tmp_path / "report-00002.snappy.parquet").write_bytes(as_parquet([usage("4"), negation]))
    outcome = import_bill(cast, source, *sorted(tmp_path.iterdir()))
    assert total(cast.account) == 5
    (totals,) = outcome.report["months"][0]["totals"]
    assert Decimal(totals["effective_cost"]) == Decimal("6.5")
    page = get_page(signed_in(cast.owner), reverse("cost_import", args=[cast.account.slug, outcome.pk]))
    assert "AWS Cost and Usage Report (CUR 2.0), Parquet" in page
    assert "1 SavingsPlanNegation lines of -2 USD were left out" in page


def test_the_command_says_the_native_format(
    cast: Cast, source: CostSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report-1.csv"
    file.write_bytes(as_legacy_csv([usage("1")]))
    call_command("import_focus", str(file), account=cast.account.slug, source=source.name)
    assert "CSV, AWS Cost and Usage Report (legacy CUR), 1 rows" in capsys.readouterr().out
