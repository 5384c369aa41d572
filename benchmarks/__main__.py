"""`make bench`, or `python -m benchmarks [NAME…]`: measure, print tables, write var/bench/NAME.json.

Each `bench_<name>.py` has `measure() -> list[Row]`. It runs inside a world of its own (a fresh PostgreSQL, a fresh
var/) that is removed afterwards. Figures are ratios of one run where that is possible: absolute times are those of
one machine.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.table import Row, as_text
from finops import embedded
from finops.lib import garbage
from tests.postgres import PRODUCT_VARIABLES

HERE = Path(__file__).parent
RESULTS = HERE.parent / "var" / "bench"
LONG = {"backup", "mixed", "month_memory"}
"""Benchmarks that run only by name because they take ten minutes or more."""


def main(names: Sequence[str]) -> None:
    # A kill shall end the database too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    every = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    unknown = set(names) - set(every)
    if unknown:
        raise SystemExit(f"No such benchmark: {', '.join(sorted(unknown))}. There are: {', '.join(every)}.")
    with _world():
        for name in names or [each for each in every if each not in LONG]:
            _run(name)


def _run(name: str) -> None:
    _say(f"\n{name}\n")
    rows: list[Row] = importlib.import_module(f"benchmarks.bench_{name}").measure()
    _say(as_text(rows))
    RESULTS.mkdir(parents=True, exist_ok=True)
    result = {"when": datetime.now(UTC).isoformat(), "machine": _machine(), "rows": rows}
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _machine() -> str:
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"


@contextmanager
def _world() -> Iterator[None]:
    directory = Path(tempfile.mkdtemp(prefix="finops-bench-", dir="/tmp"))
    for name in PRODUCT_VARIABLES:
        os.environ.pop(name, None)
    cluster = embedded.throwaway_cluster(directory)
    cluster.shared_buffers = embedded.machine_buffers()
    try:
        cluster.create()
        cluster.start()
        os.environ |= {
            "DATABASE_URL": cluster.url(),
            "VAR_DIR": str(directory / "var"),
            "DJANGO_SETTINGS_MODULE": "finops.settings",
            "LOG_LEVEL": "WARNING",
        }
        _set_up_django()
        yield
    finally:
        cluster.stop()
        shutil.rmtree(directory)


def _set_up_django() -> None:
    import django
    from django.core.management import call_command
    from django.urls import reverse

    # As the web server loads it: Python's collector passes over what is loaded (200 ms of a request, now and then).
    with garbage.loading():
        django.setup()
        reverse("account_login")
    call_command("migrate", verbosity=0)


if __name__ == "__main__":
    main(sys.argv[1:])
