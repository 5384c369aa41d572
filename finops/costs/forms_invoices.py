"""Forms of the invoice pages."""

from __future__ import annotations

from django import forms


class InvoiceTotalForm(forms.Form):
    amount = forms.DecimalField(
        max_digits=33,
        decimal_places=18,
        label="Invoice total",
        help_text="In the invoice's currency, for example 1234.56.",
    )
    note = forms.CharField(
        max_length=1000, required=False, label="Note", help_text="Where the figure is from."
    )
