"""`finops ask`, `tools`, `login`: questions to the served program, and where the credential comes from."""

from __future__ import annotations

import csv
import json
import stat
import threading
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcpserver.registry import ToolAccess, registry
from tests.cli.conftest import Shell

QUESTION = (
    "querySpend",
    "--arg",
    "period=last_30_days",
    "--arg",
    "group_by=service",
    "--arg",
    "group_by=region",
)


def over_rest(shell: Shell, tool: str, arguments: dict[str, Any]) -> Any:
    environment = shell.environment
    headers = {"authorization": f"Bearer {environment['FINOPS_TOKEN']}"}
    answer = httpx.post(f"{environment['FINOPS_URL']}/api/v1/tools/{tool}", json=arguments, headers=headers)
    return json.loads(answer.text, parse_float=Decimal)


def test_the_command_prints_the_summary_and_a_table(shell: Shell) -> None:
    body = over_rest(shell, "querySpend", {"period": "last_30_days", "group_by": ["service", "region"]})

    out = shell.run("ask", *QUESTION).stdout

    lines = out.splitlines()
    assert lines[0] == body["summary"]
    assert all(f"Warning: {warning}" in lines for warning in body["warnings"])
    assert len(lines[lines.index("") + 3 :]) == len(body["rows"])


def test_json_is_the_servers_answer(shell: Shell) -> None:
    arguments = {"period": "last_30_days", "group_by": ["service", "region"]}

    by_names = shell.run("ask", *QUESTION, "--format", "json").stdout
    by_json = shell.run("ask", "querySpend", "--json", json.dumps(arguments), "--format", "json").stdout
    by_input = shell.run(
        "ask", "querySpend", "--json", "-", "--format", "json", stdin=json.dumps(arguments)
    ).stdout

    assert json.loads(by_names, parse_float=Decimal) == over_rest(shell, "querySpend", arguments)
    assert by_names == by_json == by_input


def test_csv_has_every_row_and_says_on_standard_error_what_it_leaves_out(shell: Shell) -> None:
    body = over_rest(shell, "querySpend", {"period": "last_30_days", "group_by": ["service", "region"]})

    result = shell.run("ask", *QUESTION, "--format", "csv")

    rows = list(csv.DictReader(result.stdout.splitlines()))
    amounts = [name for name in rows[0] if name.endswith("amount")]
    assert sum(Decimal(row[amounts[0]]) for row in rows) == sum(
        Decimal(str(_value_at(row, amounts[0]))) for row in body["rows"]
    )
    assert body["summary"] in result.stderr
    assert all(f"Warning: {warning}" in result.stderr for warning in body["warnings"])


def _value_at(row: Any, name: str) -> Any:
    for part in name.split("."):
        row = row[part]
    return row


def test_another_list_of_the_answer_can_be_chosen(shell: Shell) -> None:
    out = shell.run("ask", *QUESTION, "--format", "csv", "--rows", "totals").stdout

    assert "currency" in out.splitlines()[0]
    assert "Lists:" in shell.problem("ask", *QUESTION, "--format", "csv", "--rows", "colours")


def test_the_tools_are_listed_and_one_is_described(shell: Shell) -> None:
    names = [tool.name for tool in registry if tool.access is ToolAccess.READ]

    assert [line.split()[0] for line in shell.run("tools").stdout.splitlines()] == names
    assert json.loads(shell.run("tools", "listBudgets").stdout)["name"] == "listBudgets"
    assert "does not exist" in shell.problem("tools", "listBudget")


def test_errors_of_the_server_are_shown_unchanged(shell: Shell) -> None:
    assert "Nearest: listBudgets" in shell.problem("ask", "listBudget")
    assert "colour" in shell.problem("ask", "querySpend", "--arg", "group_by=colour")
    assert "needs write access" in shell.problem(
        *("ask", "create_budget", "--json", '{"name": "x", "amount": 1, "currency": "USD"}')
    )
    assert "unknown, expired or revoked" in shell.problem("ask", "listBudgets", FINOPS_TOKEN="fmcp_no")
    assert "write it as name=value" in shell.problem("ask", "listBudgets", "--arg", "limit")
    assert "--json is not valid JSON" in shell.problem("ask", "listBudgets", "--json", "{")


def test_without_address_or_credential_it_says_how_to_give_them(bare_shell: Shell) -> None:
    assert "FINOPS_URL" in bare_shell.problem("ask", "listBudgets")
    nowhere = "http://127.0.0.1:9"
    no_credential = bare_shell.problem("ask", "listBudgets", FINOPS_URL=nowhere)
    assert "Set FINOPS_TOKEN or run: finops login --kind token" in no_credential
    no_answer = bare_shell.problem("ask", "listBudgets", FINOPS_URL=nowhere, FINOPS_TOKEN="x")
    assert "does not answer" in no_answer
    assert "unencrypted" in bare_shell.problem(
        "ask", "listBudgets", FINOPS_URL="http://finops.example", FINOPS_TOKEN="x"
    )


def test_login_stores_the_credential_for_its_owner_alone(
    bare_shell: Shell, shell: Shell, tmp_path: Path
) -> None:
    url, token = shell.environment["FINOPS_URL"], shell.environment["FINOPS_TOKEN"]

    result = bare_shell.run("login", "--url", url, stdin=f"{token}\n")
    bare_shell.run("login", "--kind", "usage-key", stdin="fuse_x\n")

    path = tmp_path / ".config" / "finops" / "credentials.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token not in result.stdout + result.stderr
    assert json.loads(path.read_text()) == {"url": url, "token": token, "usage-key": "fuse_x"}
    assert "budgets" in bare_shell.run("ask", "listBudgets", "--format", "json").stdout

    path.chmod(0o644)
    assert "Run: chmod 600" in bare_shell.problem("ask", "listBudgets")
    path.chmod(0o600)
    bare_shell.run("logout")
    assert not path.exists()


def test_login_to_another_console_keeps_no_credential_of_the_first(bare_shell: Shell, tmp_path: Path) -> None:
    bare_shell.run("login", "--url", "https://one.example", stdin="fmcp_one\n")
    bare_shell.run("login", "--url", "https://two.example", "--kind", "cost-key", stdin="fcst_two\n")

    path = tmp_path / ".config" / "finops" / "credentials.json"
    assert json.loads(path.read_text()) == {"url": "https://two.example", "cost-key": "fcst_two"}


def test_a_stored_credential_goes_to_its_own_console_alone(bare_shell: Shell) -> None:
    bare_shell.run("login", "--url", "https://one.example", stdin="fmcp_one\n")

    problem = bare_shell.problem("ask", "listBudgets", FINOPS_URL="http://127.0.0.1:9")

    assert "belong to https://one.example, not to http://127.0.0.1:9" in problem


class _Redirect(BaseHTTPRequestHandler):
    paths: list[str] = []

    def do_POST(self) -> None:
        self.paths.append(self.path)
        self.send_response(302)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def redirecting_url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Redirect)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_credential_follows_no_redirect(bare_shell: Shell, redirecting_url: str) -> None:
    problem = bare_shell.problem("ask", "listBudgets", FINOPS_URL=redirecting_url, FINOPS_TOKEN="x")

    assert "redirects to /elsewhere" in problem
    assert _Redirect.paths == ["/api/v1/tools/listBudgets"]


def test_a_write_with_the_same_key_happens_once(shell: Shell, served_keys: dict[str, str]) -> None:
    question = ("ask", "create_dashboard", "--arg", "name=Of CI", "--format", "json")
    write = served_keys["write"]

    answers = [
        shell.run(*question, "--idempotency-key", "build-7", FINOPS_TOKEN=write).stdout for _ in range(2)
    ]

    assert answers[0] == answers[1]
    assert "already exists" in shell.problem(*question, FINOPS_TOKEN=write)
