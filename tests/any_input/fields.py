"""The names of the fields that a view reads, seen while it answers, and values that its forms offer for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from django.forms import BaseForm, FileField
from django.utils.datastructures import MultiValueDict

from tests.any_input.inputs import SAMPLES, Fields

SHOWN_CHOICES = 4
_OF_THE_FRAMEWORK = {"csrfmiddlewaretoken"}


@contextmanager
def observed(fields: Fields) -> Iterator[None]:
    """Add what the block reads from forms, files and queries."""

    def seen(name: object) -> None:
        if isinstance(name, str) and name not in _OF_THE_FRAMEWORK:
            fields.setdefault(name, [])

    def watching(method: str) -> Any:
        original = getattr(MultiValueDict, method)

        def read(self: Any, key: object, *rest: Any, **options: Any) -> Any:
            seen(key)
            return original(self, key, *rest, **options)

        return patch.object(MultiValueDict, method, read)

    full_clean = BaseForm.full_clean

    def clean(form: Any) -> None:
        for name, field in form.fields.items():
            values = fields.setdefault(form.add_prefix(name), [])
            if isinstance(field, FileField):
                fields.files.add(form.add_prefix(name))
            values += [value for value in _plausible(form, name, field) if value not in values]
        full_clean(form)

    with (
        watching("get"),
        watching("getlist"),
        watching("__getitem__"),
        patch.object(BaseForm, "full_clean", clean),
    ):
        yield


def _plausible(form: Any, name: str, field: Any) -> list[str]:
    if isinstance(field, FileField):
        return [sample.decode() for sample in SAMPLES]
    choices = [str(value) for value, _label in _flat(getattr(field, "choices", ()))]
    initial = form.get_initial_for_field(field, name)
    values = [
        *choices[:SHOWN_CHOICES],
        *([] if initial in (None, "") or isinstance(initial, list) else [str(initial)]),
    ]
    return values or list(_BY_KIND.get(type(field).__name__, ("Name", "1")))  # fmt: skip


_BY_KIND = {
    "DateField": ("2026-03-01",),
    "DateTimeField": ("2026-03-01T12:00",),
    "DecimalField": ("1.5",),
    "IntegerField": ("1",),
    "EmailField": ("ann@example.com",),
    "URLField": ("https://example.com/x",),
    "BooleanField": ("on",),
}


def _flat(choices: Any) -> Iterator[tuple[Any, Any]]:
    for value, label in choices:
        if isinstance(label, list | tuple):
            yield from _flat(label)
        else:
            yield value, label
