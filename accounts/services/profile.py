"""A person's profile: name, formats, theme."""

from __future__ import annotations

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, User
from finops.lib.errors import UserError
from finops.lib.formats.locales import LOCALES, time_zones


@transaction.atomic
def change_profile(*, user: User, name: str, locale: str, time_zone: str, theme: str) -> None:
    """Change a person's name, locale, time zone and theme, and record it in the audit log of each of their accounts.

    Raises UserError for a locale that is not supported and a time zone that IANA does not have, ValidationError for what
    is too long.
    """
    if locale not in LOCALES:
        raise UserError(
            f"{locale[:20]!r} is not a supported locale. Choose one from the list.", field="locale"
        )
    if time_zone not in time_zones():
        raise UserError(
            f"{time_zone[:64]!r} is not a time zone. Choose one from the list, such as Europe/Berlin.",
            field="time_zone",
        )
    fields = ("name", "locale", "time_zone", "theme")
    before = {field: getattr(user, field) for field in fields}
    user.name, user.locale, user.time_zone, user.theme = name.strip(), locale, time_zone, theme
    user.full_clean(exclude=["password"])
    user.save(update_fields=fields)
    after = {field: getattr(user, field) for field in fields}
    if before == after:
        return
    for account in Account.objects.filter(memberships__user=user).order_by("pk"):
        audit.record(
            account=account,
            actor=Actor.of_user(user),
            action="user.change_profile",
            target=user.email,
            detail={"from": before, "to": after},
        )
