"""`make sbom`: software bills of materials (CycloneDX) of what production runs, in `var/sbom/`.

`python.cdx.json` has the packages of requirements.txt and of the files for extras and embedded programs, with all that they need, and none of the development tools beside them;
`spark.cdx.json` those of requirements-spark.txt; `npm.cdx.json` what pages load, as npm writes it. Fails for a component whose
license is not allowed (ops/licenses.py).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ops import licenses

_ROOT = Path(__file__).parent.parent
REQUIREMENTS = [_ROOT / f"requirements{part}.txt" for part in ("", "-embedded", "-extras")]
SPARK_REQUIREMENTS = [_ROOT / "requirements-spark.txt"]


def required_packages(requirements: Iterable[Requirement]) -> set[str]:
    """Names of the installed packages that requirements need, with what these need in turn, by their extras and this machine.

    Errors: PackageNotFoundError for one that is not installed.
    """
    queue = [(requirement, {""}) for requirement in requirements]
    seen: set[tuple[str, str]] = set()
    while queue:
        requirement, extras = queue.pop()
        if requirement.marker and not any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        name = canonicalize_name(requirement.name)
        wanted = {(name, extra) for extra in {"", *requirement.extras}} - seen
        seen |= wanted
        if wanted:
            needs = metadata.requires(name) or []
            queue += [(Requirement(line), {extra for _, extra in wanted}) for line in needs]
    return {name for name, _ in seen}


def python_sbom(requirements: Sequence[Path] = REQUIREMENTS) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "cyclonedx_py",
        "environment",
        sys.executable,
        "--output-format=JSON",
        "--no-validate",
    ]
    bom: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    names = required_packages(line for path in requirements for line in read_requirements(path))
    bom["components"] = [each for each in bom["components"] if canonicalize_name(each["name"]) in names]
    references = {each["bom-ref"] for each in bom["components"]}
    bom["dependencies"] = [
        {**each, "dependsOn": [ref for ref in each.get("dependsOn", []) if ref in references]}
        for each in bom["dependencies"]
        if each["ref"] in references
    ]
    return bom


def read_requirements(requirements: Path) -> list[Requirement]:
    lines = (line.split(" #")[0].strip() for line in requirements.read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def npm_sbom() -> dict[str, Any]:
    npm = str(Path(sys.executable).with_name("npm"))
    command = [
        npm,
        "sbom",
        "--omit=dev",
        "--package-lock-only",
        "--sbom-type=application",
        "--sbom-format=cyclonedx",
    ]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)  # type: ignore[no-any-return]


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    boms = {"python": python_sbom(), "spark": python_sbom(SPARK_REQUIREMENTS), "npm": npm_sbom()}
    for name, bom in boms.items():
        path = folder / f"{name}.cdx.json"
        path.write_text(json.dumps(bom, indent=1) + "\n")
        print(f"{path}: {len(bom['components'])} components")
    refused = sorted({line for bom in boms.values() for line in licenses.refused(bom)})
    if refused:
        sys.exit("License not allowed (ops/licenses.py):\n" + "\n".join(refused))


if __name__ == "__main__":
    main()
