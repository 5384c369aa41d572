"""The form of a board."""

from __future__ import annotations

from django import forms

from finops.dashboards.starters import STARTERS

WHO = [
    ("shared", "Everyone in the account, and assistants"),
    ("mine", "Only me"),
]


class DashboardForm(forms.Form):
    name = forms.CharField(max_length=100, error_messages={"required": "Enter a name."})
    who = forms.ChoiceField(label="Visibility", choices=WHO, widget=forms.RadioSelect, initial="shared")


class NewDashboardForm(DashboardForm):
    starter = forms.ChoiceField(
        label="Template", choices=STARTERS, widget=forms.RadioSelect, initial="spend", required=False
    )
