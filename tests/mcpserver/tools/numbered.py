"""Answers about two rows, compared but for the rows' numbers."""

from __future__ import annotations

import re
from typing import Any


def numbered(value: Any, number: int) -> Any:
    """The same with N in place of the number wherever it stands alone: an id, in a sentence, in a URL's path."""
    if isinstance(value, dict):
        return {name: numbered(item, number) for name, item in value.items()}
    if isinstance(value, list):
        return [numbered(item, number) for item in value]
    if isinstance(value, str):
        return re.sub(rf"(?<=[ /]){number}(?=[ /.:]|$)", "N", value)
    return "N" if value == number and not isinstance(value, bool) else value
