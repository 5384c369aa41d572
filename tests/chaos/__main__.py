"""`python -m tests.chaos [--minutes 30] [--seed 0]`: prints a table; ends with 1 where something was wrong."""

from __future__ import annotations

import argparse
import sys

from tests.chaos.run import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    report = run(seconds=given.minutes * 60, seed=given.seed)
    verdict = report.wrong or ["Acknowledged equals stored, no 500, everything well again."]
    sys.stdout.write("\n".join([*report.lines(), "", *verdict, ""]))
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
