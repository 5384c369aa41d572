"""The demo's people and accounts, created once."""

from __future__ import annotations

import secrets
import string
from dataclasses import dataclass

from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import make_password
from django.db import transaction

from accounts.audit import Actor
from accounts.models import Account, Membership, Role, User
from accounts.services import add_member, create_account
from finops.demo.company import DOMAIN, LABS_NAME, NAME, person
from finops.lib.errors import UserError

EMAIL = f"demo@{DOMAIN}"
SLUG, LABS_SLUG = "lumenly", "lumenly-labs"
# Letters and digits: a double click takes all of it.
_PASSWORD_LETTERS = string.ascii_letters + string.digits
# They sign in with the demo person's password.
COLLEAGUES = {
    person("maya.okafor"): ("Maya Okafor", Role.ADMIN),
    person("sofia.rossi"): ("Sofia Rossi", Role.MEMBER),
    person("omar.haddad"): ("Omar Haddad", Role.VIEWER),
}


@dataclass(frozen=True)
class People:
    """The demo person with their accounts. `password` is set when a new one was needed."""

    user: User
    account: Account
    labs: Account
    password: str | None


def demo_user() -> User | None:
    return User.objects.filter(email=EMAIL).first()


def demo_account(slug: str) -> Account | None:
    """Return the demo's account at that address. Raises UserError when another account has the address."""
    account = Account.objects.filter(slug=slug).first()
    if (
        account
        and not Membership.objects.filter(account=account, user__email=EMAIL, role=Role.OWNER).exists()
    ):
        raise UserError(
            f"The account {slug!r} is there and {EMAIL} does not own it, so it is not the demo's. "
            "Demo data needs a database without an account of that address."
        )
    return account


@transaction.atomic
def ensure_people(actor: Actor, password: str | None) -> People:
    """Create missing people and accounts. `password` is that of the last run; it stays when it works."""
    user, new_password, hashed = _person(EMAIL, "Demo Person"), None, ""
    if not (password and user.check_password(password)):
        new_password = "".join(secrets.choice(_PASSWORD_LETTERS) for _ in range(16))
        hashed = make_password(new_password)
        _set_password(user, hashed)
    account = demo_account(SLUG) or create_account(name=NAME, slug=SLUG, owner=user, actor=actor)
    labs = demo_account(LABS_SLUG) or create_account(name=LABS_NAME, slug=LABS_SLUG, owner=user, actor=actor)
    for email, (name, role) in COLLEAGUES.items():
        colleague = _person(email, name)
        if hashed:
            _set_password(colleague, hashed)
        if not Membership.objects.filter(account=account, user=colleague).exists():
            add_member(account=account, user=colleague, role=role, actor=actor)
    return People(user, account, labs, new_password)


def _person(email: str, name: str) -> User:
    user = User.objects.filter(email=email).first()
    if user is None:
        user = User.objects.create_user(email, name=name)
    EmailAddress.objects.get_or_create(user=user, email=email, defaults={"verified": True, "primary": True})
    return user


def _set_password(user: User, hashed: str) -> None:
    # Hashed once for all of them: the hash is slow on purpose.
    user.password = hashed
    user.save(update_fields=["password"])


@transaction.atomic
def remove_people() -> None:
    """Delete the demo's accounts with all their data, and its people, from the database."""
    for slug in (SLUG, LABS_SLUG):
        account = demo_account(slug)
        if account:
            account.delete()
    User.objects.filter(email__in=[EMAIL, *COLLEAGUES]).delete()
