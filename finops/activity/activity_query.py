"""Which calls are asked for, and by whom."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from accounts.models import Membership, Role
from finops.activity.models import MOST_DAYS
from finops.lib import clock

Sort = Literal["-at", "at", "-milliseconds", "-answer_bytes"]


class ActivityQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of the last so many days (UTC), today among them. Empty: all. `credential` is `kind:id`."""

    days: Annotated[int, Meta(ge=1, le=MOST_DAYS + 1)] = 30
    name: str = ""
    credential: str = ""
    outcome: Literal["", "ok", "error", "refused", "incident"] = ""
    q: str = ""
    sort: Sort = "-at"
    cursor: str = ""

    @property
    def first_day(self) -> date:
        return clock.today() - timedelta(days=self.days - 1)

    @property
    def words(self) -> list[str]:
        return self.q.replace("\0", "").split()[:10]


class Reader(msgspec.Struct, frozen=True):
    """Who reads. What people asked through apps that they connected, they see, and admins; MCP keys are the account's."""

    person_id: int
    sees_everybody: bool

    @classmethod
    def of(cls, membership: Membership) -> Reader:
        return cls(membership.user_id, membership.may(Role.ADMIN))
