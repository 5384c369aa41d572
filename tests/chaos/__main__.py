"""`python -m tests.chaos [--minutes 30] [--seed 0] [--report FILE]`: exits with 1 if a target was missed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.chaos.run import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, help="also write the tables to this file, as Markdown")
    options = parser.parse_args()
    report = run(seconds=options.minutes * 60, seed=options.seed)
    text = report.markdown()
    sys.stdout.write(text)
    if options.report is not None:
        options.report.write_text(text)
    return 1 if report.target_errors() else 0


if __name__ == "__main__":
    sys.exit(main())
