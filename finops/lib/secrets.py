"""Secrets of a development checkout: generated once, stored in `var/secrets.json`.

Not used in production, which must have its secrets in the environment (`finops/checks.py` refuses otherwise).
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class SecretsUnreadable(RuntimeError):
    """Another user of this machine owns the secrets of this checkout."""


def development_secret(name: str, var_dir: Path) -> str:
    """Return this checkout's secret called `name`: 64 characters, the same at every call and in every process. Raises
    SecretsUnreadable when another user of the machine owns the file."""
    path = var_dir / "secrets.json"
    make_private_dir(var_dir)
    try:
        with _lock_file(var_dir / "secrets.lock"):
            stored_secrets = _read(path)
            if name not in stored_secrets:
                stored_secrets[name] = secrets.token_urlsafe(48)
                write_private(path, json.dumps(stored_secrets, indent=1))
            return stored_secrets[name]
    except PermissionError as error:
        raise SecretsUnreadable(
            f"{path} belongs to another user of this machine. Run as that user (was it started by root?), "
            f"or give this checkout a folder of its own with VAR_DIR=/some/folder."
        ) from error


def make_private_dir(path: Path) -> None:
    """Create the directory `path` for this user only. As root other users may traverse it (never list it): PostgreSQL
    refuses to run as root, so its data directory below belongs to another user."""
    if not path.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o711 if os.geteuid() == 0 else 0o700)


def make_own_dir(path: Path) -> None:
    """Create the directory `path` for this user only, also as root, or make one that this user has private. Another
    user's, such as a mounted volume, stays as it is."""
    path.mkdir(parents=True, exist_ok=True)
    if path.stat().st_uid == os.geteuid():
        path.chmod(0o700)


def write_private(path: Path, text: str) -> None:
    """Replace the file atomically; no other user of this machine can read it at any moment (mode 0600)."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _read(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    stored_secrets = json.loads(path.read_text())
    if not isinstance(stored_secrets, dict):
        raise TypeError(f"{path} must hold a JSON object of names and secrets.")
    return {str(name): str(value) for name, value in stored_secrets.items()}


@contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600)) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
