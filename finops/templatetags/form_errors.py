"""Errors of forms as pages write them."""

from __future__ import annotations

import re
from typing import Final

from django import forms, template
from django.forms import BoundField

from finops.lib.sentences import missing_text

register = template.Library()

_CHOICES: Final = (forms.ChoiceField, forms.DateField, forms.FileField)
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
        (r"^You must type the same password each time\.$", "Enter the same password in both fields."),
    )
)


@register.filter
def error_text(error: str, bound: BoundField | None = None) -> str:
    """An error of a form, or of its field `bound`, with the texts of Django and django-allauth as an instruction: `Enter at most 100
    characters. You entered 250.` An empty field without a text of its own has its label: `Choose the role.`"""
    text = str(error)
    if bound is not None and text == str(forms.Field.default_error_messages["required"]):
        return missing_text(str(bound.label), "Choose" if isinstance(bound.field, _CHOICES) else "Enter")
    for pattern, instruction in _DJANGO_ERRORS:
        text = pattern.sub(instruction, text)
    return text
