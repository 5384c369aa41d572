"""What a list of alerts narrows by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """A select above a list. `first` is what the empty choice is called."""

    name: str
    label: str
    first: str
    choices: Sequence[tuple[str, str]]
    chosen: str
