"""A worker for `bench_anomaly_parts`: runs detection on each part whose number it reads and prints the processor
seconds."""

from __future__ import annotations

import sys
import time

import django


def main(account_id: int) -> None:
    django.setup()
    from accounts.models import Account
    from finops.insights.anomalies.services import detect_part_if_due
    from finops.lib.cost_access import cost_access

    account = Account.objects.get(pk=account_id)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        used = time.process_time()
        with cost_access(None):
            detect_part_if_due(account, int(line))
        sys.stdout.write(f"{time.process_time() - used}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
