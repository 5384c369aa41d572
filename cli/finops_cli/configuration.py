"""`finops config`: the account's configuration as a YAML file."""

from __future__ import annotations

import argparse
import sys
from typing import Any
from urllib.parse import urlencode

from finops_cli.client import Client
from finops_cli.errors import FAILED, CommandError
from finops_cli.files import read_file
from finops_cli.output import printable

PATH = "/api/v1/configuration"


def run_export(options: argparse.Namespace) -> None:
    """Print the file. Raises CommandError."""
    query = urlencode([("kind", kind) for kind in options.kind])
    sys.stdout.write(Client("token").get(f"{PATH}?{query}").body.decode())


def run_plan(options: argparse.Namespace) -> None:
    """Print what applying would change. Raises CommandError: with FAILED for changes if --exit-code is set."""
    changes = _send(options, "plan")
    if changes and options.exit_code:
        plural = "s" if len(changes) > 1 else ""
        raise CommandError(f"{len(changes)} change{plural}.", FAILED)


def run_apply(options: argparse.Namespace) -> None:
    """Apply the file and print what changed. Raises CommandError, and then nothing is written."""
    _send(options, "apply")


def _send(options: argparse.Namespace, action: str) -> list[dict[str, Any]]:
    query = "?delete=true" if options.delete else ""
    headers = {"Content-Type": "application/yaml"}
    answer = Client("token").send("POST", f"{PATH}/{action}{query}", read_file(options.file), headers)
    changes: list[dict[str, Any]] = answer.json["changes"]
    for change in changes:
        print(_line(change))
    if not changes:
        print("No changes.")
    return changes


def _line(change: dict[str, Any]) -> str:
    fields = ", ".join(_field(name, each) for name, each in change["fields"].items())
    text = f"{change['action']} {change['kind']} {change['name']}"
    return printable(f"{text}: {fields}" if fields else text)


def _field(name: str, values: dict[str, Any]) -> str:
    """Return a field with both values if they are scalars; lists and maps by name only."""
    before, after = values["before"], values["after"]
    if isinstance(before, (list, dict)) or isinstance(after, (list, dict)):
        return name
    return f"{name} {'default' if before is None else before} -> {'default' if after is None else after}"
