"""The console's address and the credentials: from the environment, or from the file that `finops login` writes."""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from finops_cli.errors import CommandError

VARIABLES = {
    "url": "FINOPS_URL",
    "token": "FINOPS_TOKEN",
    "cost-key": "FINOPS_COST_KEY",
    "usage-key": "FINOPS_USAGE_KEY",
}
KINDS = {
    "token": "MCP key or OAuth token",
    "cost-key": "key of a cost source",
    "usage-key": "key of a usage source",
}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def credentials_path() -> Path:
    """Return the path in `FINOPS_CREDENTIALS`, else the default path below XDG_CONFIG_HOME."""
    if path := os.environ.get("FINOPS_CREDENTIALS"):
        return Path(path)
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "finops" / "credentials.json"


def value_of(name: str) -> str:
    """Return the address or a credential. Raises CommandError if it is missing, or stored for another console."""
    if value := os.environ.get(VARIABLES[name], "").strip():
        return value
    values = load()
    if name != "url" and name in values:
        _check_console(value_of("url"), values.get("url", ""))
    if value := values.get(name, ""):
        return value
    if name == "url":
        raise CommandError(
            f"No address of the console. Set {VARIABLES[name]} or run: finops login --url ADDRESS"
        )
    raise CommandError(f"No {KINDS[name]}. Set {VARIABLES[name]} or run: finops login --kind {name}")


def _check_console(url: str, stored_url: str) -> None:
    """Raises CommandError for a stored credential that belongs to another console."""
    if checked_url(url) != stored_url:
        raise CommandError(
            f"The stored credentials belong to {stored_url or 'no console'}, not to {url}. "
            "Set the credential by its variable or run: finops login --url " + url
        )


def load() -> dict[str, str]:
    """Return the content of the file; empty without a file. Raises CommandError if others may read it or it is
    damaged."""
    path = credentials_path()
    try:
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise CommandError(f"Others may read {path}. Run: chmod 600 {path}")
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} cannot be read: {error}. Delete it and run: finops login") from error
    if not isinstance(values, dict):
        raise CommandError(f"{path} is damaged. Delete it and run: finops login")
    return {str(name): str(value) for name, value in values.items()}


def save(values: dict[str, str]) -> Path:
    """Write the file atomically, readable by its owner only."""
    path = credentials_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent)  # 0600 from its first byte
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(values, file, indent=2)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise
    return path


def checked_url(url: str) -> str:
    """Return the address without its last slash. Raises CommandError if it would send a credential in plain text."""
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CommandError(f"{url} is not an address. Write it as https://console.example")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise CommandError(f"{url} would send the credential unencrypted. Use https.")
    return url.strip().rstrip("/")


def prompted(kind: str) -> str:
    """Return the credential that a person types without echo, or of standard input. Raises CommandError for an empty
    one."""
    if sys.stdin.isatty():
        from getpass import getpass

        value = getpass(f"{KINDS[kind]}: ")
    else:
        value = sys.stdin.readline()
    if not value.strip():
        raise CommandError(f"No {KINDS[kind]} was entered.")
    return value.strip()
