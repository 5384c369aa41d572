"""Forms of the page AI prices."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

from finops.ai_spend.models import MAX_MODEL
from finops.ai_spend.naming import ALL_TOKEN_TYPES
from finops.ai_spend.price_files import COLUMNS, MAX_BYTES
from finops.lib import clock
from finops.lib.currencies import ISO_4217


def _codes() -> list[tuple[str, str]]:
    return [("", "Choose…"), *((code, code) for code in sorted(ISO_4217))]


class AiPriceForm(forms.Form):
    model = forms.CharField(
        max_length=MAX_MODEL,
        error_messages={"required": "Enter a model."},
        help_text="As in usage or in the bill, such as claude-sonnet-4-5.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    token_type = forms.ChoiceField(
        label="Token type",
        choices=[("", "Choose…"), *((name, name) for name in ALL_TOKEN_TYPES)],
        error_messages={"required": "Choose a token type."},
    )
    price_per_million = forms.CharField(
        label="Price per million tokens",
        max_length=40,
        error_messages={"required": "Enter a price, such as 2.50."},
        help_text="With a decimal point, such as 2.50.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    currency = forms.ChoiceField(choices=_codes, error_messages={"required": "Choose a currency."})
    valid_from = forms.DateField(
        label="From",
        initial=clock.today,
        help_text="Until the next price of the same model and token type.",
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )


class AiPriceUploadForm(forms.Form):
    file = forms.FileField(
        label="CSV file",
        error_messages={"required": "Choose a CSV file."},
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,text/csv"}),
        help_text=f"Columns {', '.join(COLUMNS)}. Prices of the same model, token type and date are replaced.",
    )

    def clean_file(self) -> UploadedFile[bytes]:
        """Raises ValidationError for a file that is too large."""
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if file.size is None or file.size > MAX_BYTES:
            raise ValidationError(f"The file has more than {MAX_BYTES // 1024**2} MB. Split it.")
        return file
