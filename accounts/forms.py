"""Forms of the settings pages."""

from __future__ import annotations

import calendar
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from accounts.models import Account, GlossaryTerm, MCPKey, Membership, Role, Theme, User
from accounts.reader_limits import FIELD, add_limit_field
from finops.lib import clock
from finops.lib.currencies import ISO_4217
from finops.lib.errors import UserError
from finops.lib.formats import dates, numbers
from finops.lib.formats.locales import (
    DEFAULT_LOCALE,
    DEFAULT_TIME_ZONE,
    LOCALES,
    reader_formats,
    time_zones,
)
from finops.lib.holidays import countries


def take_error(form: forms.Form | forms.ModelForm[Any], error: UserError | ValidationError) -> None:
    """Add a service's error to the form: to its field, else above the form."""
    if isinstance(error, UserError):
        field = error.field if error.field in form.fields else None
        form.add_error(field, _without_prefix(error.message, field) if field else error.message)
        return
    if not hasattr(error, "error_dict"):
        form.add_error(None, error)
        return
    for name, problems in error.error_dict.items():
        for problem in problems:
            field = name if name in form.fields else _named_field(form, problem)
            form.add_error(field, problem)


def _without_prefix(message: str, field: str) -> str:
    """Return the message without the name of the tool's argument at its beginning: it is shown beside the field."""
    text = message.removeprefix(f"{field}: ")
    return message if text == message else f"{text[:1].upper()}{text[1:]}"


def _named_field(form: forms.Form | forms.ModelForm[Any], problem: ValidationError) -> str | None:
    """Return the field of a violated unique constraint of several columns, which Django reports without a field: its
    message has "with this name" or "with this key"."""
    text = " ".join(problem.messages)
    return next(
        (name for name in ("name", "key") if name in form.fields and f"with this {name}" in text), None
    )


class FormErrors(AbstractContextManager[None, bool]):
    """Context manager, `with FormErrors(form):`, around the call of a service and the code after its success: a UserError
    or ValidationError that the service raises ends the block and is added to the form."""

    def __init__(self, form: forms.Form | forms.ModelForm[Any]) -> None:
        self._form = form

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> bool:
        if not isinstance(error, UserError | ValidationError):
            return False
        take_error(self._form, error)
        return True


class ErrorMessages(AbstractContextManager[None, bool]):
    """Context manager like FormErrors for a button without a form: the service's error is a message of the next page."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> bool:
        if not isinstance(error, UserError | ValidationError):
            return False
        text = error.message if isinstance(error, UserError) else " ".join(error.messages)
        messages.error(self._request, text)
        return True


class NewKeyForm(forms.Form):
    """A form that creates one key, however often it is submitted: its token can be claimed once.

    So a reload or a second click creates no second key.
    """

    name = forms.CharField(
        max_length=100,
        help_text="For example: Cursor on Ana's laptop.",
        error_messages={"required": "Enter a name."},
    )
    scope = forms.ChoiceField(
        choices=MCPKey.Scope.choices,
        initial=MCPKey.Scope.READ,
        widget=forms.RadioSelect,
        help_text="Read/write can also create budgets, alert subscriptions and dashboards.",
    )
    expires_on = forms.DateField(
        label="Expires on",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="Last valid day (UTC). Default: no expiry.",
    )
    form_token = forms.CharField(widget=forms.HiddenInput, max_length=64)

    def __init__(self, account: Account, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        add_limit_field(self, account, help_text="What cost the key sees.")
        self.fields["form_token"].initial = secrets.token_urlsafe(16)

    def claim(self, user: User) -> bool:
        """Return whether this is the first submission of a valid form by the user, within a day."""
        return cache.add(self._claim_key(user), True, timeout=86_400)

    def release(self, user: User) -> None:
        """Allow another submission after a failed one."""
        cache.delete(self._claim_key(user))

    def _claim_key(self, user: User) -> str:
        return f"{type(self).__name__}:{user.pk}:{self.cleaned_data['form_token']}"

    def clean_expires_on(self) -> datetime | None:
        """Return the end of that day (UTC), or None for a key without expiry. Raises ValidationError for a day in the past."""
        day = self.cleaned_data["expires_on"]
        if day is None:
            return None
        if day < clock.today():
            raise ValidationError("The expiry is in the past. Choose a later day, or none.")
        return datetime.combine(day + timedelta(days=1), time(), tzinfo=UTC)


KEY_HELP = "A public key as PEM, JWK or JWK set, or the https URL of a JWK set."


def _key_field(**options: Any) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "font-monospace"})
    return forms.CharField(label="Public key", max_length=20_000, widget=widget, **options)


class ServiceAccountForm(NewKeyForm):
    """The form of a service account. `scope` is its access: the same two choices as for a key."""

    key = _key_field(
        required=False, help_text=f"{KEY_HELP} Optional: without a key, the console creates a client secret."
    )

    def __init__(self, account: Account, *args: Any, **kwargs: Any) -> None:
        super().__init__(account, *args, **kwargs)
        self.fields["name"].help_text = "For example: Nightly cost check in CI."
        self.fields["scope"].label = "Access"
        if FIELD in self.fields:
            self.fields[FIELD].help_text = "What cost the service account sees."


class ServiceAccountKeyForm(forms.Form):
    key = _key_field(help_text=KEY_HELP, error_messages={"required": "Enter a public key."})


class NewAccountForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        label="Account name",
        help_text="Your company or team. You become the owner.",
        error_messages={"required": "Enter a name."},
    )


class InvitationForm(forms.Form):
    email = forms.EmailField(
        label="Email",
        max_length=254,
        help_text="The invitation link is valid for 7 days.",
        error_messages={"required": "Enter an email address."},
    )
    role = forms.ChoiceField(choices=Role.below_owner(), initial=Role.VIEWER)

    def __init__(self, account: Account, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        add_limit_field(self, account, help_text="What cost a viewer or member sees.")


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.below_owner())


class RemovalForm(forms.Form):
    """What becomes of what a removed member made: nobody gets it by default, and keys are revoked."""

    def __init__(self, heirs: Sequence[Membership], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heirs = {str(row.pk): row for row in heirs}
        people = [(pk, f"Hand over to {row.user.label}") for pk, row in self.heirs.items()]
        self.fields["heir"] = forms.ChoiceField(
            label="MCP keys",
            required=False,
            choices=[("", "Revoke"), *people],
            help_text="Handed over, keys keep working within the other person's cost access, as does what stays. Whoever copied "
            "a key can use it: replace it soon.",
            error_messages={"invalid_choice": "Choose a person from the list."},
        )

    @property
    def chosen_heir(self) -> Membership | None:
        return self.heirs.get(self.cleaned_data["heir"])


class DeletionForm(forms.Form):
    name = forms.CharField(
        label="Name of the account",
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Enter the name of the account."},
    )


class TransferForm(forms.Form):
    membership_id = forms.IntegerField()


class AccountForm(forms.Form):
    name = forms.CharField(max_length=100, error_messages={"required": "Enter a name."})
    fiscal_start_month = forms.TypedChoiceField(
        label="Fiscal year starts in",
        coerce=int,
        choices=[(number, calendar.month_name[number]) for number in range(1, 13)],
        help_text="First month of quarters and years in reports.",
    )
    holiday_country = forms.ChoiceField(
        label="Public holidays",
        required=False,
        choices=lambda: [("", "No country"), *countries().items()],
        help_text="Forecasts treat holidays like Sundays.",
    )
    display_currency = forms.ChoiceField(
        label="Display currency",
        required=False,
        choices=lambda: [("", "None: amounts stay as billed"), *((code, code) for code in sorted(ISO_4217))],
        help_text="Amounts are converted to it by the exchange rate of their day.",
    )

    @classmethod
    def of(cls, account: Account) -> AccountForm:
        return cls(
            initial={
                "name": account.name,
                "fiscal_start_month": account.fiscal_start_month,
                "holiday_country": account.holiday_country,
                "display_currency": account.display_currency,
            }
        )

    def shown(self) -> list[tuple[str, str]]:
        """Return (label, text) of each field, for people who may not change them."""
        rows = []
        for bound in self:
            value = bound.value()
            choices = dict(getattr(bound.field, "choices", ()))
            rows.append((str(bound.label), str(choices.get(value, value))))
        return rows


class TimeZoneField(forms.CharField):
    """A field for an IANA name, or its city. Its page lists `time_zones()` in a datalist `time-zones`."""

    def __init__(self, **options: Any) -> None:
        attrs = {"list": "time-zones", "autocomplete": "off", "placeholder": DEFAULT_TIME_ZONE}
        options = {"label": "Time zone", "max_length": 64, "widget": forms.TextInput(attrs=attrs), **options}
        super().__init__(error_messages={"required": "Choose a time zone, such as UTC."}, **options)

    def clean(self, value: Any) -> str:
        """Return the name: `berlin` and `Europe/berlin` are `Europe/Berlin`. Raises ValidationError for none or
        several."""
        text = super().clean(value).strip().replace(" ", "_").casefold()
        names = {name.casefold(): name for name in time_zones()}
        cities = [name for key, name in names.items() if key.rpartition("/")[2] == text]
        if text in names:
            return names[text]
        if len(cities) != 1:
            raise ValidationError("This is not a time zone. Choose one from the list, such as Europe/Berlin.")
        return cities[0]


class ProfileForm(forms.Form):
    name = forms.CharField(max_length=150, required=False, help_text="Default: your email address")
    locale = forms.ChoiceField(
        label="Date and number format",
        choices=lambda: [(locale, format_example(locale, region)) for locale, region in LOCALES.items()],
    )
    time_zone = TimeZoneField(
        help_text="Type a city, such as Berlin. Cost and usage are counted in UTC days."
    )
    theme = forms.ChoiceField(choices=Theme.choices, required=False, widget=forms.RadioSelect)

    @classmethod
    def of(cls, user: User) -> ProfileForm:
        return cls(
            initial={
                "name": user.name,
                "locale": user.locale or DEFAULT_LOCALE,
                "time_zone": user.time_zone or DEFAULT_TIME_ZONE,
                "theme": user.theme,
            }
        )


def format_example(locale: str, region: str) -> str:
    """Return an example of the formats: `United States: Oct 23, 1,234.56`."""
    with reader_formats(locale):
        return (
            f"{region}: {dates.day(date(clock.today().year, 10, 23))}, {numbers.number(Decimal('1234.56'))}"
        )


class GlossaryForm(forms.Form):
    terms = forms.CharField(
        required=False,
        label="Terms",
        widget=forms.Textarea(
            attrs={
                "rows": 10,
                "placeholder": "GMV: gross merchandise value, in the usage metric gmv\nedge: the services tagged team=edge",
            }
        ),
        help_text=(
            "One term per line, as term: meaning. Assistants receive them with the account's context."
        ),
    )

    @classmethod
    def of(cls, terms: list[GlossaryTerm]) -> GlossaryForm:
        return cls(initial={"terms": "\n".join(map(str, terms))})

    def clean_terms(self) -> list[tuple[str, str]]:
        """Return pairs of term and meaning, one a line. Raises ValidationError for a line without either of them."""
        lines = [line.strip() for line in self.cleaned_data["terms"].splitlines() if line.strip()]
        pairs = [
            (term.strip(), meaning.strip()) for term, _, meaning in (line.partition(":") for line in lines)
        ]
        wrong = [line for line, (term, meaning) in zip(lines, pairs, strict=True) if not (term and meaning)]
        if wrong:
            raise ValidationError(f"“{wrong[0]}”: use the format term: meaning.")
        return pairs


def _limits(*choices: tuple[int, str], none: str) -> forms.TypedChoiceField:
    return forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, choices=[("", none), *choices], initial=""
    )


class SecurityForm(forms.Form):
    second_factor_required = forms.BooleanField(
        required=False,
        label="Require two-factor authentication",
        help_text="Members without a second factor, and their connected apps, lose access until they "
        "set one up. MCP keys and source keys keep working.",
    )
    second_factor_grace_days = forms.IntegerField(
        label="Grace period",
        required=False,
        min_value=0,
        max_value=90,
        help_text="Days, 0 to 90, from the day two-factor became required or the member joined.",
    )
    session_max_hours = _limits(
        (1, "1 hour"),
        (4, "4 hours"),
        (8, "8 hours"),
        (12, "12 hours"),
        (24, "1 day"),
        (72, "3 days"),
        (168, "7 days"),
        none="No limit (14 days)",
    )
    session_idle_minutes = _limits(
        (15, "15 minutes"),
        (30, "30 minutes"),
        (60, "1 hour"),
        (240, "4 hours"),
        (480, "8 hours"),
        (1_440, "1 day"),
        none="No limit",
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        age, idle = self.fields["session_max_hours"], self.fields["session_idle_minutes"]
        age.label, age.help_text = "Maximum session age", "Members sign in again after this time."
        idle.label, idle.help_text = "Idle timeout", "Members sign in again after this time without use."

    def clean_second_factor_grace_days(self) -> int:
        return self.cleaned_data["second_factor_grace_days"] or 0

    @classmethod
    def of(cls, account: Account) -> SecurityForm:
        return cls(initial={name: getattr(account, name) for name in cls.base_fields})
