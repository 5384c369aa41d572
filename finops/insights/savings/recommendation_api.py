"""Interface of a provider's recommendation API, and its result: the same rows as from a file.

One module per API (`hub_api`, `advisor_api`, `recommender_api`), each with one `RecommendationApi`;
`recommendation_apis` lists them. They sign in with the credentials of a connection that fetches the bill, and read
only recommendations.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation, localcontext
from typing import Any, ClassVar, Final

import msgspec

from finops.connections.connector import CheckFinding, ConnectorConfig, SourceError, SourceUnavailable
from finops.connections.transports.http import PermissionRefusal, RequestRefusal
from finops.insights.savings.candidates import SavingsRule
from finops.lib.errors import UserError
from finops.lib.sentences import truncate

MAX_ROWS: Final = 100_000
MAX_PROBLEMS: Final = 20
READ_SECONDS: Final = 480.0
"""Time limit in seconds for all accounts of a bill; the remaining ones are not read."""
MAX_ACCOUNTS: Final = 500
"""Maximum number of accounts of a bill that are read, the costliest."""
LONGEST: Final = 2_000
"""Maximum number of stored characters of a text."""
_LONGEST_GAP: Final = 400
_WIDE: Final = Decimal(10) ** 20


class RecommendationRow(msgspec.Struct, frozen=True, kw_only=True):
    """A recommendation, with the fields of ImportedSaving."""

    rule: str
    recommendation_id: str
    action: str
    resource_id: str = ""
    resource_type: str = ""
    current: str = ""
    recommended: str = ""
    sub_account: str = ""
    sub_account_name: str = ""
    region: str = ""
    found_by: str = ""
    effort: str = ""
    restart_needed: bool | None = None
    rollback_possible: bool | None = None
    lookback_days: int | None = None
    term: str = ""
    commitment: str = ""
    is_shared: bool = False
    covers_compute: bool = False
    monthly_cost: Decimal | None = None
    monthly_saving: Decimal
    currency: str
    formula: str = ""
    refreshed_at: datetime | None = None


@dataclass(frozen=True)
class BilledAccount:
    """A sub account in the bill: a subscription of Azure, a project of Google."""

    id: str
    name: str = ""
    billing_account: str = ""

    @property
    def label(self) -> str:
        return self.name or self.id


@dataclass
class RecommendationList:
    """Recommendations of a file or an API. `problems` name the first recommendations that are left out. `unread`:
    accounts that could not be read, each with the reason; their stored recommendations stay."""

    rows: list[RecommendationRow] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    left_out: int = 0
    unread: dict[str, str] = field(default_factory=dict)
    accounts: int = 0

    def leave_out(self, problem: str) -> None:
        self.left_out += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def add(self, other: RecommendationList, vendor: str) -> None:
        """Add the rows and problems of another list. Raises SourceError beyond MAX_ROWS."""
        self.rows += other.rows
        self.left_out += other.left_out
        self.problems = [*self.problems, *other.problems][:MAX_PROBLEMS]
        if len(self.rows) > MAX_ROWS:
            raise SourceError(
                f"{vendor} has more than {MAX_ROWS:,} recommendations, the limit. None were read."
            )


class RecommendationApi(ABC):
    """The API of one provider. Instances have no state."""

    rule: ClassVar[SavingsRule]
    """Its `label` is the name of the API in sentences."""
    is_by_account: ClassVar[bool] = True
    """Whether it is read account by account, and so only once there is a bill."""

    @abstractmethod
    def fits(self, config: ConnectorConfig) -> bool:
        """Return whether a connection's credentials can sign in to it."""

    @abstractmethod
    def recommendations(self, config: Any, accounts: Sequence[BilledAccount]) -> RecommendationList:
        """Return the open recommendations of the bill's accounts. Raises AccessError that names the permission,
        SourceUnavailable and SourceError if nothing could be read."""

    @abstractmethod
    def check(self, config: Any) -> list[CheckFinding]:
        """Check for *Test connection* whether recommendations can be read, with the missing permission. All of it is
        optional."""


def read_each(
    vendor: str, accounts: Sequence[BilledAccount], read: Callable[[BilledAccount], RecommendationList]
) -> RecommendationList:
    """Read account by account: one that refuses is skipped; after one that cannot be reached the others are not
    tried. Raises the first error if nothing could be read, AccessError for a rejected credential, and SourceError
    beyond MAX_ROWS."""
    result = RecommendationList(accounts=len(accounts))
    first: SourceError | None = None
    end = time.monotonic() + READ_SECONDS
    for at, account in enumerate(accounts):
        if time.monotonic() > end:
            late = SourceUnavailable(
                f"{vendor} was not read: earlier accounts took longer than {READ_SECONDS:.0f} s."
            )
            result.unread |= {each.id: _gap(each, late) for each in accounts[at:]}
            break
        try:
            result.add(read(account), vendor)
        except (PermissionRefusal, RequestRefusal) as error:
            first = first or error
            result.unread[account.id] = _gap(account, error)
        except SourceUnavailable as error:
            first = first or error
            result.unread |= {each.id: _gap(each, error) for each in accounts[at:]}
            break
    if first is not None and len(result.unread) == len(accounts):
        raise first
    return result


def _gap(account: BilledAccount, error: SourceError) -> str:
    return truncate(f"{account.label}: {error.message}", _LONGEST_GAP)


def amount_of(raw: Mapping[str, Any], name: str) -> Decimal | None:
    """Return the amount of a floating point number, by its shortest text, with 18 decimals. None if the field is
    empty. Raises UserError for a value that is not a number."""
    value = raw.get(name)
    if value is None or str(value).strip() == "":
        return None
    try:
        amount = Decimal(str(value).strip())
    except InvalidOperation:
        raise UserError(f"{name} is {str(value)[:40]!r}, which is not a number.") from None
    if not amount.is_finite() or abs(amount) >= _WIDE:
        raise UserError(f"{name} is {str(value)[:40]}, which is not an amount.")
    return round(amount, 18)


def share_of_amount(amount: Decimal, numerator: int, denominator: int) -> Decimal:
    """Return amount · numerator ÷ denominator, rounded half to even to 18 decimals. Raises UserError for an amount
    that is too large to store."""
    with localcontext(prec=80, rounding=ROUND_HALF_EVEN):
        share = round(amount * numerator / denominator, 18)
    if share >= _WIDE:
        raise UserError("its amount is too large.")
    return share


def days_of(value: Any) -> int | None:
    """Return a number of days; None for other values."""
    try:
        days = int(float(str(value)))
    except (ValueError, OverflowError):
        return None
    return days if 0 <= days <= 1_000 else None


def moment_of(value: Any) -> datetime | None:
    """Return a provider's timestamp in UTC; None for other values."""
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def plain_text(value: Any, longest: int) -> str:
    """Return a vendor's text on one line."""
    return " ".join("".join(char if char.isprintable() else " " for char in str(value or "")).split())[
        :longest
    ]
