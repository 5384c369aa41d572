"""Messages on their way: recorded, sent, tried again."""

from __future__ import annotations

from accounts.audit import Actor
from accounts.models import Account
from finops.alerts.messages import Message
from finops.alerts.models import AlertChannel, AlertDelivery, AlertFiring


def deliver(
    *, account: Account, channel: AlertChannel, message: Message, firing: AlertFiring | None = None
) -> AlertDelivery:
    """Record a message for a channel, in the caller's transaction; a worker is told on commit, and beat asks again."""
    raise NotImplementedError


def resend(*, delivery: AlertDelivery, actor: Actor) -> AlertDelivery:
    """The same message to the same channel again, as a new delivery that names the old one. Raises UserError when the
    channel is gone, or the delivery is still being tried."""
    raise NotImplementedError


def send_delivery(*, account: Account, delivery_id: int) -> bool:
    """Try to send one that is due. False when it is not ours to do now. Safe to call twice and at once."""
    raise NotImplementedError


def send_due() -> list[tuple[int, int]]:
    """Account and delivery of all that some worker should try now."""
    raise NotImplementedError


def sweep() -> int:
    """Remove what was finished 90 days ago; how many."""
    raise NotImplementedError
