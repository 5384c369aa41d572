"""The version stands in pyproject.toml; files that need a copy have the same."""

from __future__ import annotations

import re

import pytest
from django.conf import settings

from tests.source_tree import ROOT, tracked_files

COPIES = {
    "CHANGELOG.md": r"\A[^#]*# [^#]*^## (\S+)",
    "cli/finops_cli/__init__.py": r'^VERSION = "(.+)"',
    "docs/operations.md": r"\btag: ([\d.]+)}",
    "ops/helm/finops/Chart.yaml": r"^(?:version|appVersion): (.+)",
    "package-lock.json": r'"name": "finops-console",\s+"version": "(.+)"',
    "package.json": r'^  "version": "(.+)"',
    "plugins/finops-console/.claude-plugin/plugin.json": r'^  "version": "(.+)"',
    "plugins/finops-console/.codex-plugin/plugin.json": r'^  "version": "(.+)"',
}


@pytest.mark.parametrize("file", COPIES)
def test_a_copy_of_the_version_is_that_of_the_project(file: str) -> None:
    copies = re.findall(COPIES[file], (ROOT / file).read_text(), re.MULTILINE)

    assert set(copies) == {settings.VERSION}


def test_no_other_file_states_the_version() -> None:
    """As a quoted text or a value of YAML: a number in prose is something else."""
    stated = re.compile(rf"(?:[\"']|^\w*[vV]ersion: ){re.escape(settings.VERSION)}[\"']?,?$", re.MULTILINE)
    files = [
        path for path in tracked_files() if path.suffix in {".py", ".toml", ".json", ".yaml", ".js", ".mjs"}
    ]
    names = {str(path.relative_to(ROOT)) for path in files if stated.search(path.read_text())}

    assert {name for name in names if not name.startswith("tests/")} <= {*COPIES, "pyproject.toml"}
