from __future__ import annotations

from django import forms

from accounts.models import Account


class SecurityForm(forms.Form):
    second_factor_required = forms.BooleanField(
        required=False,
        label="Require two-factor sign-in",
        help_text="Members without a second factor see only where to set one up, and the apps that they connected are "
        "refused until they have. MCP keys and source keys go on.",
    )

    @classmethod
    def of(cls, account: Account) -> SecurityForm:
        return cls(initial={"second_factor_required": account.second_factor_required})
