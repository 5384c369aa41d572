"""The protocol revisions this server speaks, and what each has. Newest first.

Nothing is sent that a revision's schema does not know, so that a strict client has nothing to stumble over.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Revision:
    """`modern` is the stateless era, where each request says its own revision; before, `initialize` agreed on one."""

    name: str
    modern: bool = False
    has_titles: bool = True  # titles, outputSchema and structuredContent came together in 2025-06-18
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
