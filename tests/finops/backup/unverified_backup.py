"""`manage.py backup` that waits for ever before it reads back what it stored: there a test kills it."""

from __future__ import annotations

import os
import signal
import sys

import django
from django.core.management import call_command


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "finops.settings")
    django.setup()
    from finops.backup import services

    services._verify_new = lambda *_: signal.pause()
    call_command("backup", *sys.argv[1:])


if __name__ == "__main__":
    main()
