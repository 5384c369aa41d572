"""Files of an fsspec URL, such as s3://bucket/prefix, with time limits.

Attempts and time-outs are set here. The defaults of botocore and s3fs together ask a bucket that does not respond 25 times, for
minutes, and the environment could change them (AWS_MAX_ATTEMPTS, AWS_RETRY_MODE).
"""

from __future__ import annotations

import math
from typing import Any, Final

import fsspec

from finops.lib import time_limit

CONNECT_SECONDS: Final = 5
READ_SECONDS: Final = 15
"""Time limit in seconds of a wait for bytes."""
ATTEMPTS: Final = 3
"""Attempts of a request, by botocore: for refused connections, time-outs and responses such as 503."""
TRANSFERS: Final = 2
"""Attempts of a transfer, by s3fs: for connections that break within a response."""

_CLIENT: Final[dict[str, Any]] = {
    "connect_timeout": CONNECT_SECONDS,
    "read_timeout": READ_SECONDS,
    "defaults_mode": "legacy",
    "retries": {"total_max_attempts": ATTEMPTS, "mode": "standard"},
}


def open_filesystem(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it. Raises ValueError or ImportError for an unknown scheme."""
    is_s3 = url.startswith(("s3://", "s3a://"))
    filesystem, path = fsspec.core.url_to_fs(url, **({"config_kwargs": _CLIENT} if is_s3 else {}))
    if is_s3:
        filesystem.retries = TRANSFERS
    return filesystem, path


def call(filesystem: Any, method: str, *arguments: Any) -> Any:
    """Call a method of a file system, until the end of the thread's time limit. Raises TimeLimitError or TimeoutError past it."""
    seconds = time_limit.timeout(math.inf)
    if not filesystem.async_impl or math.isinf(seconds):
        return getattr(filesystem, method)(*arguments)
    # An argument of fsspec.asyn.sync, through which each method of an asynchronous file system passes.
    return getattr(filesystem, method)(*arguments, timeout=seconds)
