"""The interface of a connector: one kind of provider that cost, usage or change events are fetched from. Pure:
without account and database.

A connector is one module in `finops/connections/connectors/` with one subclass of `Connector`; no list names it
(`finops.connections.connectors.connectors`). It defines its setup and the checks of a setup, lists the billing
months, and writes the files of one month to a folder. Everything else (schedule, claims, skipping, import, progress,
back-off) is common to all connectors, in `finops.connections.services`.
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
"""A field of a config that is stored encrypted, never shown again and never logged."""

HEADER_PATTERN: Final = r"^[!-~]+$"
"""Pattern of a credential that is sent in a header: printable characters without spaces."""

C = TypeVar("C", bound="ConnectorConfig")

EXTERNAL_ID: Final = "external_id"
PROVIDER_FIELD: Final = "provider"
"""Field of configs whose files may be bills of any provider: the provider's name, which is shown and does not affect
what is read."""
NOT_ENTERED: Final = frozenset({EXTERNAL_ID, "column_mapping"})
"""Fields of a config that are not entered with its settings."""


class ConnectorConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person enters for one connection: base of each connector's `Config`. Its docstrings and
    `msgspec.Meta(title=, description=, examples=, min_length=, pattern=)` make the form."""

    external_id: Annotated[str, msgspec.Meta(max_length=64)] = ""
    """External ID of the connection, which a role's trust policy requires. Set by `with_external_id` each time that a
    config is opened, never by a form nor from the stored fields: otherwise one account could use another's."""

    column_mapping: MappingDocument | None = None
    """Column mapping of the connection's source, for files that are not FOCUS. Set by `with_column_mapping`, not
    entered with the settings."""

    @property
    def defaults(self) -> Mapping[str, str]:
        """Values of FOCUS columns that the files do not have: the config's `default_currency`, if any."""
        currency = getattr(self, "default_currency", "")
        return {"BillingCurrency": currency} if currency else {}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in public_fields(type(self)))
        return f"{type(self).__name__}({shown})"

    __str__ = __repr__


def shown_for(field: str, *choices: str, required: Sequence[str] = (), pair: str = "") -> dict[str, Any]:
    """Return a `msgspec.Meta`'s extra_json_schema: forms show the field only with these choices of another field, and
    it must be entered with the choices `required`, and with all `choices` if the field `pair` is entered."""
    shown = {"shown_for": {"field": field, "choices": list(choices)}}
    condition = required_for(field, *required, pair=pair, pair_choices=choices)
    return {**shown, **condition} if required else shown


def required_for(
    field: str, *choices: str, unless: str = "", pair: str = "", pair_choices: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a `msgspec.Meta`'s extra_json_schema: the field must be entered with these choices of another field, unless
    the field `unless` is entered; and with `pair_choices`, if the field `pair` is entered. New connections are checked,
    stored ones are not (`configs.entered_config`)."""
    condition = {"field": field, "choices": list(choices), "unless": unless}
    return {"required_for": {**condition, "pair": pair, "pair_choices": list(pair_choices) if pair else []}}


class ConfigError(ValueError):
    """A value that a config's `__post_init__` refuses. `field` is the field to change."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


def secret_fields(config: type[ConnectorConfig]) -> list[str]:
    """Return the fields of type `SecretText` (or `SecretText | None`)."""
    hints = typing.get_type_hints(config, include_extras=True)
    return [each.name for each in msgspec.structs.fields(config) if _is_secret(hints[each.name])]


def public_fields(config: type[ConnectorConfig]) -> list[str]:
    hidden = {*secret_fields(config), *NOT_ENTERED}
    return [each.name for each in msgspec.structs.fields(config) if each.name not in hidden]


def with_external_id(config: C, external_id: str) -> C:
    """Return the config with the external ID of its connection, which replaces any earlier one."""
    return msgspec.structs.replace(config, external_id=external_id)


def metas_of(hint: Any) -> Iterator[msgspec.Meta]:
    """Yield the `Meta` of a type and of all its parts: `Annotated[SecretText | None, Meta(title="Password")]` has two."""
    yield from (each for each in getattr(hint, "__metadata__", ()) if isinstance(each, msgspec.Meta))
    for part in typing.get_args(hint):
        if not isinstance(part, msgspec.Meta):
            yield from metas_of(part)


def with_column_mapping(config: C, mapping: MappingDocument | None) -> C:
    """Return the config with the current column mapping of its source."""
    return msgspec.structs.replace(config, column_mapping=mapping)


def _is_secret(hint: Any) -> bool:
    return any((meta.extra or {}).get("secret") for meta in metas_of(hint))


class SourceError(UserError):
    """The provider refused a request, or its response cannot be used. The message has the fix and no secret.

    `retry_after` is the delay in seconds that the provider requested.
    """

    retry_after: float | None = None


class SourceUnavailable(SourceError):
    """The provider could not be reached, is overloaded, or the connection broke; a later attempt may succeed."""


class AccessError(SourceError):
    """The credential is wrong, expired or without a permission, which the message names."""


class SyncCancellation(Exception):
    """Raised by `Fetch.progress` once the sync is canceled. Connectors do not catch it."""


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One check of *Test connection*: `title` what it read ("List objects in s3://bucket/prefix"), `is_ok`, and where it
    is not, `fix`: what to do, naming the missing permission as the provider does. `is_optional`: cost comes without it."""

    title: str
    is_ok: bool
    fix: str = ""
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class BillMonth:
    """A billing month at the provider.

    The fingerprint changes whenever the month's data changes (a manifest's digest, ETags, generations, sizes and
    times of the listed files); it is only compared. `bytes` as listed, 0 if unknown.
    """

    month: date
    fingerprint: str
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class SetupStep:
    """A step of the wizard: an instruction for the provider, with a text to paste (`language`: json, yaml, hcl, sh, sql)."""

    title: str
    text: str = ""
    snippet: str = ""
    language: str = ""


@dataclass
class Fetch:
    """One fetch of a month: the folder for its files, and a callback for its progress.

    `progress(bytes)` is called with the bytes fetched since the last call. It raises if the sync is canceled or
    exceeded its time limit. `notes` are sentences about the month for the sync's page, such as the number of lines
    with a problem that the lines cannot show.
    """

    folder: Path
    progress: Callable[[int], None] = field(default=lambda _bytes: None)
    notes: list[str] = field(default_factory=list)


class Contents(enum.StrEnum):
    """The contents that a connector fetches, which decide the kind of source that its connections fill."""

    COST = "cost"
    USAGE = "usage"
    CHANGE_EVENTS = "change_events"


class Connector(ABC, Generic[C]):
    """A connector. Instances have no state: every method gets the config, with its secrets in plaintext.

    For errors of the provider methods raise UserError (mostly SourceError, AccessError, SourceUnavailable) and nothing else.
    """

    name: ClassVar[str]
    """Module name, stored with each connection, so it must not change. Lower case and underscores."""
    title: ClassVar[str]
    """For example "AWS Data Exports (FOCUS, CUR 2.0)"."""
    provider: ClassVar[str]
    """Name by which the catalogue groups connectors: "AWS", "Microsoft Azure"."""
    icon: ClassVar[str] = "database"
    """Name of an icon of Tabler."""
    docs_url: ClassVar[str] = ""
    """The provider's documentation."""
    description: ClassVar[str] = ""
    """One line below the title: which files or API, and which role or key."""
    order: ClassVar[int] = 100
    changes_while_read: ClassVar[bool] = False
    """Whether new data arrives at the provider all the time, as with an API of today's cost. Then a month is not checked again
    after its fetch: the stored fingerprint is from before the fetch, so data that arrived meanwhile changes the next one."""
    takes_any_columns: ClassVar[bool] = False
    """Whether its files may have any columns, which a person maps to FOCUS. Requires `newest_file`."""
    contents: ClassVar[Contents] = Contents.COST
    is_offered: ClassVar[bool] = True
    """Whether the catalogue offers it. The connectors of the demo are not offered."""
    caches_pages: ClassVar[bool] = False
    """Whether pages of its lists are cached between syncs (`transports.page_cache`)."""
    Config: ClassVar[type[ConnectorConfig]]

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        """Return the instructions for the provider, in order. `external_id` is the connection's, for a role's trust policy."""
        return ()

    @abstractmethod
    def check(self, config: C) -> list[CheckFinding]:
        """Run *Test connection*: one finding for each permission or setting, which is tried and named. Errors of the
        provider become findings; none is raised."""

    @abstractmethod
    def months(self, config: C) -> list[BillMonth]:
        """Return the provider's billing months, each once. Reads listings and manifests, no data."""

    def month(self, config: C, month: date) -> BillMonth | None:
        """Return the current state of this month at the provider; None if the month no longer exists. Called after
        each fetch, so a connector that can list a single month overrides it."""
        return next((each for each in self.months(config) if each.month == month), None)

    @abstractmethod
    def fetch(self, config: C, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        """Write all files of the month to `fetch.folder` and return them; none means that the month is empty now.

        Cost: in a format that the importer supports (FOCUS, or a native format of `finops.costs`). Usage: a file for
        each day, in the format of `transports.json_lines`. Change events: one file in the format of
        `transports.event_lines`. Raises MonthConflict if the month changed while it was read.
        """

    def gauges(self, config: C) -> frozenset[str]:
        """Return the usage metrics whose last value of a day counts, such as seats, because a sum of their values has
        no meaning."""
        return frozenset()

    def newest_file(self, config: C, folder: Path) -> FocusFile:
        """Write the most recently changed file to `folder`, for mapping its columns. Raises SourceError if there is
        no file or the connector's files have fixed columns, and the errors of `fetch`."""
        raise SourceError(f"Files of {self.title} have fixed columns and need no column mapping.")


class MonthConflict(Exception):
    """The month changed at the provider while it was fetched; read it again."""


MAX_MONTHS: Final = 120
"""The most billing months of a connection, newest first; also the limit of an import."""


class Configurable(Protocol):
    """Interface of things that a person configures with a form: a connector, or a destination of data exports."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def Config(self) -> type[ConnectorConfig]: ...

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        """Return the instructions for the provider, in order."""

    def check(self, config: Any) -> list[CheckFinding]:
        """Run *Test connection* and return its findings."""


def fields_of(connector: Configurable) -> Iterator[msgspec.structs.FieldInfo]:
    """Yield the fields of its config that a person enters, in order."""
    yield from (each for each in msgspec.structs.fields(connector.Config) if each.name not in NOT_ENTERED)
