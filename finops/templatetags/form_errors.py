"""Errors of forms as pages write them."""

from __future__ import annotations

import re
from typing import Final

from django import template

register = template.Library()

_DJANGO_ERRORS: Final = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (
            r"^Ensure this value has at most ([\d,]+) characters? \(it has ([\d,]+)\)\.$",
            r"Enter at most \1 characters. You entered \2.",
        ),
        (r"^Ensure this value is greater than or equal to (.+)\.$", r"Enter \1 or more."),
        (r"^Ensure this value is less than or equal to (.+)\.$", r"Enter \1 or less."),
        (r"^Ensure that there are no more than (\d+ d.+)\.$", r"Enter at most \1."),
    )
)


@register.filter
def error_text(error: str) -> str:
    """An error of a form; Django's own texts as an instruction, such as `Enter at most 100 characters. You entered 250.`"""
    for pattern, text in _DJANGO_ERRORS:
        error = pattern.sub(text, str(error))
    return error
