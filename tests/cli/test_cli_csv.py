"""CSV of the command line: what a spreadsheet would run as a formula is text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CLI = Path(__file__).parents[2] / "cli"
WRITE = "import json, sys; from finops_cli.output import write_csv; write_csv(json.load(sys.stdin))"


def written(value: str, column: str = "name") -> list[str]:
    rows = json.dumps([{column: value, "amount": -1}])
    command = [sys.executable, "-c", WRITE]
    return subprocess.run(
        command, input=rows, cwd=CLI, capture_output=True, text=True, check=True
    ).stdout.split("\n")


@pytest.mark.parametrize("sign", "=+-@＝＋－＠")  # noqa: RUF001
def test_a_formula_in_normal_or_wide_characters_is_text(sign: str) -> None:
    assert written(f"{sign}1+1") == ["name,amount", f"'{sign}1+1,-1", ""]
    assert written("x", column=f"{sign}1+1") == [f"'{sign}1+1,amount", "x,-1", ""]
    assert written(f"x;{sign}1+1") == ["name,amount", f"x;'{sign}1+1,-1", ""]
