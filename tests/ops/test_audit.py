"""`make audit` with the real pip-audit and npm, against services on this machine that speak as OSV and the npm registry do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from ops import audit

DJANGO = {
    "id": "PYSEC-2026-1",
    "summary": "made up for this test",
    "affected": [
        {
            "package": {"name": "django", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.1"}]}],
        }
    ],
}
ECHARTS = {
    "echarts": [
        {
            "id": 1,
            "url": "https://example.com/1",
            "title": "made up for this test",
            "severity": "high",
            "vulnerable_versions": "<99.0.0",
            "cwe": [],
            "cvss": {"score": 7, "vectorString": None},
        }
    ]
}


class Service(BaseHTTPRequestHandler):
    vulnerable = False

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/osv":
            name = json.loads(body)["package"]["name"]
            self.answer({"vulns": [DJANGO]} if self.vulnerable and name.lower() == "django" else {})
        else:
            self.answer(ECHARTS if self.vulnerable else {})

    def do_GET(self) -> None:
        self.answer({"error": "not found"}, status=404)

    def answer(self, content: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


class VulnerableService(Service):
    vulnerable = True


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Arguments for pip-audit; npm finds its registry in the environment."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), request.param)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("npm_config_registry", address)
    yield ["--vulnerability-service=osv", f"--osv-url={address}/osv"]
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("services", [VulnerableService], indirect=True)
def test_a_vulnerability_fails_and_names_package_and_version(
    services: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit.main(services) == 1

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].lower().startswith("vulnerability: django 5.2")
    assert lines[0].endswith(": PYSEC-2026-1, fixed in 99.1")
    assert lines[1] == "Vulnerability: echarts: high, made up for this test https://example.com/1"


@pytest.mark.parametrize("services", [Service], indirect=True)
def test_without_vulnerabilities_the_output_is_empty(
    services: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit.main([*services, "--strict"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_packages_that_no_service_answers_for_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    nobody = ["--vulnerability-service=osv", "--osv-url=http://127.0.0.1:9/osv", "--timeout=1"]

    assert audit.main(nobody) == 0
    assert audit.main([*nobody, "--strict"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[:2] for line in lines] == [
        ["Not audited", " Python packages"],
        ["Not audited", " npm packages"],
    ] * 2
