"""The form of the consent page: which of the person's accounts, and how far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from accounts.models import Account, Membership, OAuthApplication, OAuthConnection, Role, User

LABELS = {
    OAuthConnection.Access.READ: "Read only",
    OAuthConnection.Access.READ_WRITE: "Read and write",
}


class ConsentForm(forms.Form):
    """`account` is one of the person's own, `access` no more than the client asked for and her role there allows."""

    account = forms.ChoiceField(widget=forms.RadioSelect, label="Account")
    access = forms.ChoiceField(widget=forms.RadioSelect, label="Access", required=False)

    def __init__(
        self,
        user: User,
        application: OAuthApplication,
        accesses: list[str],
        data: Mapping[str, Any] | None = None,
        *,
        initial: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(data, initial=initial)
        self.memberships = list(
            Membership.objects.filter(user=user).select_related("account").order_by("account__name", "pk")
        )
        self.fields["account"].choices = [  # type: ignore[attr-defined]
            (membership.account.slug, membership.account.name) for membership in self.memberships
        ]
        self.fields["account"].initial = self._last_account(user, application)
        self.fields["access"].choices = [(value, LABELS[value]) for value in accesses]  # type: ignore[attr-defined, index]
        self.fields["access"].initial = OAuthConnection.Access.READ.value

    def _last_account(self, user: User, application: OAuthApplication) -> str:
        """The account that this client got last time: a client that asks for more means the same one."""
        before = (
            OAuthConnection.objects.unscoped()  # the person's own, wherever she is a member
            .filter(user=user, application=application, account__memberships__user=user)
            .order_by("-created_at", "-pk")
            .values_list("account__slug", flat=True)
            .first()
        )
        return before or (self.memberships[0].account.slug if self.memberships else "")

    def clean_account(self) -> Account:
        slug = self.cleaned_data["account"]
        return next(row.account for row in self.memberships if row.account.slug == slug)

    def clean_access(self) -> str:
        return self.cleaned_data["access"] or OAuthConnection.Access.READ.value

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        account, access = cleaned.get("account"), cleaned.get("access")
        role = next((row for row in self.memberships if account is not None and row.account == account), None)
        if role and access == OAuthConnection.Access.READ_WRITE and not role.may(Role.MEMBER):
            problem = f"You are a viewer of {role.account.name}: let the client read there, or choose another account."
            raise ValidationError({"access": problem})
        return cleaned
