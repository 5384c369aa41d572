"""The license: one for all that is published, and no dependency forbids it."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from ops import licenses, sbom
from tests.ops.variables import ROOT

LICENSE = "Apache-2.0"
TRACKED = [
    Path(name)
    for name in subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
]
MANIFESTS = [
    path
    for path in TRACKED
    if path.parts[0] != "tests"
    and path.name in {"pyproject.toml", "package.json", "plugin.json", "Chart.yaml", "Dockerfile"}
]


def _license_of(manifest: Path) -> Any:
    text = (ROOT / manifest).read_text()
    match manifest.name:
        case "pyproject.toml":
            return tomllib.loads(text)["project"]["license"]
        case "Chart.yaml":
            return yaml.safe_load(text)["annotations"]["artifacthub.io/license"]
        case "Dockerfile":
            return re.findall(
                r"^LABEL org\.opencontainers\.image\.licenses=(\S+)$", text.split("\nFROM ")[-1], re.M
            )[0]
    return json.loads(text)["license"]


def _component(name: str, *declared: str) -> dict[str, Any]:
    return {"name": name, "version": "1.0", "licenses": [{"expression": each} for each in declared]}


def test_the_license_is_that_of_the_apache_foundation_and_the_readme_names_it() -> None:
    text = (ROOT / "LICENSE").read_text()

    assert text.split()[:4] == ["Apache", "License", "Version", "2.0,"]
    assert "END OF TERMS AND CONDITIONS" in text
    assert f"[{LICENSE}](LICENSE)" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("manifest", MANIFESTS, ids=str)
def test_each_manifest_has_its_spdx_identifier(manifest: Path) -> None:
    assert _license_of(manifest) == LICENSE


def test_the_image_contains_the_license_and_the_notices() -> None:
    assert {"!LICENSE", "!NOTICE"} <= set((ROOT / ".dockerignore").read_text().splitlines())


def test_files_that_users_copy_name_it_themselves() -> None:
    copied = [path for path in TRACKED if path.parts[0] == "clients"]

    assert copied
    assert [path for path in copied if LICENSE not in (ROOT / path).read_text().split("\n", 1)[0]] == []


def test_folders_with_files_of_others_are_in_the_notices() -> None:
    notices = (ROOT / "NOTICE").read_text()
    folders = {
        path.parent for path in TRACKED if path.name.startswith("LICENSE") and path.parts[0] == "finops"
    }

    assert folders
    assert [folder for folder in folders if f"{folder}/" not in notices] == []


@pytest.mark.parametrize(
    "bom", [sbom.python_sbom, lambda: sbom.python_sbom(sbom.SPARK_REQUIREMENTS), sbom.npm_sbom],
    ids=["python", "spark", "npm"],
)  # fmt: skip
def test_the_licenses_of_all_dependencies_are_allowed(bom: Any) -> None:
    assert licenses.refused(bom()) == []


@pytest.mark.parametrize(
    "declared",
    [
        "GPL-3.0-only",
        "AGPL-3.0-or-later",
        "SSPL-1.0",
        "MIT AND GPL-2.0-only",
        "LicenseRef-Ours",
        "see LICENSE",
        "MIT OR",
    ],
)
def test_a_license_that_is_forbidden_or_unknown_is_refused(declared: str) -> None:
    bom = {"components": [_component("fine", "MIT"), _component("other", declared)]}

    assert licenses.refused(bom) == [f"other 1.0: {declared}"]


def test_a_component_without_a_license_is_refused() -> None:
    assert licenses.refused({"components": [_component("other")]}) == ["other 1.0: no license declared"]


def test_all_licenses_that_apply_together_are_checked() -> None:
    assert licenses.refused({"components": [_component("other", "MIT", "GPL-3.0-only")]})


@pytest.mark.parametrize("declared", ["MIT", "GPL-2.0-only OR MIT", "(Apache-2.0 OR GPL-3.0-only) AND ISC"])
def test_a_license_that_can_be_chosen_is_allowed(declared: str) -> None:
    assert licenses.refused({"components": [_component("other", declared)]}) == []


def test_the_bill_of_materials_fails_for_a_forbidden_license(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbidden = {"components": [_component("other", "AGPL-3.0-only")]}
    monkeypatch.setattr("sys.argv", ["sbom", str(tmp_path)])
    monkeypatch.setattr(sbom, "npm_sbom", lambda: forbidden)
    monkeypatch.setattr(sbom, "python_sbom", lambda *_file: {"components": []})

    with pytest.raises(SystemExit, match=r"other 1\.0: AGPL-3\.0-only"):
        sbom.main()
