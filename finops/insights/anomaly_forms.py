"""Forms of the anomaly pages."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms

WATCH, MINIMUM = "watch_", "minimum_"


class NoteForm(forms.Form):
    """Why it was expected, or what was done about it."""

    note = forms.CharField(
        label="Note",
        max_length=2_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Why this cost was meant to be so, or what was done about it.",
    )


class AnomalySettingsForm(forms.Form):
    """What is watched beside the service, and the smallest impact in each currency that the account has."""

    def __init__(
        self, *args: Any, choices: list[Any], watches: int, currencies: list[str], **options: Any
    ) -> None:
        super().__init__(*args, **options)
        for place in range(1, watches + 1):
            self.fields[f"{WATCH}{place}"] = forms.ChoiceField(
                label=f"Watch also, {place}", required=False, choices=[("", "Nothing more"), *choices]
            )
        for currency in currencies:
            self.fields[f"{MINIMUM}{currency}"] = forms.DecimalField(
                label=f"Smallest impact in {currency}",
                required=False,
                min_value=Decimal(0),
                max_digits=30,
                decimal_places=6,
                help_text="Left empty: by the size of the service and of the account.",
            )

    @property
    def watches(self) -> list[str]:
        """The dimensions chosen."""
        chosen = [value for name, value in self.cleaned_data.items() if name.startswith(WATCH)]
        return [value for value in chosen if value]

    @property
    def minimums(self) -> dict[str, Decimal | None]:
        """The amounts given, by currency."""
        cleaned = self.cleaned_data
        return {name.removeprefix(MINIMUM): cleaned[name] for name in cleaned if name.startswith(MINIMUM)}

    @property
    def watch_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith(WATCH)]

    @property
    def amount_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith(MINIMUM)]
