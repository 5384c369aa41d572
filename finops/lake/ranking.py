"""Ranking of groups in a lake expression, and folding of the groups that are not listed into one. Pure: only the engine
runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis


def top_n(
    groups: Any, n: int, *, size: Any, keys: Sequence[str], within: str | None = None, offset: int = 0
) -> Any:
    """Return the `n` largest groups of a table after the first `offset`, ties ordered by key; with `within`, for each of
    its values.

    Adds to each group its `place` from 0, and the number of `groups`.
    """
    apart = groups[within] if within else None
    order = [size.desc(), *(groups[key] for key in keys)]
    ranked = groups.mutate(
        place=ibis.row_number().over(ibis.window(group_by=apart, order_by=order)),
        groups=groups[keys[-1]].count().over(ibis.window(group_by=apart)),
    )
    return ranked.filter(ranked.place >= offset, ranked.place < offset + n)


def fold_rest(rows: Any, listed: Any, *, keys: Sequence[str], within: str | None = None) -> Any:
    """Add `place` and `groups` to the rows whose group is in `listed`; rows of other groups lose their keys."""
    matched = [*keys, within] if within else [*keys]
    names = {name: f"listed_{name}" for name in matched}
    listed = listed.select("place", "groups", **{names[name]: listed[name] for name in matched})
    joined = rows.left_join(listed, [rows[name] == listed[names[name]] for name in matched])
    other_columns = [name for name in rows.columns if name not in keys]
    return joined.select(*other_columns, "place", "groups", **{name: joined[names[name]] for name in keys})
