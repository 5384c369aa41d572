"""The commands and their arguments."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from finops_cli import VERSION, configuration, credentials
from finops_cli.budget_check import run_budget_check
from finops_cli.client import Client
from finops_cli.errors import CommandError
from finops_cli.output import print_answer
from finops_cli.pushes import run_import, run_push


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0, 1 for a negative result, 2 for an error."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except CommandError as error:
        sys.stdout.flush()
        print(f"finops: {error.message}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does: nothing is left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="finops", description="Questions, imports, pushes and CI gates of a FinOps console."
    )
    parser.add_argument("--version", action="version", version=f"finops {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    _add_questions(commands)
    _add_files(commands)
    _add_configuration(commands)
    login = commands.add_parser("login", help="store the address and a credential")
    login.add_argument(
        "--url", default="", help="address of the console; default: FINOPS_URL or the stored one"
    )
    login.add_argument("--kind", choices=list(credentials.KINDS), default="token", help="default: token")
    login.set_defaults(run=_login)
    logout = commands.add_parser("logout", help="delete the stored credentials")
    logout.set_defaults(run=_logout)
    return parser


def _add_questions(commands: Any) -> None:
    ask = commands.add_parser("ask", help="call a tool")
    ask.add_argument("tool", help="such as querySpend; finops tools lists them")
    ask.add_argument(
        "--arg", action="append", default=[], metavar="NAME=VALUE", help="repeat a name for a list"
    )
    ask.add_argument(
        "--json", default="", metavar="JSON", help="arguments as JSON, @file, or - for standard input"
    )
    ask.add_argument("--format", choices=("table", "json", "csv"), default="table", help="default: table")
    ask.add_argument("--rows", default="", metavar="FIELD", help="list of the answer for table and csv")
    ask.add_argument(
        "--idempotency-key",
        default="",
        metavar="KEY",
        help="send a write again for 24 hours; default: a new one",
    )
    ask.set_defaults(run=_ask)
    tools = commands.add_parser("tools", help="list the tools, or describe one")
    tools.add_argument("tool", nargs="?", default="")
    tools.set_defaults(run=_tools)
    check = commands.add_parser("budget-check", help="exit 1 where a budget does not hold with a change")
    check.add_argument(
        "--delta", required=True, metavar="FILE", help="infracost diff --format json; - for standard input"
    )
    check.add_argument(
        "--budget", action="append", default=[], metavar="NAME", help="default: those of the account"
    )
    check.set_defaults(run=run_budget_check)


def _add_files(commands: Any) -> None:
    imports = commands.add_parser("import", help="replace a month of a cost source by FOCUS files")
    imports.add_argument("files", nargs="+", metavar="FILE", help="CSV, CSV.gz, Parquet, JSON or NDJSON")
    imports.add_argument("--month", required=True, metavar="YYYY-MM", help="billing month of all rows")
    imports.add_argument("--no-wait", action="store_true", help="end when the import is queued")
    imports.add_argument("--timeout", type=float, default=3600.0, metavar="SECONDS", help="default: 3600")
    imports.set_defaults(run=run_import)
    push = commands.add_parser("push", help="send usage events")
    push.add_argument("files", nargs="+", metavar="FILE", help="JSON or NDJSON; - for standard input")
    push.add_argument("--dry-run", action="store_true", help="validate without storing")
    push.set_defaults(run=run_push)


def _add_configuration(commands: Any) -> None:
    parser = commands.add_parser("config", help="export, plan or apply the configuration as YAML")
    actions = parser.add_subparsers(dest="action", required=True, metavar="action")
    export = actions.add_parser("export", help="print the file")
    export.add_argument("--kind", action="append", default=[], help="such as budgets; default: all")
    export.set_defaults(run=configuration.run_export)
    plan = actions.add_parser("plan", help="list what applying the file would change")
    plan.add_argument("--exit-code", action="store_true", help="exit 1 where there are changes")
    plan.set_defaults(run=configuration.run_plan)
    apply = actions.add_parser("apply", help="apply the file, all or nothing")
    apply.set_defaults(run=configuration.run_apply)
    for action in (plan, apply):
        action.add_argument("file", metavar="FILE", help="YAML; - for standard input")
        action.add_argument("--delete", action="store_true", help="delete rows that the file leaves out")


def _ask(options: argparse.Namespace) -> None:
    arguments = {**_json_arguments(options.json), **_named_arguments(options.arg)}
    answer = Client("token").call(options.tool, arguments, key=options.idempotency_key)
    print_answer(answer, options.format, options.rows)


def _json_arguments(text: str) -> dict[str, Any]:
    """Parse --json. Raises CommandError for anything but an object."""
    if not text:
        return {}
    try:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8")
        arguments = json.loads(text)
    except OSError as error:
        raise CommandError(f"--json: {error.filename} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise CommandError(f"--json is not valid JSON: {error}.") from error
    if not isinstance(arguments, dict):
        raise CommandError('--json must be an object, such as {"limit": 5}.')
    return arguments


def _named_arguments(pairs: list[str]) -> dict[str, Any]:
    """Return the values as texts, or lists for repeated names: the server parses numbers, days and JSON from texts.
    Raises CommandError for a pair without a name."""
    values: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise CommandError(f"--arg {pair}: write it as name=value.")
        values.setdefault(name, []).append(value)
    return {name: each[0] if len(each) == 1 else each for name, each in values.items()}


def _tools(options: argparse.Namespace) -> None:
    tools = Client("token").get("/api/v1/tools").json["tools"]
    if not options.tool:
        width = max(len(each["name"]) for each in tools)
        for each in tools:
            print(f"{each['name']:<{width}}  {each['access']:<5}  {each['title']}")
        return
    chosen = next((each for each in tools if each["name"] == options.tool), None)
    if chosen is None:
        raise CommandError(f"Tool {options.tool!r} does not exist. finops tools lists them.")
    print(json.dumps(chosen, indent=2, default=str))


def _login(options: argparse.Namespace) -> None:
    values = credentials.load()
    url = options.url or os.environ.get("FINOPS_URL", "") or values.get("url", "")
    if not url:
        raise CommandError("No address of the console. Run: finops login --url https://console.example")
    url = credentials.checked_url(url)
    if values.get("url", url) != url:
        values = {}  # credentials of another console
    path = credentials.save({**values, "url": url, options.kind: credentials.prompted(options.kind)})
    print(f"Saved to {path}.")


def _logout(options: argparse.Namespace) -> None:
    path = credentials.credentials_path()
    path.unlink(missing_ok=True)
    print(f"Deleted {path}.")
