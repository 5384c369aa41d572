"""Forms of the team pages."""

from __future__ import annotations

from typing import Any

from django import forms

from accounts.models import Account
from finops.allocation.models import CostTag, Team
from finops.costs.dimensions import registry
from finops.costs.views.choices import dimension_choices
from finops.lake import queries as lake_queries


class TeamForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        help_text="As people say it: Payments. Filters and answers name the team by it.",
        error_messages={"required": "Give the team a name."},
    )
    description = forms.CharField(
        max_length=500, required=False, help_text="Optional: what it is for, or where to reach it."
    )

    @classmethod
    def of(cls, team: Team) -> TeamForm:
        return cls(initial={"name": team.name, "description": team.description})


class TeamKeyForm(forms.Form):
    dimension = forms.ChoiceField(
        label="Team key",
        help_text="Each team owns values of it. A cost tag can gather the spellings of a tag, or several tags, first.",
        error_messages={"required": "Choose the tag or dimension whose values teams own."},
    )

    @classmethod
    def of(cls, account: Account, key: str, data: Any = None) -> TeamKeyForm:
        """The choices of the account. Two queries."""
        kinds = [kind for kind in registry.kinds() if kind.name not in ("team", "product")]
        choices = dimension_choices(
            kinds, lake_queries.tag_keys(account), [] if key.startswith("cost_tag:") or not key else [key]
        )
        form = cls(data, initial={"dimension": key})
        field: Any = form.fields["dimension"]
        groups = [
            ("Cost tags", _cost_tags(account)),
            ("Tags", choices.tags),
            ("Dimensions", choices.plain),
            ("Bill", choices.of_bill),
        ]
        field.choices = [("", "Choose…"), *(group for group in groups if group[1])]
        return form


def _cost_tags(account: Account) -> list[tuple[str, str]]:
    keys = CostTag.objects.filter(account=account).values_list("key", flat=True)
    return [(f"cost_tag:{key}", key) for key in keys]
