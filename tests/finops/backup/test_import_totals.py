"""check_lake compares the cost of each month with what its import recorded."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.backup.lake_check import CheckResult, check_lake
from finops.costs.models import CostSource
from finops.lake.models import LakeSegment
from finops.lake.storage.segments import sha256
from finops.lake.storage.storage import storage
from tests.cast import Cast
from tests.factories.bill_text import bill, line, month_of
from tests.factories.costs import add_source, cost
from tests.factories.imports import import_bill, write_bill

pytestmark = pytest.mark.django_db

SEPTEMBER, OCTOBER = month_of("2026-09"), month_of("2026-10", "10.01")
CORRECTION = line("2026-09", 3, "-1", charge_class="Correction")


@pytest.fixture
def source(cast: Cast, tmp_path: Path) -> CostSource:
    """September imported twice, then October with a correction of September."""
    with account_scope(cast.account):
        source = add_source(cast.account, [], name="Bills")
        for number, lines in enumerate((month_of("2026-09", "15.5"), SEPTEMBER, [*OCTOBER, CORRECTION])):
            import_bill(cast, source, write_bill(tmp_path, bill(lines), f"{number}.csv"))
    return source


def check() -> CheckResult:
    return check_lake(repair=False, backup=None, progress=lambda _text: None)


def september(account: Account) -> LakeSegment:
    return LakeSegment.objects.unscoped().get(
        account=account, month="2026-09-01", carried_by=None, retired_at=None
    )


def add_to_lines(segment: LakeSegment, column: str, amount: str) -> None:
    """Another file in its place, with as many rows, which the manifest names with its checksum."""
    file = Path(storage().local(segment.path, segment.checksum))
    table = pq.read_table(file)
    place = table.schema.get_field_index(column)
    first, *later_values = table[column].to_pylist()
    amounts = pa.array([first + Decimal(amount), *later_values], table.schema.field(place).type)
    table = table.set_column(place, table.schema.field(place), amounts)
    new = storage().new_file()
    pq.write_table(table, new)
    segment.path, segment.checksum, segment.bytes = f"{segment.path}-2", sha256(new), new.stat().st_size
    storage().put(new, segment.path)
    segment.save()


def test_months_corrections_and_restatements_equal_their_imports(cast: Cast, source: CostSource) -> None:
    result = check()

    assert (result.problems, result.cost_files, result.compared) == ([], 3, 3)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("billed_cost", "adds up to 450.01"),
        ("effective_cost", "adds up to 450.01"),
    ],
)
def test_a_file_that_differs_by_a_cent_is_named(
    cast: Cast, source: CostSource, column: str, text: str
) -> None:
    segment = september(cast.account)
    add_to_lines(segment, column, "0.01")

    (problem,) = check().problems

    assert (problem.path, problem.is_repaired) == (segment.path, False)
    assert problem.text.startswith(text)
    assert f" USD {column.removesuffix('_cost')}, import " in problem.text
    assert problem.text.endswith("recorded 450")
    assert problem.advice == f"Import 2026-09 of source {source.pk} again (account {cast.account.pk})."


def test_a_month_whose_file_is_gone_from_the_manifest_is_named(cast: Cast, source: CostSource) -> None:
    september(cast.account).delete()

    (problem,) = check().problems

    assert problem.path == f"2026-09 of source {source.pk}"
    assert problem.text.endswith("recorded 450 USD billed")


def test_cost_that_no_import_recorded_is_not_compared(cast: Cast, source: CostSource) -> None:
    with account_scope(cast.account):
        add_source(cast.account, [cost(september(cast.account).month, "7")], name="Other")

    result = check()

    assert (result.problems, result.cost_files, result.compared) == ([], 4, 3)
