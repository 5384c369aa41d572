"""Texts of django-allauth's forms in the words of this product."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django import forms

CODE: Final = "Enter the 6-digit code from your authenticator app."


class EntryTexts:
    """Mixin for a form of django-allauth: the error of each empty field says what to enter."""

    fields: dict[str, forms.Field]
    required_texts: ClassVar[Mapping[str, str]] = {
        "email": "Enter your email address.",
        "login": "Enter your email address.",
        "password": "Enter your password.",
        "oldpassword": "Enter your current password.",
        "password1": "Enter a new password.",
        "password2": "Enter the new password again.",
        "code": CODE,
        "name": "Enter a name.",
    }
    labels: ClassVar[Mapping[str, str]] = {"code": "6-digit code"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            if name in self.required_texts:
                field.error_messages["required"] = self.required_texts[name]
            field.label = self.labels.get(name, field.label)
