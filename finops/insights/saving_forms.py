"""Forms of the savings pages."""

from __future__ import annotations

from typing import Any

from django import forms

from finops.costs.models import CostSource


class DismissForm(forms.Form):
    """Why it is not worth doing."""

    reason = forms.CharField(
        label="Reason",
        max_length=2_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Why it is not worth doing. It then counts in no total.",
    )


class ActedForm(forms.Form):
    """When something was done about it."""

    acted_on = forms.DateField(
        label="Done on",
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        help_text="The bills after this day show what it saved.",
    )
    note = forms.CharField(label="Note", max_length=2_000, required=False)


MAX_FILE = 50_000_000


class HubForm(forms.Form):
    """An export of AWS Cost Optimization Hub, and the cost source that its accounts are billed in."""

    source = forms.ModelChoiceField(
        queryset=CostSource.objects.unscoped().none(),  # the form's account fills it
        label="Cost source",
        help_text="The bill of the same AWS accounts. The file replaces what the source had.",
        error_messages={"required": "Choose the cost source of the same AWS accounts."},
    )
    file = forms.FileField(
        label="Export file",
        help_text="Cost optimization recommendations as CSV, CSV.gz or Parquet.",
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.gz,.parquet"}),
        error_messages={"required": "Choose the export file.", "empty": "The file is empty."},
    )

    def __init__(self, *args: Any, sources: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["source"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 for the type checker
        field.queryset = sources

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MAX_FILE:
            raise forms.ValidationError(
                f"The file has {file.size:,} bytes; an export has at most {MAX_FILE:,}."
            )
        return file
