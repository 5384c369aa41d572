"""Forms of the unit cost pages."""

from __future__ import annotations

from django import forms


class CustomerKeyForm(forms.Form):
    dimension = forms.ChoiceField(
        label="Customer key",
        help_text="Values must match customer_id of usage events exactly (case-sensitive).",
        error_messages={"required": "Choose the tag or dimension with your customer IDs."},
    )


class AliasForm(forms.Form):
    value = forms.CharField(
        max_length=500,
        strip=False,
        label="Value in the cost",
        error_messages={"required": "Enter the value as it is in the bills."},
    )
    customer_id = forms.CharField(
        max_length=255,
        strip=False,
        label="Customer ID",
        widget=forms.TextInput(attrs={"list": "customer-ids", "autocomplete": "off"}),
        error_messages={"required": "Choose a customer."},
    )
    next = forms.CharField(required=False, widget=forms.HiddenInput)


class UsageDimensionForm(forms.Form):
    cost_dimension = forms.CharField(
        max_length=300,
        label="Cost dimension",
        help_text="Such as region or tag:market. Its values must match those of usage.",
        error_messages={"required": "Enter a cost dimension, such as tag:market."},
    )
    usage_dimension = forms.CharField(
        max_length=300,
        label="Usage dimension",
        widget=forms.TextInput(attrs={"list": "usage-dimensions", "autocomplete": "off"}),
        error_messages={"required": "Enter a key of usage events, or customer."},
    )


class UnitMetricForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        help_text="For example Cost per order. Assistants use this name.",
        error_messages={"required": "Enter a name."},
    )
    description = forms.CharField(max_length=500, required=False, help_text="Optional description.")
