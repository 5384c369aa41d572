"""A worker of a usage sync that ends by kill -9: `python -m tests.finops.connections.usage.killed_worker SYNC CHECKS` dies when it
is asked once more than so often, while it stores, whether it goes on."""

from __future__ import annotations

import os
import signal
import sys


def main(sync_id: int, checks: int) -> None:
    import django

    django.setup()
    from django.conf import settings

    from finops.connections import services
    from finops.connections.services.sync_heartbeat import SyncHeartbeat

    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    left = iter(range(checks))

    def die(_self: SyncHeartbeat) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(SyncHeartbeat, "check_sometimes", die)  # noqa: B010 mypy takes no assignment to a method
    services.run_sync(sync_id)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
