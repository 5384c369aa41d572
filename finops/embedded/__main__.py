"""`python -m finops.embedded COMMAND VAR_DIR`: commands of the embedded servers."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from finops.embedded import EmbeddedError, development_cluster, lasting_redis


def main() -> int:
    helps = "; ".join(f"{name}: {command.__doc__}" for name, command in COMMANDS.items())
    parser = argparse.ArgumentParser(prog="python -m finops.embedded")
    parser.add_argument("command", choices=COMMANDS, help=helps)
    parser.add_argument("var_dir", type=Path, help="the folder var/ of a checkout")
    arguments = parser.parse_args()
    try:
        COMMANDS[arguments.command](arguments.var_dir)
    except EmbeddedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def remove(var_dir: Path) -> None:
    """Delete the embedded database (`make clean-data`)."""
    if var_dir.is_dir():
        development_cluster(var_dir).remove()


def prepare_redis(var_dir: Path) -> None:
    """Write Redis's configuration and address, which programs that start later read."""
    if not os.environ.get("REDIS_URL"):
        lasting_redis(var_dir).prepare()


def run_redis(var_dir: Path) -> None:
    """Replace this process with Redis; does nothing where REDIS_URL names another server."""
    if not os.environ.get("REDIS_URL"):
        redis = lasting_redis(var_dir)
        redis.prepare()
        os.execv(redis.command()[0], redis.command())  # noqa: S606 - of the installed wheel


COMMANDS: dict[str, Callable[[Path], None]] = {
    "remove": remove,
    "prepare-redis": prepare_redis,
    "redis": run_redis,
}


if __name__ == "__main__":
    sys.exit(main())
