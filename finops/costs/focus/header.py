"""The columns of a file: the FOCUS column of each, missing columns, and values that its owner supplies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from finops.costs.focus import columns as spec
from finops.costs.focus import sniff
from finops.costs.focus.errors import FocusFileError, UnknownFormat, display_value, printable
from finops.lake.schema import COST_SCHEMA, EXTENSION_PREFIX, MAX_EXTENSIONS, OPTIONAL, extension_column
from finops.lib.errors import UserError, nearest_choices

SET_HINT = (
    "Export the file again with them, or give a value that holds for every row: --set Column=value with "
    "import_focus, 'Values for missing columns' on the upload form, the currency also in the settings of a connection of files. --set EffectiveCost=@BilledCost takes the value "
    "of another column."
)


@dataclass(frozen=True)
class Header:
    """A file's columns. `position` is the index of each FOCUS or actor column that the file has.

    `copied` maps a column that the file lacks to the one that fills it, which has a position too.
    """

    name: str
    names: tuple[str, ...]
    dataset: str
    version: str
    position: Mapping[str, int]
    supplied: Mapping[str, str] = field(default_factory=dict)
    copied: Mapping[str, str] = field(default_factory=dict)
    not_needed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    stray: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """x_ columns that are not imported."""

    def has(self, column: str) -> bool:
        return column in self.position or column in self.supplied


def optional_columns(headers: Iterable[Header]) -> tuple[str, ...]:
    """Return optional cost columns that any of these files fills, in the lake's order; then providers' own."""
    costs = [header for header in headers if header.dataset == spec.COST_AND_USAGE]
    of_focus = [
        name
        for name in COST_SCHEMA.names
        if name in OPTIONAL and any(_fills(header, name) for header in costs)
    ]
    own = sorted({name for header in costs for name in header.position if name.startswith(EXTENSION_PREFIX)})
    return (*of_focus, *own[:MAX_EXTENSIONS])


MAX_NAME: Final = 256


def _extensions(names: Sequence[str]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return indexes of the provider's own columns, and those left out: duplicates, or above the lake's limit."""
    places: dict[str, int] = {}
    left_out = []
    for place, name in enumerate(names):
        bare = "".join(char for char in name.strip() if char.isprintable())
        if bare[:2].casefold() != "x_" or not bare[2:]:
            continue
        column = extension_column(bare[2 : 2 + MAX_NAME])
        if column in places or len(places) >= MAX_EXTENSIONS:
            left_out.append(printable(name))
        else:
            places[column] = place
    return places, tuple(left_out)


def _fills(header: Header, name: str) -> bool:
    if name in spec.BESIDE:
        return all(header.has(column) for column in spec.BESIDE[name])
    return any(header.has(column) for column in spec.sources_of(name))


def check_defaults(defaults: Mapping[str, str]) -> dict[str, str]:
    """Return the values for missing columns by FOCUS name. UserError for a column that FOCUS does not have."""
    columns_by_fold = {spec.fold(name): name for name in import_columns()}
    checked: dict[str, str] = {}
    for column_given, value in defaults.items():
        name = columns_by_fold.get(spec.fold(column_given))
        if name is None:
            mandatory = [column for columns in spec.MANDATORY for column in columns]
            close = ", ".join(
                nearest_choices(column_given, mandatory)
                or nearest_choices(column_given, import_columns())
                or sorted(import_columns())
            )
            raise UserError(
                f"Column {display_value(column_given)} is not used by imports. Columns: {close}.",
                field="defaults",
                value=column_given,
            )
        _refuse_constant_amount(name, value)
        if not value.strip() or not value.isprintable():
            raise UserError(
                f"The value given for {name} is empty or not text.", field="defaults", value=value
            )
        checked[name] = value.strip()
    return checked


def _refuse_constant_amount(column: str, value: str) -> None:
    """Refuse one constant amount for every row: no bill has that."""
    if column in spec.AMOUNTS.values() and not value.strip().startswith("@"):
        raise UserError(
            f"{column} cannot be {display_value(value.strip())} in every row. Use {column}=@Column to "
            "copy another column, or add the column to the file.",
            field="defaults",
            value=value,
        )


def import_columns() -> tuple[str, ...]:
    """Return the Cost and Usage columns that an import reads, without the actor columns."""
    texts = [name for names in spec.TEXTS.values() for name in names]
    return tuple(dict.fromkeys([*texts, *spec.AMOUNTS.values(), *spec.TIMES.values(), spec.TAGS]))


def read_header(name: str, names: Sequence[str], defaults: Mapping[str, str]) -> Header:
    """Parse a file's column names. FocusFileError if it is not FOCUS or lacks mandatory columns."""
    folded = [spec.fold(column) for column in names]
    dataset = spec.dataset(folded)
    if dataset in spec.DATASETS:
        return _dataset_header(name, names, folded, dataset)
    _refuse_foreign(name, names)
    position = _positions(name, names, folded, (*spec.KNOWN, *spec.ACTOR_COLUMNS))
    _refuse_unknown_columns(name, names, position, defaults)
    used_defaults = {column: value for column, value in defaults.items() if column not in position}
    version = spec.focus_version(position)
    copied = _copies(name, names, {c: v for c, v in used_defaults.items() if v.startswith("@")})
    own, left_out = _extensions(names)
    header = Header(
        name=name,
        names=tuple(names),
        dataset=dataset,
        version=version,
        position={**position, **copied, **own},
        left_out=left_out,
        supplied={column: value for column, value in used_defaults.items() if not value.startswith("@")},
        copied={column: names[place] for column, place in copied.items()},
        not_needed=tuple(column for column in defaults if column in position),
        missing=tuple(
            c
            for c in import_columns()
            if c in spec.columns_of(version) and c not in position and c not in used_defaults
        ),
        **_others(names, folded),
    )
    _refuse_missing_columns(header)
    return header


def _positions(
    name: str, names: Sequence[str], folded: list[str], column_names: Sequence[str]
) -> dict[str, int]:
    places: dict[str, list[int]] = {}
    for place, fold in enumerate(folded):
        places.setdefault(fold, []).append(place)
    places_found = {
        column: places[spec.fold(column)] for column in column_names if spec.fold(column) in places
    }
    dataset_columns = (column for columns in spec.DATASETS.values() for column in columns.all)
    used = {*import_columns(), *spec.ACTOR_COLUMNS, *dataset_columns}
    for column, at in places_found.items():
        if len(at) > 1 and column in used:
            spots = " and ".join(f"{display_value(names[place])} (column {place + 1})" for place in at)
            raise FocusFileError(
                f"{name} has {column} more than once: {spots}. Remove all but one.", field=column
            )
    return {column: at[0] for column, at in places_found.items()}


def _refuse_foreign(name: str, names: Sequence[str]) -> None:
    problem = sniff.detect_foreign_format(names)
    if problem:
        raise FocusFileError(f"{name} {problem}")


def _refuse_unknown_columns(
    name: str, names: Sequence[str], position: Mapping[str, int], defaults: Mapping[str, str]
) -> None:
    copied = [value for value in defaults.values() if value.startswith("@")]
    if len([column for column in position if column in spec.KNOWN]) + len(copied) >= 2:
        return
    first = ", ".join(display_value(column) for column in names[:5])
    # A file with one column is not a bill.
    error = UnknownFormat if len(names) > 1 else FocusFileError
    raise error(
        f"{name} is not a FOCUS file: its {len(names)} columns begin with {first}. Map its columns on the source's page, or "
        "export your costs in the FOCUS format (AWS Data Exports, Azure Cost Management, Google Cloud and Oracle offer it), "
        "version 1.0 to 1.4."
    )


def _copies(name: str, names: Sequence[str], copies: Mapping[str, str]) -> dict[str, int]:
    """Return the index of the column that fills each of `given`: by exact name, else the only one that folds to it."""
    positions: dict[str, int] = {}
    for column, value in copies.items():
        source = value[1:].strip()
        places = [place for place, other in enumerate(names) if other.strip() == source]
        places = places or [
            place for place, other in enumerate(names) if spec.fold(other) == spec.fold(source) != ""
        ]
        if not places:
            close = ", ".join(map(display_value, nearest_choices(source, names) or names[:10]))
            raise FocusFileError(
                (
                    f"{column} should be copied from {display_value(source)}, but {name} has no such "
                    f"column. Nearest: {close}."
                ),
                field="defaults",
                value=value,
            )
        if len(places) > 1:
            spots = " and ".join(f"{display_value(names[place])} (column {place + 1})" for place in places)
            raise FocusFileError(
                (
                    f"{column} should be copied from {display_value(source)}, but {name} has that column "
                    f"more than once: {spots}."
                ),
                field="defaults",
                value=value,
            )
        positions[column] = places[0]
    return positions


def _others(names: Sequence[str], folded: list[str]) -> dict[str, tuple[str, ...]]:
    known_names = {spec.fold(column) for column in spec.KNOWN}
    unknown_names = [
        printable(name) for name, fold in zip(names, folded, strict=True) if fold not in known_names
    ]
    extensions = tuple(name for name in unknown_names if name.strip().casefold().startswith("x_"))
    return {
        "extensions": extensions,
        "stray": tuple(name for name in unknown_names if name not in extensions),
    }


def _refuse_missing_columns(header: Header) -> None:
    missing = [names[0] for names in spec.MANDATORY if not any(header.has(column) for column in names)]
    if not missing:
        return
    count = "a column" if len(missing) == 1 else f"{len(missing)} columns"
    error = FocusFileError if header.has("BilledCost") else UnknownFormat
    raise error(
        f"{header.name} lacks {count} required for an import: {', '.join(missing)}. {SET_HINT}",
        field=missing[0],
        value=missing,
    )


def _dataset_header(name: str, names: Sequence[str], folded: list[str], dataset: str) -> Header:
    columns = spec.DATASETS[dataset]
    position = _positions(name, names, folded, columns.all)
    missing_mandatory = [column for column in columns.mandatory if column not in position]
    if missing_mandatory:
        raise FocusFileError(
            f"{name} is {_ARTICLE[dataset]} {dataset} file but lacks {', '.join(missing_mandatory)}. Export it again with them.",
            field=missing_mandatory[0],
        )
    missing = tuple(column for column in columns.all if column not in position)
    is_old = dataset == spec.CONTRACT_COMMITMENT and spec.fold("ContractCommitmentCreated") not in folded
    return Header(name, tuple(names), dataset, "1.3" if is_old else "1.4", position, missing=missing)


_ARTICLE = {spec.CONTRACT_COMMITMENT: "a", spec.BILLING_PERIODS: "a", spec.INVOICE_DETAIL: "an"}
