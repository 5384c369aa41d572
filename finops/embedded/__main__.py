"""`python -m finops.embedded remove var`: delete the embedded database of a checkout (`make clean-data`)."""

from __future__ import annotations

import sys
from pathlib import Path

from finops.embedded import development_cluster


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or arguments[0] != "remove":
        sys.stderr.write("usage: python -m finops.embedded remove VAR_DIR\n")
        return 2
    var_dir = Path(arguments[1])
    if var_dir.is_dir():
        development_cluster(var_dir).remove()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
