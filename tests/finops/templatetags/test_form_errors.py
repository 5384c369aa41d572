"""Errors of forms on pages say what to enter."""

from __future__ import annotations

import pytest
from django import forms

from finops.templatetags.form_errors import error_text


class Sample(forms.Form):
    role_arn = forms.CharField(label="Role ARN")
    currency = forms.ChoiceField(choices=[("EUR", "EUR")])
    day = forms.DateField()
    note = forms.CharField(error_messages={"required": "Enter a note."})
    amount = forms.IntegerField(min_value=1, max_value=9)
    title = forms.CharField(max_length=3)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("role_arn", "", "Enter the role ARN."),
        ("currency", "", "Choose the currency."),
        ("day", "", "Choose the day."),
        ("note", "", "Enter a note."),
        ("amount", "0", "Enter 1 or more."),
        ("amount", "10", "Enter 9 or less."),
        ("title", "Total", "Enter at most 3 characters. You entered 5."),
    ],
)
def test_an_error_of_a_field_says_what_to_enter(name: str, value: str, text: str) -> None:
    form = Sample({name: value})

    (error,) = form[name].errors

    assert error_text(str(error), form[name]) == text
