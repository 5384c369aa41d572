"""The rule when `manage.py up` loads the demo account, and the text that it prints about it, from `var/demo.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from finops.lib import clock
from finops.lib.secrets import write_private

ADDRESSES = ("url", "mcp_url", "usage_url")


def read(path: Path) -> dict[str, str]:
    """The demo account's address and credentials; empty when no demo data was loaded."""
    return (
        {str(key): str(value) for key, value in json.loads(path.read_text()).items()} if path.exists() else {}
    )


def is_due(var_dir: Path, *, has_accounts: bool) -> bool:
    """Whether to load the demo: into an empty console; again after an interrupted load; and on a later day, to add the new
    days.

    A console with accounts and without a demo is in real use: nothing is loaded into it.
    """
    if not has_accounts or _marker(var_dir).exists():
        return True
    record = var_dir / "demo.json"
    return record.exists() and datetime.fromtimestamp(record.stat().st_mtime, UTC).date() < clock.today()


@contextmanager
def mark_loading(var_dir: Path) -> Iterator[None]:
    """Record, until the load is done, that it began."""
    _marker(var_dir).touch()
    yield
    _marker(var_dir).unlink()
    (var_dir / "demo.json").touch()


def _marker(var_dir: Path) -> Path:
    return var_dir / "demo.loading"


def update_addresses(path: Path, public_url: str) -> None:
    """Update the recorded URLs when the port differs from the last start."""
    stored = read(path)
    old = stored.get("url", public_url).rstrip("/")
    if not stored or old == public_url or not all(stored.get(key, old).startswith(old) for key in ADDRESSES):
        return
    updated = {key: public_url + stored[key].removeprefix(old) for key in ADDRESSES if key in stored}
    write_private(path, json.dumps(stored | updated, indent=2))


def lines(path: Path, public_url: str) -> list[str]:
    """A box for the terminal: the URL, then the demo account."""
    rows = read(path) or {"url": public_url}
    width = max(len(key) for key in rows)
    texts = [f"{key:<{width}}  {value}" for key, value in rows.items()]
    inner = max(len(text) for text in texts)
    body = [f"│ {text:<{inner}} │" for text in texts]
    note = [f"  (also in {path})"] if path.exists() else []
    return [f"┌{'─' * (inner + 2)}┐", *body, f"└{'─' * (inner + 2)}┘", *note]
