"""`python -m ops.image [--tag finops] [--base IMAGE]`: build the image of the Dockerfile with buildah.

Where no registry of images can be reached, the base is made of Debian's packages with mmdebstrap. The build installs packages as this
machine does: with its pip.conf, npmrc and CA certificates, none of which is in the image.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
WORK: Final = ROOT / "var" / "image"
BASE: Final = "python:3.11-slim-bookworm"
DEBIAN_BASE: Final = "localhost/finops-base"
DEBIAN_SOURCES: Final = Path("/etc/apt/sources.list.d/debian.sources")
DEBIAN_PACKAGES: Final = "python3,python3-venv,ca-certificates,tzdata"
OF_THIS_MACHINE: Final = {
    Path("/etc/pip.conf"): "/etc/pip.conf",
    Path.home() / ".npmrc": "/root/.npmrc",
    Path("/etc/ssl/certs/ca-certificates.crt"): "/etc/ssl/certs/ca-certificates.crt",
}
"""Files that package managers read, and where they are in the build."""


BUILDAH: Final = ("buildah", f"--root={WORK / 'storage'}", f"--runroot={WORK / 'run'}")
"""It chooses between overlay and vfs itself: some containers cannot mount the former."""


def buildah(*arguments: str, quiet: bool = False) -> str:
    """What it prints. CalledProcessError where it fails."""
    errors = subprocess.DEVNULL if quiet else None
    return subprocess.run(
        [*BUILDAH, *arguments], check=True, stdout=subprocess.PIPE, stderr=errors, text=True
    ).stdout


def available_base(base: str) -> str:
    """`base` where it is stored or can be pulled, else the one of Debian's packages. OSError or CalledProcessError where this
    machine can build no image."""
    try:
        buildah("pull", "--policy", "missing", base, quiet=True)
    except subprocess.CalledProcessError:
        return debian_base()
    return base


def debian_base() -> str:
    """Python 3.11 on Debian 12, imported once. CalledProcessError without mmdebstrap's packages."""
    if DEBIAN_BASE in buildah("images", "--format", "{{.Name}}").split():
        return DEBIAN_BASE
    with tempfile.TemporaryDirectory(prefix="finops-base-") as folder:
        archive = Path(folder, "base.tar")
        command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={DEBIAN_PACKAGES}"]
        sources = ["-"] if DEBIAN_SOURCES.exists() else []
        text = DEBIAN_SOURCES.read_bytes() if sources else None
        subprocess.run([*command, "bookworm", str(archive), *sources], check=True, input=text)
        container = buildah("from", "scratch").strip()
        buildah("add", "--quiet", container, str(archive), "/")
    buildah("commit", "--quiet", "--rm", container, DEBIAN_BASE)
    return DEBIAN_BASE


def build(tag: str, base: str, ignore_file: Path = ROOT / ".dockerignore") -> None:
    """The image `tag`, in Docker's format: that of OCI has no health check. CalledProcessError for a step that fails."""
    volumes = [f"--volume={path}:{place}:ro" for path, place in OF_THIS_MACHINE.items() if path.exists()]
    settings = ["--format=docker", "--isolation=chroot", "--layers", "--pull=never"]
    settings += [f"--ignorefile={ignore_file}"]
    buildah("build", *settings, *volumes, f"--build-arg=BASE={base}", f"--tag={tag}", str(ROOT))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ops.image", description="Build the image with buildah.")
    parser.add_argument("--tag", default="localhost/finops")
    parser.add_argument("--base", default=BASE, help=f"image to build on (default: {BASE})")
    options = parser.parse_args()
    began = time.monotonic()
    base = available_base(options.base)
    build(options.tag, base)
    sys.stdout.write(f"{options.tag} on {base}, {time.monotonic() - began:.0f} s\n")


if __name__ == "__main__":
    main()
