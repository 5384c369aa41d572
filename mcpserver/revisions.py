"""The supported protocol revisions and their features, newest first.

Responses contain only what the schema of the revision defines, since clients may be strict.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Revision:
    """A protocol revision. `modern`: stateless, each request names its revision; earlier ones negotiate it by
    `initialize`."""

    name: str
    modern: bool = False
    has_titles: bool = True  # titles and structuredContent: both added in 2025-06-18
    has_descriptions: bool = True  # description and websiteUrl of the server
    has_batches: bool = False


MODERN = Revision(name="2026-07-28", modern=True)
LEGACY = (
    Revision(name="2025-11-25"),
    Revision(name="2025-06-18", has_descriptions=False),
    Revision(name="2025-03-26", has_descriptions=False, has_titles=False, has_batches=True),
)
OLDEST = LEGACY[-1]
REVISIONS = (MODERN, *LEGACY)

_LEGACY_BY_NAME = {revision.name: revision for revision in LEGACY}


def legacy(name: str | None) -> Revision | None:
    return _LEGACY_BY_NAME.get(name or "")
