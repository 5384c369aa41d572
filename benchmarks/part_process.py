"""A worker for `bench_parts`: runs the action named by each input line and prints its processor seconds.

Parts are read in this process, not in a child process: a child takes 35 ms and needs its own lake.
"""

from __future__ import annotations

import sys
import time

import django


def main() -> None:
    django.setup()
    from finops.costs.services import part_attempts

    # mypy: the function of a module is replaced for this process.
    part_attempts._read_in_child = part_attempts.read_part_in_child
    _say("ready")
    for line in sys.stdin:
        used = time.process_time()
        work, number = line.split()
        {"run": _run, "help": _help, "rollups": _roll_up, "merges": _merge}[work](int(number))
        _say(str(time.process_time() - used))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _run(import_id: int) -> None:
    from finops.costs import services

    assert services.run_import(import_id)


def _help(import_id: int) -> None:
    """Read parts until the import has ended."""
    from finops.costs.models import CostImport
    from finops.costs.services.part_attempts import help_import

    rows = CostImport.objects.unscoped().filter(pk=import_id, status__in=["queued", "running"])
    while rows.exists():
        if not help_import(import_id):
            time.sleep(0.05)


def _roll_up(account_id: int) -> None:
    from accounts.models import Account
    from finops.lake.rollups.rollup_scheduler import roll_up_account

    roll_up_account(Account.objects.get(pk=account_id), least_rows=1)


def _merge(account_id: int) -> None:
    from accounts.models import Account
    from finops.lake.usage.compaction import tidy_usage

    tidy_usage(Account.objects.get(pk=account_id))


if __name__ == "__main__":
    main()
