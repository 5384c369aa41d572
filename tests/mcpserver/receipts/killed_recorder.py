"""A process that has receipts stored until it is killed: `python -m tests.mcpserver.receipts.killed_recorder ACCOUNT`.

Writes the code of each receipt as soon as the recorder has it.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime


def main(account_id: int) -> None:
    import django

    django.setup()
    from finops.receipts import records
    from tests.mcpserver.receipts.many_receipts import numbered_record

    at = datetime(2026, 10, 3, 12, tzinfo=UTC)
    for number in range(1_000_000):
        record = numbered_record(account_id, number, at)
        code = record.code()
        records.note(record, code)
        if number % 20 == 0:
            records.recorder.flush()
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
