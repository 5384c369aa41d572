"""What is asked about deliveries: the arguments of the tool `listAlertDeliveries`, and the URL of its page."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

DeliveryStatusName = Literal["waiting", "delivered", "failed"]


class DeliveriesQuery(msgspec.Struct, frozen=True, kw_only=True):
    status: Annotated[list[DeliveryStatusName], Meta(description="Left out: all.")] = []
    channel_id: Annotated[int | None, Meta(description="From listAlertChannels.")] = None
    include_tests: Annotated[bool, Meta(description="Of the test button.")] = True
    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    cursor: Annotated[str, Meta(description="From the answer before.")] = ""
