"""`python -m tests.upgrades.take`: what this version stores, as an archive below `data/` in place of the earlier one.

The rows and the lake of `load_demo --months 1`, with the keys of test_upgrade.py. To be taken before each release, and when a
migration was written anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from finops.embedded import throwaway_cluster
from tests.upgrades.stored import DATA, SECRETS

CONTENT = ("database.sql", "lake", "demo.json")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cluster = throwaway_cluster(folder)
        cluster.create()
        cluster.start()
        try:
            environment = {**os.environ, **SECRETS, "DATABASE_URL": cluster.url(), "VAR_DIR": name}
            for command in (("migrate",), ("load_demo", "--months", "1")):
                subprocess.run(
                    [sys.executable, "manage.py", *command, "--verbosity=0"], check=True, env=environment
                )
            dump = [str(cluster.binaries / "pg_dump"), "--no-owner", "--file", str(folder / "database.sql")]
            subprocess.run([*dump, "--dbname", cluster.url()], check=True)
        finally:
            cluster.stop()
        for old in DATA.glob("*.tar.xz"):
            old.unlink()
        commit = subprocess.run(
            ["git", "rev-parse", "--short=8", "HEAD"], check=True, capture_output=True, text=True
        )
        with tarfile.open(DATA / f"{commit.stdout.strip()}.tar.xz", "w:xz") as archive:
            for each in CONTENT:
                archive.add(folder / each, each)


if __name__ == "__main__":
    main()
