"""`python -m ops.front_end_files FOLDER`: of node_modules what the running program reads, for an image.

The rest (esbuild, the sources of packages) is 300 MB that only building needs.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

from finops.staticfiles import MCP_VIEW, VENDOR

NODE_MODULES: Final = Path(__file__).parent.parent / "node_modules"
ICONS: Final = "@tabler/icons/icons/outline"
"""Drawn into pages (finops/templatetags/console.py)."""


def copy(target: Path) -> int:
    """Copy the files of VENDOR, the view of MCP Apps and the icons to the same places below `target`; how many. OSError where one is missing."""
    files = [Path(folder) / name for folder, names in VENDOR.values() for name in names]
    files.append(Path(MCP_VIEW))
    files += [path.relative_to(NODE_MODULES) for path in (NODE_MODULES / ICONS).glob("*.svg")]
    for file in files:
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(NODE_MODULES / file, target / file)
    return len(files)


if __name__ == "__main__":
    copy(Path(sys.argv[1]))
