"""Forms of the exchange rates page."""

from __future__ import annotations

from decimal import Decimal

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

from finops.exchange_rates.rate_files import MAX_CSV_BYTES, parse_rate
from finops.lib import clock
from finops.lib.currencies import ISO_4217
from finops.lib.errors import UserError


def _codes() -> list[tuple[str, str]]:
    return [("", "Choose…"), *((code, code) for code in sorted(ISO_4217))]


class RateForm(forms.Form):
    day = forms.DateField(
        label="Date", initial=clock.today, widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    )
    base = forms.ChoiceField(label="From", choices=_codes, error_messages={"required": "Choose a currency."})
    quote = forms.ChoiceField(label="To", choices=_codes, error_messages={"required": "Choose a currency."})
    rate = forms.CharField(
        max_length=60,
        error_messages={"required": "Enter a rate, such as 1.0876."},
        help_text="Units of the second currency per unit of the first, such as 1.0876.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )

    def clean_rate(self) -> Decimal:
        """Return the rate. Raises ValidationError for text that is no plain number."""
        try:
            return parse_rate(self.cleaned_data["rate"].strip())
        except UserError as error:
            raise ValidationError(error.message) from error


class RateUploadForm(forms.Form):
    file = forms.FileField(
        label="CSV file",
        error_messages={"required": "Choose a CSV file."},
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,text/csv"}),
        help_text="Columns date, from, to, rate. Rates of the same date and currencies are replaced.",
    )

    def clean_file(self) -> UploadedFile[bytes]:
        """Return the file. Raises ValidationError for one that is too large."""
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if file.size is None or file.size > MAX_CSV_BYTES:
            raise ValidationError(f"The file has more than {MAX_CSV_BYTES // 1024**2} MB. Split it.")
        return file
