"""One REDIS_URL for three clients, which write the address of a socket each in its own way."""

from __future__ import annotations

from typing import Final

_SOCKET: Final = "unix://"


def broker_url(url: str) -> str:
    """As Celery takes it."""
    if not url.startswith(_SOCKET):
        return url
    return f"redis+socket://{url.removeprefix(_SOCKET).replace('?db=', '?virtual_host=')}"


def limits_url(url: str) -> str:
    """As the library `limits` takes it."""
    return f"redis+{url}" if url.startswith(_SOCKET) else url
