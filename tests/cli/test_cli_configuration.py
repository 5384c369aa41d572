"""`finops config`: the served account's configuration as a file."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Shell


def test_a_file_is_exported_planned_and_applied(
    shell: Shell, served_keys: dict[str, str], tmp_path: Path
) -> None:
    write = served_keys["write"]
    path = tmp_path / "finops.yaml"
    path.write_text(shell.run("config", "export", "--kind", "budgets").stdout)
    assert shell.run("config", "plan", str(path), FINOPS_TOKEN=write).stdout == "No changes.\n"

    path.write_text(path.read_text().replace("'10000'", "12000"))
    line = "change budgets A year: amount 10000 -> 12000\n"
    plan = shell.run("config", "plan", "--exit-code", str(path), status=1, FINOPS_TOKEN=write)
    assert (plan.stdout, plan.stderr) == (line, "finops: 1 change.\n")
    assert shell.run("config", "apply", "-", stdin=path.read_text(), FINOPS_TOKEN=write).stdout == line

    assert shell.run("config", "apply", str(path), FINOPS_TOKEN=write).stdout == "No changes.\n"
    path.write_text(path.read_text().replace("12000", "10000"))
    shell.run("config", "apply", str(path), FINOPS_TOKEN=write)


def test_a_read_only_key_a_broken_file_and_none_are_refused(
    shell: Shell, served_keys: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "finops.yaml"
    path.write_text("version: 1\nbudgets: no\n")

    assert "needs write access" in shell.problem("config", "apply", str(path))
    refusal = shell.problem("config", "plan", str(path), FINOPS_TOKEN=served_keys["write"])
    assert "budgets must be a list" in refusal
    assert "cannot be read" in shell.problem("config", "plan", str(tmp_path / "none.yaml"))
    assert "does not exist" in shell.problem("config", "export", "--kind", "colours")
