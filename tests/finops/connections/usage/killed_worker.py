"""A worker of a sync of usage or change events that ends by kill -9: `python -m tests.finops.connections.usage.killed_worker SYNC CHECKS` dies when it
is asked once more than so often, while it stores, whether it goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from tests.servers import ROOT, process_environment


def run_killed_worker(sync_id: int, checks: int) -> None:
    """Run this module in a process of its own until it is killed."""
    ended = subprocess.run(
        [sys.executable, "-m", __name__, str(sync_id), str(checks)],
        env=process_environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def main(sync_id: int, checks: int) -> None:
    import django

    django.setup()
    from django.conf import settings

    from finops.connections import services
    from finops.connections.services.sync_heartbeat import SyncHeartbeat

    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    remaining = iter(range(checks))

    def kill_process(_self: SyncHeartbeat) -> None:
        if next(remaining, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(SyncHeartbeat, "check_sometimes", kill_process)  # noqa: B010 mypy takes no assignment to a method
    services.run_sync(sync_id)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
