"""What a connector is: one kind of place that cost, usage or change events are fetched from. Pure; nothing here knows an account or the database.

A connector is one module in `finops/connections/connectors/` with one subclass of `Connector`; nothing lists them
(`finops.connections.connectors.connectors`). It says how it is set up, what is wrong with a set-up, which billing months
there are, and puts the files of one month into a folder. Everything else (schedule, claims, skipping, import, progress,
back-off) is done once for all of them in `finops.connections.services`.
"""

from __future__ import annotations

import enum
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Generic, Protocol, TypeVar

import msgspec

from finops.costs.focus.normalise import FocusFile
from finops.costs.mapping.document import MappingDocument
from finops.lib.errors import UserError

SecretText = Annotated[str, msgspec.Meta(extra={"secret": True})]
"""A field of a config that is sealed, never shown again and never logged."""

HEADER_PATTERN: Final = r"^[!-~]+$"
"""Of a credential that is sent in a header: what can be printed, without spaces."""

C = TypeVar("C", bound="ConnectorConfig")

EXTERNAL_ID: Final = "external_id"
PROVIDER_FIELD: Final = "provider"
"""A field of configs of places where bills of any provider may lie: shown, and no matter for what is read."""
NOT_ENTERED: Final = frozenset({EXTERNAL_ID, "column_mapping"})
"""Fields of a config that nobody enters with its settings."""


class ConnectorConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person enters for one connection: base of each connector's `Config`. Its docstrings and
    `msgspec.Meta(title=, description=, examples=, min_length=, pattern=)` make the form."""

    external_id: Annotated[str, msgspec.Meta(max_length=64)] = ""
    """The connection's own, which a role's trust policy asks for. Never from a form nor stored with the fields, or one account
    could name another's: `with_external_id` sets it each time that a config is opened."""

    column_mapping: MappingDocument | None = None
    """Of the connection's source, for files that are no FOCUS. Not entered with the settings either: `with_column_mapping`."""

    @property
    def defaults(self) -> Mapping[str, str]:
        """Values of FOCUS columns that the files lack: what a config of files has as `default_currency`."""
        currency = getattr(self, "default_currency", "")
        return {"BillingCurrency": currency} if currency else {}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in public_fields(type(self)))
        return f"{type(self).__name__}({shown})"

    __str__ = __repr__


def shown_for(field: str, *choices: str) -> dict[str, Any]:
    """Of a `msgspec.Meta`'s extra_json_schema: the field matters with these choices of another alone, and a form hides it else."""
    return {"shown_for": {"field": field, "choices": list(choices)}}


def secret_fields(config: type[ConnectorConfig]) -> list[str]:
    """The fields that are `SecretText` (or `SecretText | None`)."""
    hints = typing.get_type_hints(config, include_extras=True)
    return [each.name for each in msgspec.structs.fields(config) if _is_secret(hints[each.name])]


def public_fields(config: type[ConnectorConfig]) -> list[str]:
    hidden = {*secret_fields(config), *NOT_ENTERED}
    return [each.name for each in msgspec.structs.fields(config) if each.name not in hidden]


def with_external_id(config: C, external_id: str) -> C:
    """The config as a connector gets it: with the external id of its connection, whatever it held before."""
    return msgspec.structs.replace(config, external_id=external_id)


def metas_of(hint: Any) -> Iterator[msgspec.Meta]:
    """Those of a type and of all that it is made of: `Annotated[SecretText | None, Meta(title="Password")]` has two."""
    yield from (each for each in getattr(hint, "__metadata__", ()) if isinstance(each, msgspec.Meta))
    for part in typing.get_args(hint):
        if not isinstance(part, msgspec.Meta):
            yield from metas_of(part)


def with_column_mapping(config: C, mapping: MappingDocument | None) -> C:
    """The config as a connector gets it: with the column mapping that its source has now."""
    return msgspec.structs.replace(config, column_mapping=mapping)


def _is_secret(hint: Any) -> bool:
    return any((meta.extra or {}).get("secret") for meta in metas_of(hint))


class SourceError(UserError):
    """The other side refused, or gave what cannot be used. Its text says what to do and tells no secret.

    `retry_after` are seconds that the other side asked to be left alone.
    """

    retry_after: float | None = None


class SourceUnavailable(SourceError):
    """The other side could not be reached, is overloaded or broke off: another time it may work."""


class AccessError(SourceError):
    """The credential is wrong, expired or lacks a permission, which the text names."""


class SyncCancellation(Exception):
    """Raised by `Fetch.progress` once the sync is canceled; a connector lets it pass."""


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One thing that *Test connection* looked at: `title` what ("List objects in s3://bucket/prefix"), `is_ok`, and where it
    is not, `fix`: what to do, naming the missing permission as the provider does. `is_optional`: cost comes without it."""

    title: str
    is_ok: bool
    fix: str = ""
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class BillMonth:
    """A billing month that the other side has. The fingerprint changes whenever its data does (a manifest's digest, ETags,
    generations, sizes and times of the listed files); it is compared, never read. `bytes` as listed, 0 where unknown."""

    month: date
    fingerprint: str
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class SetupStep:
    """A step of the wizard: what to do at the provider, with a text to paste (`language`: json, yaml, hcl, sh, sql)."""

    title: str
    text: str = ""
    snippet: str = ""
    language: str = ""


@dataclass
class Fetch:
    """One fetch of a month: where its files go, and whom to tell how far it is.

    `progress(bytes)` is called with the bytes fetched since the last call; it raises when the sync is canceled or out of time.
    `notes` are sentences on the month for the sync's page: what its lines cannot say, and of how many.
    """

    folder: Path
    progress: Callable[[int], None] = field(default=lambda _bytes: None)
    notes: list[str] = field(default_factory=list)


class Contents(enum.StrEnum):
    """What a connector brings, and so which kind of source a connection of it fills."""

    COST = "cost"
    USAGE = "usage"
    CHANGE_EVENTS = "change_events"


class Connector(ABC, Generic[C]):
    """One kind of source. Instances have no state: every method gets the config, with its secrets open.

    Methods raise UserError (mostly SourceError, AccessError, SourceUnavailable) and nothing else for what the other side does.
    """

    name: ClassVar[str]
    """Stable: stored with each connection. Lower case and underscores."""
    title: ClassVar[str]
    """"AWS Data Exports (FOCUS, CUR 2.0)"."""
    provider: ClassVar[str]
    """What the list of providers groups by: "AWS", "Microsoft Azure"."""
    icon: ClassVar[str] = "database"
    """Of Tabler's icons."""
    docs_url: ClassVar[str] = ""
    """The provider's page on it."""
    description: ClassVar[str] = ""
    """One line under the title: which files or API, and which role or key."""
    order: ClassVar[int] = 100
    changes_while_read: ClassVar[bool] = False
    """Whether cost arrives at the other side all the time, as from an API of today's cost: then a month is not looked at again
    after its fetch. What came during it changes the next look, for the fingerprint that is kept is of before the fetch."""
    takes_any_columns: ClassVar[bool] = False
    """Whether its files may have any columns, which a person maps to FOCUS; then it has `newest_file`."""
    contents: ClassVar[Contents] = Contents.COST
    is_offered: ClassVar[bool] = True
    """Whether people may add a connection of it. The demo's own are there already."""
    caches_pages: ClassVar[bool] = False
    """Whether pages of its lists are cached between syncs (`transports.page_cache`)."""
    Config: ClassVar[type[ConnectorConfig]]

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        """What to do at the provider, in order. `external_id` is this connection's, for a role's trust policy."""
        return ()

    @abstractmethod
    def check(self, config: C) -> list[CheckFinding]:
        """*Test connection*: one finding a permission or setting, each tried for real and named. Raises nothing for what the
        other side answers: that is a finding."""

    @abstractmethod
    def months(self, config: C) -> list[BillMonth]:
        """The billing months that the other side has, each once. Reads listings and manifests, no data."""

    def month(self, config: C, month: date) -> BillMonth | None:
        """This month as the other side has it now; None when it has it no more. Asked after each fetch, so a connector that
        can look at one month alone overrides it."""
        return next((each for each in self.months(config) if each.month == month), None)

    @abstractmethod
    def fetch(self, config: C, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        """All files of the month, whole, in `fetch.folder`, in a format that the importer takes (FOCUS or a native format of
        `finops.costs`); of usage one a day, as `transports.json_lines` writes them; of change events one, as `transports.event_lines` does. No file: the month is empty
        now. Raises MonthConflict when it changed while it was read."""

    def gauges(self, config: C) -> frozenset[str]:
        """Of usage: metrics whose last value of a day counts, such as seats, where a sum of them would say nothing."""
        return frozenset()

    def newest_file(self, config: C, folder: Path) -> FocusFile:
        """The file that changed last, in `folder`, to map its columns by. Raises SourceError where there is none, and where the
        connector's files have fixed columns; and as `fetch`."""
        raise SourceError(f"Files of {self.title} have fixed columns and need no column mapping.")


class MonthConflict(Exception):
    """The month changed at the other side while it was fetched: read it again."""


MAX_MONTHS: Final = 120
"""Billing months of a connection, the newest; what an import may hold too."""


class Configurable(Protocol):
    """What a person sets up by a form: a connector, or a destination of data exports."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def Config(self) -> type[ConnectorConfig]: ...

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        """What to do at the provider, in order."""

    def check(self, config: Any) -> list[CheckFinding]:
        """*Test connection*."""


def fields_of(connector: Configurable) -> Iterator[msgspec.structs.FieldInfo]:
    """The fields of its config that a person enters, in order."""
    yield from (each for each in msgspec.structs.fields(connector.Config) if each.name not in NOT_ENTERED)
