"""REDIS_URL for three clients, each of which has its own format for the address of a socket."""

from __future__ import annotations

from typing import Final

_SOCKET: Final = "unix://"


def broker_url(url: str) -> str:
    """Return the URL in Celery's format."""
    if not url.startswith(_SOCKET):
        return url
    return f"redis+socket://{url.removeprefix(_SOCKET).replace('?db=', '?virtual_host=')}"


def limits_url(url: str) -> str:
    """Return the URL in the format of the library `limits`."""
    return f"redis+{url}" if url.startswith(_SOCKET) else url
