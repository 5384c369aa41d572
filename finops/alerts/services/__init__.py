"""Writes on alerts. Who may call them is the door's matter."""

from finops.alerts.services.channels import (
    change_channel,
    create_channel,
    delete_channel,
    regenerate_signing_secret,
    test_channel,
)
from finops.alerts.services.deliveries import deliver, resend, send_delivery, send_due, sweep

__all__ = [
    "change_channel",
    "create_channel",
    "delete_channel",
    "deliver",
    "regenerate_signing_secret",
    "resend",
    "send_delivery",
    "send_due",
    "sweep",
    "test_channel",
]
