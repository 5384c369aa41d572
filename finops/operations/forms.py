"""Forms of actions that need more than a confirmation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from accounts.limits import LIMITS
from accounts.models import Account
from accounts.sso.forms import DomainForm
from accounts.sso.models import IdentityProvider
from finops.lib.formats import numbers


class LimitsForm(forms.Form):
    """The limits of an account; an empty field means the server's default."""

    def __init__(self, account: Account, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        for limit in LIMITS:
            bounds = f"Enter {numbers.number(limit.minimum)} to {numbers.number(limit.maximum)}."
            self.fields[limit.name] = forms.IntegerField(
                label=limit.title,
                required=False,
                min_value=0 if limit.zero else limit.minimum,
                max_value=limit.maximum,
                initial=account.limits.get(limit.name),
                help_text=limit.help,
                error_messages={"min_value": bounds, "max_value": bounds},
            )


class AccountNameForm(forms.Form):
    """The name of an account, typed as a confirmation; the service compares it."""

    name = forms.CharField(
        label="Name of the account",
        max_length=100,
        widget=forms.TextInput({"autocomplete": "off"}),
        error_messages={"required": "Enter the exact name of the account."},
    )

    def __init__(self, account: Account, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        self.fields["name"].help_text = f"Enter {account.name}."


class ServiceDomainForm(DomainForm):
    """A domain of a provider of the whole service, which the operator confirms by entering it."""

    def __init__(self, provider: IdentityProvider, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
