"""Where alerts go: made, changed, tested and removed by people."""

from __future__ import annotations

from collections.abc import Mapping

from accounts.audit import Actor
from accounts.models import Account
from finops.alerts.models import AlertChannel, AlertDelivery


def create_channel(
    *, account: Account, actor: Actor, name: str, kind: str, target: Mapping[str, object]
) -> tuple[AlertChannel, str]:
    """A new channel, and the signing secret (`whsec_…`) of a webhook, which is shown this once; "" for other kinds.

    `target` by kind: slack and microsoft_teams {url}; email {addresses: list, or text with commas or lines};
    pagerduty {routing_key, url: left out or "" for PagerDuty's own}; webhook {url}. Raises UserError with the target's
    field for one that is malformed or leads into a private network (looked up in DNS: seconds), ValidationError for a
    name that is taken.
    """
    raise NotImplementedError


def change_channel(
    *, channel: AlertChannel, actor: Actor, name: str, target: Mapping[str, object] | None = None
) -> AlertChannel:
    """Rename it, and give it another target where one is given; a webhook keeps its signing secret. Raises as
    `create_channel` does."""
    raise NotImplementedError


def delete_channel(*, channel: AlertChannel, actor: Actor) -> None:
    """Remove it with its subscriptions; what was sent stays in the list, what waits is not sent any more."""
    raise NotImplementedError


def test_channel(*, channel: AlertChannel, actor: Actor) -> AlertDelivery:
    """Send a test message now and here, once, within 10 s; the delivery's status and attempt say how it went.

    Raises UserError when the channel was tested ten times within a minute.
    """
    raise NotImplementedError


def regenerate_signing_secret(*, channel: AlertChannel, actor: Actor) -> str:
    """A new signing secret of a webhook, shown this once. The old one signs beside it for 24 hours."""
    raise NotImplementedError
