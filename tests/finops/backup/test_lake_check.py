"""manage.py check_lake: what it finds, what it repairs, and from where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.finops.backup.machine import empty_machine, run
from tests.servers import LiveServer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

HERE = "tests.finops.backup.machine"


@pytest.fixture
def company(django_db_setup: None) -> Iterator[LiveServer]:
    with empty_machine() as machine:
        machine.run(f"{HERE}:company")
        yield machine


def test_a_lake_as_it_should_be_is_sound(company: LiveServer) -> None:
    code, output = run(company, "check_lake")
    assert (code, output.splitlines()) == (
        0,
        [
            "Checked 2 segments with 41 rows. Compared with imports: 0 of 2 segments of cost.",
            "No problems found in the lake.",
        ],
    )


def test_an_error_is_named_and_repaired_from_a_backup(company: LiveServer, tmp_path: Path) -> None:
    run(company, "backup", str(tmp_path))
    before = company.run(f"{HERE}:cost")
    paths = company.run(f"{HERE}:lake_paths")
    company.run(f"{HERE}:remove", paths["segment"])
    company.run(f"{HERE}:damage", paths["rollup"])
    orphan = company.run(f"{HERE}:add_orphan")

    code, output = run(company, "check_lake")
    assert code == 1
    assert (
        f"{paths['segment']} is missing. Run with --repair --from TARGET of a backup, or import 2026-02"
        in output
    )
    assert f"{paths['rollup']} has a different checksum than in the manifest." in output
    assert f"{orphan} is named by no row." in output
    assert "3 problems left in the lake." in output

    code, output = run(company, "check_lake", "--repair")
    assert (code, "1 problem left in the lake" in output) == (1, True), output
    code, output = run(company, "check_lake", "--repair", "--from", str(tmp_path))
    assert (code, f"{paths['segment']} is missing. Repaired." in output) == (0, True), output
    assert run(company, "check_lake")[0] == 0
    assert company.run(f"{HERE}:cost") == before


def test_a_manifest_row_with_other_figures_than_its_file_takes_the_files(company: LiveServer) -> None:
    path = company.run(f"{HERE}:lake_paths")["segment"]
    company.run(f"{HERE}:misstate_rows", path)

    code, output = run(company, "check_lake")
    assert (code, f"{path} has rows 1, the manifest says 5." in output) == (1, True), output
    assert run(company, "check_lake", "--repair")[0] == 0
    assert run(company, "check_lake")[0] == 0


def test_a_rollup_with_other_sums_than_its_segment_is_created_again(company: LiveServer) -> None:
    path = company.run(f"{HERE}:mistake_rollup")

    code, output = run(company, "check_lake")
    assert (code, f"{path} adds up to other costs in USD than its segment" in output) == (1, True), output
    assert run(company, "check_lake", "--repair")[0] == 0
    assert run(company, "check_lake")[0] == 0
    assert company.run(f"{HERE}:rollups_again") == 2
