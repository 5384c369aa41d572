"""A worker's process that does a run and is killed, by itself and with SIGKILL, right after one put: `RUN DATABASE PART`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path


def main(run_id: int, database: str, part: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "finops.settings")
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = database
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    import django

    django.setup()
    from finops.connections.transports.s3 import S3Bucket
    from finops.data_exports.services import runs
    from finops.lib import clock
    from tests.factories.days import NOON

    upload = S3Bucket.put

    def put_and_die(self: S3Bucket, key: str, file: Path) -> None:
        upload(self, key, file)
        if part in key:
            os.kill(os.getpid(), signal.SIGKILL)

    S3Bucket.put = put_and_die  # type: ignore[assignment,method-assign]
    with clock.frozen(NOON):
        runs.run_export(run_id)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
