"""Explains the lake queries of a tool call: each query, where it runs, and the bytes that it reads."""

from __future__ import annotations

import json
import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.audit import Actor
from accounts.credentials import Access, Credential, CredentialKind
from accounts.models import Account
from finops.lake.engine.routing import record_routes
from finops.lib.formats.numbers import filesize
from mcpserver.context import ToolCall
from mcpserver.execution import run_tool
from mcpserver.registry import ToolAccess, registry

NO_KEY = 0
"""A primary key that no row has: a call without a cost access limit."""


class Command(BaseCommand):
    help = "Run a tool that reads, and print its queries of the lake: engine, files, bytes, and why not the cluster."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("account", help="slug of the account")
        parser.add_argument("tool", help="such as querySpend")
        parser.add_argument("arguments", nargs="?", default="{}", help="its arguments, as JSON")
        parser.add_argument("--sql", action="store_true", help="print the statements too")

    def handle(self, *_args: Any, **options: Any) -> None:
        account = Account.objects.filter(slug=options["account"]).first()
        tool = registry.get(options["tool"])
        if account is None or tool is None or tool.access is not ToolAccess.READ:
            raise CommandError("Name an account by its slug, and a tool that reads, such as querySpend.")
        settings.LAKE_ANSWERS_BYTES = 0  # a cached answer runs no query
        start = time.monotonic()
        with record_routes() as routes:
            outcome = run_tool(tool, _arguments(options["arguments"]), _call(account))
        for number, each in enumerate(routes, 1):
            reason = f", {each.route.reason}" if each.route.reason else ""
            size = filesize(each.route.bytes)
            self.stdout.write(
                f"{number}. {each.kind}: {each.route.engine}, {each.files} files, {size}{reason}"
            )
            if options["sql"]:
                self.stdout.write(f"   {each.sql}")
        self.stdout.write(f"{len(routes)} queries in {time.monotonic() - start:.2f} s")
        if outcome.is_error:
            raise CommandError(outcome.text)


def _arguments(text: str) -> dict[str, Any]:
    """Parse the arguments. Raises CommandError for anything but a JSON object."""
    try:
        arguments = json.loads(text)
    except ValueError as error:
        raise CommandError(f"The arguments are no JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise CommandError("The arguments are no JSON object.")
    return arguments


def _call(account: Account) -> ToolCall:
    credential = Credential(
        kind=CredentialKind.MCP_KEY,
        id=NO_KEY,
        account=account,
        access=Access.READ,
        label="command explain_tool",
        actor=Actor.command("explain_tool"),
    )
    deadline = time.monotonic() + settings.LAKE_DEADLINE_SECONDS
    return ToolCall(
        credential=credential, deadline=deadline, console=f"{settings.PUBLIC_URL}/a/{account.slug}/"
    )
