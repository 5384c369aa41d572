"""The form of a board."""

from __future__ import annotations

from django import forms

from finops.dashboards.starters import STARTERS

WHO = [
    ("shared", "Everybody in the account, and assistants by MCP"),
    ("mine", "Only me"),
]


class DashboardForm(forms.Form):
    name = forms.CharField(max_length=100, error_messages={"required": "Give the dashboard a name."})
    who = forms.ChoiceField(label="Who sees it", choices=WHO, widget=forms.RadioSelect, initial="shared")


class NewDashboardForm(DashboardForm):
    starter = forms.ChoiceField(
        label="Begin with", choices=STARTERS, widget=forms.RadioSelect, initial="spend", required=False
    )
