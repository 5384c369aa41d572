"""Limits of the cost that new members and keys may read, offered to forms of accounts by finops/cost_access/."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms

from accounts.audit import Actor
from accounts.models import Account, Invitation, MCPKey, Membership, OAuthConnection
from accounts.sso.models import IdentityProvider
from finops.lib.registry import Registry

if TYPE_CHECKING:
    from accounts.creations import Creation  # which imports this

FIELD = "limit"
Limited = Invitation | MCPKey | OAuthConnection | IdentityProvider


@dataclass(frozen=True)
class ReaderLimit:
    """The functions of a kind of limit. `choices` of an account are (value, label), empty where there are no limits.
    `assign` gets the limited row, the value and the actor; it raises UserError for an unknown value. `accept` copies an
    invitation's limit to its member. `join` gives a member whom an identity provider adds the limit that the person had
    when leaving (`leave` stores it), else the provider's; `of_provider` is its choice. `own_choices` are those for an app
    that a person connects, by account: none where the person is limited. `has_readers` is an SQL condition: whether the
    account `a` has a reader with a limit.

    `inherit` gives a new row the limit of its person; `narrow` gives those of members, whose limits count from now on, to
    everything that they made; `narrowed` returns what that would change for a member with a role."""

    label: str
    choices: Callable[[Account], list[tuple[str, str]]]
    assign: Callable[[Limited, str, Actor], None]
    accept: Callable[[Invitation, Membership], None]
    join: Callable[[IdentityProvider, Membership, Actor], None]
    leave: Callable[[Membership], None]
    of_provider: Callable[[IdentityProvider], str]
    own_choices: Callable[[Sequence[Membership]], dict[int, list[tuple[str, str]]]]
    has_readers: str
    inherit: Callable[[Creation], None]
    narrow: Callable[[Account, Collection[Membership], Actor], None]
    narrowed: Callable[[Membership, str], list[Creation]]


reader_limits: Registry[ReaderLimit] = Registry("limit of readers")
"""The kind of limit that a form offers under `limit`; at most one."""


def limited_readers_column() -> str:
    """Return an SQL condition, whether the account `a` has readers with a limit, for statements that check a credential."""
    return " OR ".join([each.has_readers for each in reader_limits.values()]) or "false"


def assign_limit(row: Limited, choice: str, actor: Actor) -> None:
    """Assign a limit within the transaction that stores the row; replaces the limit of an invitation that is sent again."""
    for each in reader_limits.values():
        each.assign(row, choice, actor)


def accept_limit(invitation: Invitation, membership: Membership) -> None:
    for each in reader_limits.values():
        each.accept(invitation, membership)


def limit_new_member(provider: IdentityProvider, membership: Membership, actor: Actor) -> None:
    """Limit a member of a provider, within the transaction that adds the member."""
    for each in reader_limits.values():
        each.join(provider, membership, actor)


def keep_limit(membership: Membership) -> None:
    """Store a member's limit, within the transaction that ends the membership and before its end."""
    for each in reader_limits.values():
        each.leave(membership)


def inherit_limit(creation: Creation) -> None:
    """Limit a new row as its person is, within the transaction that creates it."""
    for each in reader_limits.values():
        each.inherit(creation)


def narrow_creations(account: Account, memberships: Collection[Membership], actor: Actor) -> None:
    """Limit what these members made as they are limited, within the transaction that changes their roles or what they
    own. The number of queries does not depend on the number of members; one if none has a limit."""
    for each in reader_limits.values():
        each.narrow(account, memberships, actor)


def narrowed_by_role(membership: Membership, role: str) -> list[Creation]:
    """Return what a member made that gets her limit if she gets the role."""
    return [row for each in reader_limits.values() for row in each.narrowed(membership, role)]


def limit_of_provider(provider: IdentityProvider) -> str:
    """Return the limit for members that the provider adds; empty: none. One query."""
    return next((each.of_provider(provider) for each in reader_limits.values()), "")


def add_limit_field(form: forms.Form, account: Account, **options: Any) -> None:
    """Add a field `limit` where the account has limits. One query."""
    for each in reader_limits.values():
        if choices := each.choices(account):
            form.fields[FIELD] = forms.ChoiceField(
                label=each.label, required=False, choices=[("", "All cost"), *choices], **options
            )


def add_own_limit_field(
    form: forms.Form, memberships: Sequence[Membership]
) -> dict[int, list[tuple[str, str]]]:
    """Add a field `limit` where a person may limit an app that they connect, grouped by account where there are several;
    return the choices by account. One query."""
    own = {pk: rows for each in reader_limits.values() for pk, rows in each.own_choices(memberships).items()}
    if own:
        groups = [(row.account.name, own[row.account_id]) for row in memberships if row.account_id in own]
        choices = groups if len(memberships) > 1 else groups[0][1]
        form.fields[FIELD] = forms.ChoiceField(
            label="Cost access", required=False, choices=[("", "All cost that you see"), *choices]
        )
    return own
