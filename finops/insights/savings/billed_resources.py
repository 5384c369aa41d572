"""Resources of provider recommendations in the bill: their spelling there, their source and their cost.

Azure's ids are not case-sensitive. Google's recommendations name a project by number and a machine by name, where
bills have the name of the project and the number of the machine. AWS's have an ARN, where bills may have the id at
its end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from finops.insights.models import ImportedSaving
from finops.insights.savings.candidates import RECOMMENDER, names_of
from finops.insights.savings.lake import MAX_ROWS, ResourceLookup


@dataclass(frozen=True)
class BilledResource:
    """A resource in the bill of one source, with its cost in the window."""

    source: str
    currency: str
    account: str
    account_name: str
    resource: str
    name: str
    cost: Decimal


BilledResources = Mapping[str, Sequence[BilledResource]]
"""Resources by their possible names in recommendations, in each source."""

_NOTHING: Final[BilledResources] = {}


def billed_resources(
    read: Callable[[ResourceLookup], Sequence[Mapping[str, Any]]], rows: Iterable[ImportedSaving]
) -> BilledResources:
    """Return the resources of the 5,000 recommendations with the largest savings. One lake query, none without such
    recommendations."""
    named = [row for row in rows if row.resource_id][:MAX_ROWS]
    if not named:
        return _NOTHING
    ids = {name for row in named for name in _spellings(row)}
    names = {_last_part(row.resource_id).casefold() for row in named if row.rule == RECOMMENDER.name}
    lines = read(ResourceLookup(tuple(sorted(ids)), tuple(sorted(names))))
    billed: dict[str, list[BilledResource]] = defaultdict(list)
    for line in sorted(lines, key=_place):
        resource = _billed_resource(line)
        for key in _keys_of(line):
            billed[key].append(resource)
    return billed


def _place(line: Mapping[str, Any]) -> tuple[int, str, str, str]:
    return int(line["source"]), line["currency"], line["resource_id"], line["account_id"]


def billed_of(row: ImportedSaving, billed: BilledResources) -> BilledResource | None:
    """Return the recommendation's resource: in its own source, else in the first source that has it."""
    if not row.resource_id:
        return None
    named = billed.get(resource_key(row), ())
    if not named and row.resource_id.startswith("arn:"):
        ids = (each for name in sorted(names_of(row.resource_id)) for each in billed.get(name.casefold(), ()))
        named = [each for each in ids if each.account in ("", row.sub_account)]
    own = [each for each in named if each.source == str(row.source_id)]
    return next(iter([*own, *named]), None)


def resource_key(row: ImportedSaving) -> str:
    """Return a key that is equal for all spellings of a resource."""
    if row.rule == RECOMMENDER.name:
        return google_key(row.sub_account, row.resource_id)
    return plain_key(row.resource_id)


def plain_key(resource: str) -> str:
    return resource.strip().rstrip("/").casefold()


def google_key(project: str, resource: str) -> str:
    """Return for `//compute.googleapis.com/projects/123/zones/z/instances/vm` in my-project the key `my-project
    compute.googleapis.com/zones/z/instances/vm`: the project may be given by name or number."""
    parts = resource.removeprefix("//").casefold().split("/")
    if "projects" in parts:
        at = parts.index("projects")
        del parts[at : at + 2]
    return f"{project.casefold()} {'/'.join(parts)}" if resource else ""


def _spellings(row: ImportedSaving) -> set[str]:
    """Return the possible spellings of the id in bills, in lower case."""
    return {plain_key(row.resource_id), *(name.casefold() for name in names_of(row.resource_id))}


def _billed_resource(line: Mapping[str, Any]) -> BilledResource:
    return BilledResource(
        source=line["source"],
        currency=line["currency"],
        account=line["account_id"],
        account_name=line["account_name"] or "",
        resource=line["resource_id"],
        name=_last_part(line["resource_name"]),
        cost=line["cost"] or Decimal(0),
    )


def _keys_of(line: Mapping[str, Any]) -> list[str]:
    """Return the possible names in recommendations: for Google also by the name instead of the number."""
    resource, account = line["resource_id"], line["account_id"]
    if not resource.startswith("//"):
        return [plain_key(resource)]
    name = _last_part(line["resource_name"])
    named = f"{resource.rpartition('/')[0]}/{name}"
    return [google_key(account, resource), *([google_key(account, named)] if name else [])]


def _last_part(name: str | None) -> str:
    return (name or "").rstrip("/").rpartition("/")[2]
