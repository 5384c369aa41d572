"""`finops import` and `finops push`: files to the push APIs of cost and usage."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import time
from collections.abc import Sequence
from typing import Any

from finops_cli.client import Client
from finops_cli.errors import FAILED, CommandError
from finops_cli.files import read_file

BATCH = 1_000
POLL_SECONDS = 1.0
_ENDED = ("done", "failed", "canceled", "expired")


def run_import(options: argparse.Namespace) -> None:
    """Send files as one month of a cost source, which they replace. Raises CommandError if the import fails."""
    if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", options.month):
        raise CommandError(f"--month: {options.month} is not a month. Write it as 2026-05.")
    client = Client("cost-key")
    parts = [read_file(name) for name in options.files]
    push = (
        _one_part(client, options.month, parts[0])
        if len(parts) == 1
        else _parts(client, options.month, parts)
    )
    print(f"Push {push['id']} of {push['month']}: {push['status']}.")
    if options.no_wait:
        return
    print_push(_wait_for(client, push, options.timeout))


def _one_part(client: Client, month: str, body: bytes) -> dict[str, Any]:
    push: dict[str, Any] = client.send("POST", f"/api/costs/months/{month}", body, repeatable=False).json
    return push


def _parts(client: Client, month: str, parts: Sequence[bytes]) -> dict[str, Any]:
    opened = client.send("POST", "/api/costs/pushes", json.dumps({"month": month}).encode(), repeatable=False)
    path = f"/api/costs/pushes/{opened.json['id']}"
    try:
        for number, body in enumerate(parts, 1):
            client.send("PUT", f"{path}/parts/{number}", body)
        push: dict[str, Any] = client.send(
            "POST", f"{path}/commit", json.dumps({"parts": len(parts)}).encode()
        ).json
    except BaseException:
        _cancel(client, path)
        raise
    return push


def _cancel(client: Client, path: str) -> None:
    """Cancel the push. If that fails, print a message: an open push expires by itself."""
    try:
        client.send("DELETE", path)
    except CommandError as error:
        print(f"The push stays open for 24 hours: {error.message}", file=sys.stderr)


def _wait_for(client: Client, push: dict[str, Any], timeout: float) -> dict[str, Any]:
    until = time.monotonic() + timeout
    while push["status"] not in _ENDED:
        if time.monotonic() > until:
            raise CommandError(f"Push {push['id']} is {push['status']} after {timeout:.0f} s. It goes on.")
        time.sleep(POLL_SECONDS)
        push = client.get(f"/api/costs/pushes/{push['id']}").json
    return push


def print_push(push: dict[str, Any]) -> None:
    """Print rows and totals. Raises CommandError for a push that is not done."""
    if push["status"] != "done":
        reason = push.get("error") or f"it is {push['status']}."
        raise CommandError(
            f"Push {push['id']} of {push['month']} failed, the month is as before: {reason}", FAILED
        )
    totals = "; ".join(
        f"billed {each['billed_cost']} {each['currency']}, amortized {each['effective_cost']} {each['currency']}"
        for each in push["totals"]
    )
    print(f"Push {push['id']} of {push['month']}: {push['rows']} rows{'; ' + totals if totals else ''}.")
    if push.get("note"):
        print(f"Warning: {push['note']}")


def run_push(options: argparse.Namespace) -> None:
    """Send usage events in batches. Raises CommandError if events were rejected."""
    client = Client("usage-key")
    accepted = rejected = duplicates = 0
    for name in options.files:
        content = read_file(name)
        events = events_of(content, name)
        for start in range(0, len(events), BATCH):
            body = '{"events": [' + ",".join(events[start : start + BATCH]) + "]}"
            path, headers = _push_request(content, start, options.dry_run)
            answer = client.send("POST", path, body.encode(), headers)
            accepted += answer.json["accepted"]
            rejected += answer.json["rejected"]
            duplicates += int(answer.headers.get("usage-duplicates") or 0)
            for error in answer.json["errors"]:
                print(f"{name}, event {start + error['index'] + 1}: {error['error']}", file=sys.stderr)
    what = "would be accepted" if options.dry_run else "accepted"
    before = f" ({duplicates} stored before)" if duplicates else ""
    print(f"{accepted} events {what}{before}, {rejected} rejected.")
    if rejected:
        raise CommandError("Correct the rejected events and send them again.", FAILED)


def _push_request(content: bytes, start: int, dry_run: bool) -> tuple[str, dict[str, str]]:
    """Return path and headers. The key is of the file and the position in it, so that a file sent again counts once."""
    if dry_run:
        return "/api/usage/events?dry_run=true", {}
    key = f"finops-cli-{hashlib.sha256(content).hexdigest()}-{start}"
    return "/api/usage/events", {"Idempotency-Key": key}


def events_of(content: bytes, name: str) -> list[str]:
    """Return the events of a file as written, so that no digit is lost: `{"events": […]}`, `[…]`, or one a line.

    Raises CommandError for anything else.
    """
    try:
        text = content.decode("utf-8-sig").strip()
        whole = re.match(r'\{\s*"events"\s*:\s*(?=\[)', text)
        if whole:
            return _items(text, whole.end())
        if text.startswith("["):
            return _items(text, 0)
        lines = [line for line in text.splitlines() if line.strip()]
        for line in lines:
            json.loads(line)
    except ValueError as error:
        raise CommandError(
            f'{name} has no events: {error}. Write {{"events": […]}}, a JSON array, or one event a line.'
        ) from error
    return lines


def _items(text: str, start: int) -> list[str]:
    """Return the items of the JSON array that begins at `start`. Raises ValueError for broken JSON."""
    decoder, items = json.JSONDecoder(), []
    place = _skip(text, start + 1)
    while not text.startswith("]", place):
        _item, end = decoder.raw_decode(text, place)
        items.append(text[place:end])
        place = _skip(text, end)
        if text.startswith(",", place):
            place = _skip(text, place + 1)
        elif not text.startswith("]", place):
            raise ValueError(f"no comma at character {place + 1}")
    return items


def _skip(text: str, place: int) -> int:
    """Return the position after white space."""
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place
