"""`make lint`: systemd takes the units of `ops/systemd/`, and lets them do little else, where systemd is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
UNITS = sorted((ROOT / "ops" / "systemd").iterdir())
PLACE = "/srv/finops"
MOST_EXPOSURE = 2.0
"""Of ten, by `systemd-analyze security`; a unit without any protection has 9.6."""


def problems() -> str:
    """What `systemd-analyze` finds, in its words; empty without a problem."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for unit in UNITS:
            (folder / unit.name).write_text(unit.read_text().replace(PLACE, str(ROOT)))
        (folder / "finops-worker@short.service").symlink_to(folder / "finops-worker@.service")
        paths = [str(folder / unit.name.replace("@", "@short")) for unit in UNITS]
        return _problem("verify", "--man=no", *paths) + "".join(
            _problem("security", "--offline=true", f"--threshold={MOST_EXPOSURE * 10:.0f}", str(unit))
            for unit in UNITS
            if unit.suffix == ".service"
        )


def _problem(*arguments: str) -> str:
    done = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False)
    return (done.stderr or done.stdout) if done.returncode or done.stderr else ""


def main() -> int:
    if shutil.which("systemd-analyze") is None:
        print("systemd is not installed: its units are not checked.")
        return 0
    text = problems()
    print(text, end="")
    return 1 if text else 0


if __name__ == "__main__":
    sys.exit(main())
