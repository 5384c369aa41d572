"""`finops import` and `finops push`: files to the push APIs of the served program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Shell
from tests.finops.connections.pushes.push_steps import csv_rows
from tests.servers import LiveServer
from tests.waiting import wait_until

EVENT = {"customer_id": "c-1", "metric": "requests", "quantity": 2, "timestamp": "2026-11-20T12:00:00Z"}


def import_output(shell: Shell, server: LiveServer, *arguments: str, status: int = 0) -> tuple[str, str]:
    """Standard output and error of an import, the worker's turn taken meanwhile."""
    process = shell.start("import", *arguments)

    def is_over() -> bool:
        server.run("tests.cli.server_steps:run_pushes")
        return process.poll() is not None

    wait_until(is_over, lambda: "the import did not end", seconds=60, pause=0.2)
    out, err = process.communicate()
    assert process.returncode == status, (out, err)
    return out, err


def bill(path: Path, *amounts: str, month: str = "2026-05") -> str:
    path.write_bytes(csv_rows(*amounts, BillingPeriodStart=f"{month}-01T00:00:00Z"))
    return str(path)


def test_a_file_replaces_its_month(shell: Shell, live_server_process: LiveServer, tmp_path: Path) -> None:
    first = bill(tmp_path / "first.csv", "1.25", "2.50")

    out, _err = import_output(shell, live_server_process, first, "--month", "2026-05")

    assert "2026-05: 2 rows; billed 3.75 USD" in out


def test_several_files_are_one_month(shell: Shell, live_server_process: LiveServer, tmp_path: Path) -> None:
    files = [bill(tmp_path / f"{number}.csv", str(number)) for number in (1, 2, 3)]

    out, _err = import_output(shell, live_server_process, *files, "--month", "2026-05")

    assert "2026-05: 3 rows; billed 6 USD" in out


def test_a_failed_import_is_status_1_with_row_and_reason(
    shell: Shell, live_server_process: LiveServer, tmp_path: Path
) -> None:
    wrong = bill(tmp_path / "wrong.csv", "1", month="2026-04")

    _out, err = import_output(shell, live_server_process, wrong, "--month", "2026-05", status=1)

    assert "failed, the month is as before:" in err


def test_a_message_that_cannot_be_sent_is_reported(shell: Shell, tmp_path: Path) -> None:
    same = [bill(tmp_path / f"{number}.csv", "1") for number in (1, 2)]

    assert "Write it as 2026-05." in shell.problem("import", same[0], "--month", "May")
    assert "cannot be read" in shell.problem("import", "nothing.csv", "--month", "2026-05")
    assert "parts 1 and 2" in shell.problem("import", *same, "--month", "2026-05").lower()
    assert "key" in shell.problem("import", same[0], "--month", "2026-05", FINOPS_COST_KEY="no")


def lines(*events: Any) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def test_events_are_sent_in_every_form_and_a_file_again_counts_once(shell: Shell, tmp_path: Path) -> None:
    events = [{**EVENT, "customer_id": f"c-{number}"} for number in range(1_500)]
    forms = {
        "lines.ndjson": lines(*events),
        "array.json": json.dumps([{**EVENT, "metric": "orders"}], indent=2),
        "object.json": json.dumps({"events": [{**EVENT, "metric": "seats"}]}),
    }
    for name, text in forms.items():
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in forms]

    once = shell.run("push", *files).stdout
    again = shell.run("push", *files).stdout

    assert once == again == "1502 events accepted, 0 rejected.\n"


def test_a_rejected_event_is_named_by_its_place_and_status_is_1(shell: Shell) -> None:
    text = lines(*[EVENT] * 1_001, {**EVENT, "quantity": "many"})

    err = shell.problem("push", "-", stdin=text, status=1)

    assert "-, event 1002: quantity must be a number" in err


def test_a_dry_run_stores_nothing(shell: Shell) -> None:
    out = shell.run("push", "--dry-run", "-", stdin=lines({**EVENT, "metric": "tried"})).stdout

    assert out == "1 events would be accepted, 0 rejected.\n"
    assert "tried" not in shell.run("ask", "queryUsage", "--format", "json").stdout


def test_a_body_without_a_list_of_events_is_refused(shell: Shell) -> None:
    for text in ("{", "[1 2]", "no"):
        assert "has no events" in shell.problem("push", "-", stdin=text)
