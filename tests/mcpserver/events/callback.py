"""A callback of an assistant: a real HTTP server that checks each signature and gives challenges back."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any

from django.test import TestCase
from standardwebhooks import Webhook

from finops.alerts import services
from finops.alerts.models import AlertDelivery
from tests.mcpserver.mcp_client import McpClient
from tests.receivers import Receiver, Request, http_receiver, respond_with

SECRET = "whsec_" + base64.b64encode(b"q" * 32).decode()
OTHER_SECRET = "whsec_" + base64.b64encode(b"z" * 32).decode()
EXTENSION: dict[str, Any] = {
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/events": {}}}
}


class Callback:
    """`status` is how it answers events; `gives_back` whether it answers challenges."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.url = receiver.url
        self.secret = SECRET
        self.status = 204
        self.gives_back = True
        receiver.behave = self._respond

    def _respond(self, handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        request = self.receiver.requests[-1]
        body = request.json
        if body.get("type") != "verification":
            respond_with(self.status)(handler, over)
            return
        challenge = body["challenge"] if self.gives_back else "something else"
        respond_with(200, f'{{"challenge": "{challenge}"}}')(handler, over)

    @property
    def challenges(self) -> list[Request]:
        return [each for each in self.receiver.requests if each.json.get("type") == "verification"]

    @property
    def events(self) -> list[dict[str, Any]]:
        """Bodies of events, their signature checked."""
        return [self.check(each) for each in self.receiver.requests if "eventId" in each.json]

    @property
    def ends(self) -> list[dict[str, Any]]:
        requests = self.receiver.requests
        return [self.check(each) for each in requests if each.json.get("type") == "terminated"]

    def check(self, request: Request, secret: str = "") -> dict[str, Any]:
        """The body of a request, which is signed with the secret for its id and moment."""
        moment = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)
        text = request.body.decode()
        signature = Webhook(secret or self.secret).sign(request.headers["webhook-id"], moment, text)
        assert signature in request.headers["webhook-signature"].split()
        body: dict[str, Any] = request.json
        return body


@contextmanager
def callback_server() -> Iterator[Callback]:
    with http_receiver() as receiver:
        yield Callback(receiver)


def subscription(
    event: str, callback: Callback, arguments: Mapping[str, Any] | None = None, **fields: Any
) -> dict[str, Any]:
    """Parameters of events/subscribe and events/unsubscribe."""
    delivery = {"mode": "webhook", "url": callback.url, "secret": callback.secret}
    return {"name": event, "arguments": dict(arguments or {}), "delivery": delivery, **fields}


def subscribe(mcp_client: McpClient, event: str, callback: Callback, /, **arguments: Any) -> dict[str, Any]:
    return mcp_client.result("events/subscribe", subscription(event, callback, arguments))


def send_all() -> list[AlertDelivery]:
    """What workers do: every delivery that is due is tried; then all of them, the oldest first."""
    for account_id, delivery_id in services.send_due():
        row = AlertDelivery.objects.unscoped().select_related("account").get(pk=delivery_id)
        assert row.account_id == account_id
        with TestCase.captureOnCommitCallbacks(execute=True):
            services.send_delivery(account=row.account, delivery_id=delivery_id)
    return list(AlertDelivery.objects.unscoped().order_by("pk"))
