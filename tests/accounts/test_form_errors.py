"""Errors of services appear in the form; other errors are raised."""

from __future__ import annotations

import re

import pytest
from django import forms
from django.contrib.messages import get_messages
from django.contrib.messages.storage.cookie import CookieStorage
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.test import RequestFactory

from accounts.forms import ErrorMessages, FormErrors
from finops.lib.errors import UserError


class NameForm(forms.Form):
    name = forms.CharField()


@pytest.mark.parametrize(
    ("error", "errors"),
    [
        (UserError("Taken.", field="name"), {"name": ["Taken."]}),
        (UserError("name: taken.", field="name"), {"name": ["Taken."]}),
        (UserError("Gone.", field="no_such_field"), {"__all__": ["Gone."]}),
        (ValidationError({"name": "Too long."}), {"name": ["Too long."]}),
        (ValidationError("Not so."), {"__all__": ["Not so."]}),
        (
            ValidationError({"__all__": ["A team with this name already exists."]}),
            {"name": ["A team with this name already exists."]},
        ),
    ],
)
def test_a_refusal_is_next_to_its_field_else_above_the_form(
    error: Exception, errors: dict[str, list[str]]
) -> None:
    form = NameForm({"name": "Core"})
    assert form.is_valid()

    with FormErrors(form):
        raise error

    assert form.errors == errors


@pytest.mark.parametrize("error", [UserError("Gone."), ValidationError(["Gone."])])
def test_a_refusal_without_a_form_is_a_message(error: Exception) -> None:
    request = RequestFactory().post("/")
    request._messages = CookieStorage(request)  # type: ignore[attr-defined]

    with ErrorMessages(request):
        raise error

    assert [str(each) for each in get_messages(request)] == ["Gone."]


def test_an_error_of_ours_is_not_hidden() -> None:
    with pytest.raises(KeyError), FormErrors(NameForm({})):
        raise KeyError("name")
    with pytest.raises(KeyError), ErrorMessages(RequestFactory().post("/")):
        raise KeyError("name")


class LimitedForm(forms.Form):
    name = forms.CharField(max_length=5)
    count = forms.IntegerField(min_value=1, max_value=9)
    amount = forms.DecimalField(decimal_places=2)


@pytest.mark.parametrize(
    ("data", "texts"),
    [
        (
            {"name": "x" * 250, "count": "0", "amount": "1.234"},
            [
                "Enter at most 5 characters. You entered 250.",
                "Enter 1 or more.",
                "Enter at most 2 decimal places.",
            ],
        ),
        ({"name": "x", "count": "12", "amount": "1"}, ["Enter 9 or less."]),
    ],
)
def test_errors_of_django_are_instructions_on_pages(data: dict[str, str], texts: list[str]) -> None:
    form = LimitedForm(data)

    html = "".join(
        render_to_string("_field_errors.html", {"field": form[name]}) for name in ("name", "count", "amount")
    )

    assert re.findall(r"<div>(.*?)</div>", html) == texts
