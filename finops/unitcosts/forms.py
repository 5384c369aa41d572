"""Forms of the unit cost pages."""

from __future__ import annotations

from django import forms


class CustomerKeyForm(forms.Form):
    dimension = forms.ChoiceField(
        label="Customer key",
        help_text="Its values are compared with the customer_id of usage events: exactly, capitals included.",
        error_messages={"required": "Choose the tag or dimension whose values are your customers' ids."},
    )


class AliasForm(forms.Form):
    value = forms.CharField(
        max_length=500,
        strip=False,
        label="Value in the cost",
        error_messages={"required": "Write the value as the cost lines have it."},
    )
    customer_id = forms.CharField(
        max_length=255,
        strip=False,
        label="Customer id",
        widget=forms.TextInput(attrs={"list": "customer-ids", "autocomplete": "off"}),
        error_messages={"required": "Choose the customer that the value stands for."},
    )
    next = forms.CharField(required=False, widget=forms.HiddenInput)


class UsageDimensionForm(forms.Form):
    cost_dimension = forms.CharField(
        max_length=300,
        label="Dimension of cost",
        help_text="Such as region or tag:market. Its values must be those of the usage.",
        error_messages={"required": "Write the dimension of cost, such as tag:market."},
    )
    usage_dimension = forms.CharField(
        max_length=300,
        label="Dimension of usage",
        widget=forms.TextInput(attrs={"list": "usage-dimensions", "autocomplete": "off"}),
        error_messages={"required": "Write the key of usage events, or customer."},
    )


class UnitMetricForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        help_text="As people say it: Cost per order. Assistants ask for it by this name.",
        error_messages={"required": "Give the unit metric a name."},
    )
    description = forms.CharField(
        max_length=500, required=False, help_text="Optional: what it tells, and what moves it."
    )
