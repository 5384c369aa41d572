"""Answers about two rows, compared but for the rows' numbers."""

from __future__ import annotations

import re
from typing import Any


def replace_row_number(value: Any, number: int) -> Any:
    """The same with N in place of the number where it is an `id`, in a sentence, or in a URL's path."""
    if isinstance(value, dict):
        return {
            name: "N" if name == "id" else replace_row_number(item, number) for name, item in value.items()
        }
    if isinstance(value, list):
        return [replace_row_number(item, number) for item in value]
    return re.sub(rf"(?<=[ /]){number}(?=[ /.:]|$)", "N", value) if isinstance(value, str) else value
