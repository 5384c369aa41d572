"""The environment variables that settings read, and those that look like a mistake."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Any, Final

import environ

COMMAND_LINE: Final = frozenset(
    {"FINOPS_URL", "FINOPS_TOKEN", "FINOPS_COST_KEY", "FINOPS_USAGE_KEY", "FINOPS_CREDENTIALS"}
)
READ_ELSEWHERE: Final = frozenset({"PORT", "HEARTBEAT_FILE", "HEARTBEAT_SILENT_SECONDS", *COMMAND_LINE})
"""Variables that programs and the command line (`cli/`) read, outside of the settings."""

PREFIX: Final = "FINOPS_"
SIMILARITY: Final = 0.9
"""The similarity of names that differ by a letter or two (`difflib.SequenceMatcher.ratio`)."""
MIN_LENGTH: Final = 8
"""Shorter names are too similar to those of other programs."""


class Environment(environ.Env):
    """`names` are the variables that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get_value(self, var: str, *args: Any, **kwargs: Any) -> Any:
        self.names.add(var)
        return super().get_value(var, *args, **kwargs)


def problems(variables: Collection[str], names: Collection[str]) -> dict[str, str]:
    """Return what to do about each variable that is set and not in `names`, if it has our prefix or is similar to
    one."""
    every = sorted({*names, *READ_ELSEWHERE})
    advice = {name: _advice(name, every) for name in variables if name not in every}
    return {name: text for name, text in sorted(advice.items()) if text}


def _advice(name: str, names: list[str]) -> str:
    if name.startswith(PREFIX) and name.removeprefix(PREFIX) in names:
        return f"Write {name.removeprefix(PREFIX)}."
    near = get_close_matches(name, names, n=1, cutoff=SIMILARITY) if len(name) >= MIN_LENGTH else []
    if near:
        return f"Did you mean {near[0]}?"
    return "Remove it, or see docs/configuration.md for the names." if name.startswith(PREFIX) else ""
