"""The people of every test: owner, admin, member, viewer, a stranger with an account of their own, and a member of
both accounts."""

from __future__ import annotations

import dataclasses
import time

from django.test import Client

from accounts.audit import Actor
from accounts.models import Account, AuditEntry, Membership, Role, User
from accounts.services import add_member, create_account

PASSWORD = "correct horse battery staple"
ACTOR = Actor.command("test")
"""The actor of actions without a person."""


@dataclasses.dataclass(frozen=True)
class Cast:
    owner: User
    admin: User
    member: User
    viewer: User
    stranger: User
    both: User
    account: Account
    other_account: Account

    @property
    def actor(self) -> Actor:
        return Actor.of_user(self.member)

    @property
    def other_actor(self) -> Actor:
        return Actor.of_user(self.stranger)

    def person(self, name: str) -> User:
        user = getattr(self, name)
        assert isinstance(user, User)
        return user


NAMES = ("owner", "admin", "member", "viewer", "stranger", "both")


def make_cast() -> Cast:
    """Create the rows that the services would create (tests/test_cast.py compares them), with one statement for each
    table, because nearly every test does it."""
    people = dict(zip(NAMES, User.objects.bulk_create([_person(name) for name in NAMES]), strict=True))
    acme, elsewhere = Account.objects.bulk_create(
        [Account(name="Acme", slug="acme"), Account(name="Elsewhere", slug="elsewhere")]
    )
    owner, stranger = people["owner"], people["stranger"]
    cast = [
        _Member(acme, owner, Role.OWNER, owner),
        _Member(elsewhere, stranger, Role.OWNER, stranger),
        *(_Member(acme, people[name], Role(name), owner) for name in ("admin", "member", "viewer")),
        _Member(acme, people["both"], Role.MEMBER, owner),
        _Member(elsewhere, people["both"], Role.VIEWER, stranger),
    ]
    Membership.objects.bulk_create([each.row() for each in cast])
    AuditEntry.objects.unscoped().bulk_create([each.entry() for each in cast])
    return Cast(**people, account=acme, other_account=elsewhere)


@dataclasses.dataclass(frozen=True)
class _Member:
    account: Account
    user: User
    role: Role
    by: User

    def row(self) -> Membership:
        return Membership(account=self.account, user=self.user, role=self.role)

    def entry(self) -> AuditEntry:
        """Return the audit entry: an owner's is that of the account's creation, any other person's that of a new
        member."""
        owns = self.role is Role.OWNER
        return AuditEntry(
            account=self.account,
            actor_user=self.by,
            actor_label=self.by.email,
            action="account.create" if owns else "member.add",
            target=self.account.name if owns else self.user.email,
            detail={} if owns else {"role": self.role.value},
        )


def make_cast_by_services() -> Cast:
    people = {name: _person(name) for name in NAMES}
    for person in people.values():
        person.save()
    account = create_account(name="Acme", owner=people["owner"], slug="acme")
    other = create_account(name="Elsewhere", owner=people["stranger"], slug="elsewhere")
    by_owner, by_stranger = Actor.of_user(people["owner"]), Actor.of_user(people["stranger"])
    for name in ("admin", "member", "viewer"):
        add_member(account=account, user=people[name], role=Role(name), actor=by_owner)
    add_member(account=account, user=people["both"], role=Role.MEMBER, actor=by_owner)
    add_member(account=other, user=people["both"], role=Role.VIEWER, actor=by_stranger)
    return Cast(**people, account=account, other_account=other)


def _person(name: str) -> User:
    # A cheap hash, because the suite creates hundreds of people.
    return User(email=f"{name}@example.com", name=name.capitalize(), password=_HASHED)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def reauthenticated(client: Client, user: User) -> Client:
    """Return the client with a password confirmed just now."""
    session = client.session
    session["account_authentication_methods"] = [
        {"method": "password", "at": time.time(), "email": user.email, "reauthenticated": True}
    ]
    session["account_authentication_methods_user"] = str(user.pk)
    session.save()
    return client


def _hash() -> str:
    from django.contrib.auth.hashers import PBKDF2PasswordHasher

    return PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1)


_HASHED = _hash()
