"""`make audit`: known vulnerabilities of what is installed here (pip-audit) and of what pages load (npm audit).

Exits with 1 on a vulnerability. What no service could be asked about is printed, and fails only with `--strict`. Further arguments
go to pip-audit: `-s osv` for another service, `--ignore-vuln ID` for one that does not concern us.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Report:
    """Lines to print: vulnerabilities, and what is not audited with the reason."""

    vulnerabilities: list[str] = field(default_factory=list)
    not_audited: list[str] = field(default_factory=list)


def python_report(arguments: Sequence[str]) -> Report:
    command = [sys.executable, "-m", "pip_audit", "--local", "--format=json", "--progress-spinner=off"]
    answer, problem = _json_of([*command, *arguments])
    if "dependencies" not in answer:
        return Report(not_audited=[f"Python packages: {problem}"])
    packages = answer["dependencies"]
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    report = Report()
    if skipped:
        report.not_audited.append(f"{len(skipped)} of {len(packages)} Python packages: {_some(skipped)}")
    for package in packages:
        for vulnerability in package.get("vulns", []):
            fixed = ", ".join(vulnerability["fix_versions"]) or "no version"
            report.vulnerabilities.append(
                f"{package['name']} {package['version']}: {vulnerability['id']}, fixed in {fixed}"
            )
    return report


def node_report() -> Report:
    npm = str(Path(sys.executable).with_name("npm"))
    answer, problem = _json_of([npm, "audit", "--omit=dev", "--package-lock-only", "--json"])
    if "vulnerabilities" not in answer:
        return Report(not_audited=[f"npm packages: {answer.get('message', problem)}"])
    # A package is listed too where only one that it needs is vulnerable: then `via` has that one's name.
    return Report(
        [
            f"{name}: {cause['severity']}, {cause['title']} {cause['url']}"
            for name, package in answer["vulnerabilities"].items()
            for cause in package["via"]
            if isinstance(cause, dict)
        ]
    )


def _json_of(command: list[str]) -> tuple[dict[str, Any], str]:
    """What a program prints as JSON, and its last word where it prints none of use. Both programs exit with 1 on a finding."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    words = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {}
    return (answer if isinstance(answer, dict) else {}), words[-1]


def _some(names: list[str], limit: int = 5) -> str:
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest > 0 else "")


def main(arguments: Sequence[str]) -> int:
    strict = "--strict" in arguments
    reports = [python_report([each for each in arguments if each != "--strict"]), node_report()]
    vulnerabilities = [line for report in reports for line in report.vulnerabilities]
    not_audited = [line for report in reports for line in report.not_audited]
    for line in vulnerabilities:
        print(f"Vulnerability: {line}")
    for line in not_audited:
        print(f"Not audited: {line}")
    return 1 if vulnerabilities or (strict and not_audited) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
