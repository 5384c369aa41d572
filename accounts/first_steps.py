"""First steps of a new account: facts mark them completed; shown until all are done or the person dismisses them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db.models import BooleanField, Exists, ExpressionWrapper, Q

from accounts.models import Account, Invitation, MCPKey, Membership, OAuthConnection, Role
from finops.lib import clock
from finops.lib.registry import Registry


@dataclass(frozen=True)
class FirstStep:
    """A step with its one button. `place` orders steps; `is_done` is a condition on rows of the account."""

    title: str
    text: str
    action: str
    url_name: str
    icon: str
    place: int
    role: Role
    is_done: Callable[[Account], Q]


@dataclass(frozen=True)
class FirstSteps:
    """The steps of a person, with the completed ones marked."""

    steps: list[tuple[FirstStep, bool]]

    @property
    def done(self) -> int:
        return sum(is_done for _step, is_done in self.steps)


first_steps: Registry[FirstStep] = Registry("first step")

NEW_ACCOUNT: Final = timedelta(days=90)


def first_steps_of(membership: Membership) -> FirstSteps | None:
    """Return the steps that the person's role allows; None once all are done, the person dismissed them, or the account is
    no longer new. One query (3 ms), none in an account that is not new and once dismissed. The account is in scope."""
    is_new = clock.now() - membership.account.created_at < NEW_ACCOUNT
    if membership.first_steps_dismissed_at is not None or not is_new:
        return None
    own = {name: step for name, step in first_steps.items() if membership.may(step.role)}
    conditions = {
        name: ExpressionWrapper(step.is_done(membership.account), output_field=BooleanField())
        for name, step in own.items()
    }
    rows = Account.objects.filter(pk=membership.account_id)
    done = rows.annotate(**conditions).values_list(*conditions, named=True).get()._asdict()
    if all(done.values()):
        return None
    ordered = sorted(own.items(), key=lambda item: item[1].place)
    return FirstSteps([(step, done[name]) for name, step in ordered])


def _has_teammate(account: Account) -> Q:
    colleagues = Membership.objects.filter(account=account).exclude(role=Role.OWNER)
    return Q(Exists(colleagues)) | Q(Exists(Invitation.objects.all()))


def _has_assistant(account: Account) -> Q:
    keys = MCPKey.objects.filter(revoked_at=None)
    return Q(Exists(OAuthConnection.objects.all())) | Q(Exists(keys))


_TEAMMATE: Final = FirstStep(
    title="Invite a teammate",
    text="Viewers see and export everything.",
    action="Invite teammate",
    url_name="members",
    icon="user-plus",
    place=20,
    role=Role.ADMIN,
    is_done=_has_teammate,
)
_ASSISTANT: Final = FirstStep(
    title="Connect an assistant",
    text="Claude, ChatGPT or Cursor, with one URL.",
    action="Connect assistant",
    url_name="connected_apps",
    icon="message-chatbot",
    place=30,
    role=Role.VIEWER,
    is_done=_has_assistant,
)
first_steps.add("teammate", _TEAMMATE)
first_steps.add("assistant", _ASSISTANT)
