"""`make lint`: systemd takes the units of `ops/systemd/` and lets them do little else, nginx takes `ops/nginx.conf`; each where it
is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
UNITS = sorted((ROOT / "ops" / "systemd").iterdir())
NGINX = ROOT / "ops" / "nginx.conf"
PLACE = "/srv/finops"
MOST_EXPOSURE = 2.0
"""Of ten, by `systemd-analyze security`; a unit without any protection has 9.6."""


def problems_of_units() -> str:
    """What `systemd-analyze` finds, in its words; empty without a problem."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for unit in UNITS:
            (folder / unit.name).write_text(unit.read_text().replace(PLACE, str(ROOT)))
        (folder / "finops-worker@short.service").symlink_to(folder / "finops-worker@.service")
        paths = [str(folder / unit.name.replace("@", "@short")) for unit in UNITS]
        return _analyze("verify", "--man=no", *paths) + "".join(
            _analyze("security", "--offline=true", f"--threshold={MOST_EXPOSURE * 10:.0f}", str(unit))
            for unit in UNITS
            if unit.suffix == ".service"
        )


def _analyze(*arguments: str) -> str:
    done = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False)
    return (done.stderr or done.stdout) if done.returncode or done.stderr else ""


def problems_of_nginx() -> str:
    """What `nginx -t` finds; empty without a problem."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        subject = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
        files = ["-keyout", f"{name}/key.pem", "-out", f"{name}/certificate.pem"]
        subprocess.run(["openssl", *subject, *files], capture_output=True, check=True)
        text = NGINX.read_text().replace("/etc/nginx/tls", name)
        # Names of other containers; and Debian 12 has nginx 1.22, which knows `http2` as an option of `listen`.
        text = re.sub(r"server web-\d:", "server 127.0.0.1:", text).replace("        http2 on;\n", "")
        (folder / "nginx.conf").write_text(text)
        command = ["nginx", "-t", "-c", str(folder / "nginx.conf")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


CHECKS = {"systemd-analyze": problems_of_units, "nginx": problems_of_nginx}
"""By the program that checks."""


def main() -> int:
    is_sound = True
    for program, check in CHECKS.items():
        if shutil.which(program) is None:
            print(f"Not checked: {program} is not installed.")
        elif text := check():
            print(text, end="")
            is_sound = False
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
