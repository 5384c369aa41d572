"""Inputs of a connection's form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString


class SecretTextarea(forms.Textarea):
    """A multi-line input whose value is never sent back to a page."""

    def format_value(self, value: Any) -> str:
        return ""


class SuggestingInput(forms.TextInput):
    """A text input followed by a select of suggested values, which console.js copies into the input."""

    def __init__(self, suggestions: Sequence[tuple[str, str]], example: str) -> None:
        super().__init__(attrs=quiet(example))
        self._suggestions = suggestions

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        field = super().render(name, value, attrs, renderer)
        options = format_html_join("", '<option value="{}">{}</option>', self._suggestions)
        return format_html(
            '{}<select class="form-select mt-1" aria-label="Layout" data-copies-to="{}">'
            '<option value="">Choose a layout</option>{}</select>',
            field,
            (attrs or {}).get("id", ""),
            options,
        )


def text_widget(secret: bool, several_lines: bool, example: str) -> forms.Widget:
    """Return the input of a text; the value of a secret is never sent back to a page."""
    if secret and several_lines:
        return SecretTextarea(attrs={"rows": 4, **quiet(example)})
    if secret:
        return forms.PasswordInput(attrs={**quiet(example), "autocomplete": "new-password"})
    if several_lines:
        return forms.Textarea(attrs={"rows": 4, **quiet(example)})
    return forms.TextInput(attrs=quiet(example))


def quiet(example: str) -> dict[str, str]:
    """Return attributes that turn off completion and spelling correction in browsers."""
    attrs = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}
    return {**attrs, "placeholder": example} if example else attrs
