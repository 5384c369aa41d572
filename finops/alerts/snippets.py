"""Page texts about each kind of channel, and code that verifies a webhook's signature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from finops.alerts.models import AlertChannel

PLACEHOLDER: Final = "whsec_…"


@dataclass(frozen=True)
class KindInfo:
    """Texts about a channel kind. `steps`: where the user finds the form's values, in that product's words."""

    name: str
    label: str
    icon: str
    about: str
    steps: tuple[str, ...]
    docs: str = ""


_INFOS: Final = (
    KindInfo(
        "slack",
        "Slack",
        "brand-slack",
        "Messages in a channel of your workspace, with figures and a link.",
        (
            "Open api.slack.com/apps and choose Create New App, From scratch, in your workspace.",
            "Under Features, open Incoming Webhooks and switch them on.",
            "Choose Add New Webhook, pick the channel, and Allow.",
            "Copy the Webhook URL.",
        ),
        "https://api.slack.com/messaging/webhooks",
    ),
    KindInfo(
        "microsoft_teams",
        "Microsoft Teams",
        "brand-teams",
        "Adaptive Cards in a channel or chat, through a workflow.",
        (
            "In Teams, open the … menu of the channel and choose Workflows.",
            "Choose “Send webhook alerts to a channel”, or search for “webhook”.",
            "Name it, pick team and channel, and choose Add workflow.",
            "Copy the URL. URLs of the retired Office 365 connectors do not work.",
        ),
        "https://support.microsoft.com/office/8ae491c7-0394-4861-ba59-055e33f75498",
    ),
    KindInfo(
        "email",
        "Email",
        "mail",
        "To people or a list, as text and HTML.",
        (
            "Recipients confirm before the first alert. A mailing list counts as one address.",
            "Send a test after saving. Check the spam folder if it does not arrive.",
        ),
    ),
    KindInfo(
        "pagerduty",
        "PagerDuty",
        "urgent",
        "Incidents of a service. Repeated alerts are grouped into one incident.",
        (
            "In PagerDuty, open Services, Service Directory, and your service.",
            "On its Integrations tab, choose Add an integration, then Events API V2.",
            "Open the new integration and copy its Integration Key.",
        ),
        "https://support.pagerduty.com/main/docs/services-and-integrations",
    ),
    KindInfo(
        "webhook",
        "Signed webhook",
        "webhook",
        "Signed JSON POST requests to your endpoint, by the Standard Webhooks specification.",
        (
            "Enter the URL of an endpoint that returns a 2xx status within 10 seconds.",
            "The signing secret is shown once after saving. Verify each message with it.",
            "Retries have the same webhook-id, so you can discard duplicates.",
        ),
        "https://www.standardwebhooks.com",
    ),
)
KINDS: Final = {info.name: info for info in _INFOS}
assert set(KINDS) == set(AlertChannel.Kind.values)  # noqa: S101 a kind without its help is a fault of ours

_PYTHON: Final = """\
# pip install standardwebhooks
from standardwebhooks import Webhook

SECRET = "{secret}"

def receive(body: bytes, headers: dict[str, str]) -> dict:
    # Raises WebhookVerificationError for a wrong signature or a message older than 5 minutes.
    return Webhook(SECRET).verify(body, headers)
"""

_NODE: Final = """\
// npm install standardwebhooks
import {{ Webhook }} from "standardwebhooks";

const secret = "{secret}";

app.post("/alerts", express.raw({{ type: "application/json" }}), (request, response) => {{
  // Throws for a wrong signature or a message older than 5 minutes.
  const message = new Webhook(secret).verify(request.body.toString(), request.headers);
  response.status(204).end();
}});
"""


def verification_snippets(secret: str = PLACEHOLDER) -> list[dict[str, str]]:
    """Return receivers that verify the signature, with the secret or a placeholder for it."""
    hint = "Verify the signature before you parse the message."
    return [
        {"id": "python", "title": "Python", "hint": hint, "text": _PYTHON.format(secret=secret)},
        {"id": "node", "title": "Node.js", "hint": hint, "text": _NODE.format(secret=secret)},
    ]
