"""The statement that compares the groups of lines in two versions of a month."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from finops.lake.engine import compiler
from finops.lake.engine.compiler import File


def version_sql(
    before: Sequence[File], after: Sequence[File], keys: Sequence[str], amounts: Sequence[str]
) -> str:
    """The statement for groups of lines in two sets of files, matched by `keys`: number of lines and exact sums on
    each side, as `lines_before`, `billed_cost_before` and so on. Both sets have all of these columns."""
    sides = [
        exp.select(
            *map(compiler._column, [*keys, *amounts]),
            exp.alias_(exp.convert(is_after), "is_after", quoted=True),
        ).from_(compiler._read_parquet(files, union_by_name=False))
        for files, is_after in ((before, False), (after, True))
        if files
    ]
    lines = sides[0] if len(sides) == 1 else exp.union(*sides, distinct=False)
    sums = [
        exp.alias_(_sum_where(value, is_after=is_after), f"{name}_{side}", quoted=True)
        for side, is_after in (("before", False), ("after", True))
        for name, value in [("lines", exp.convert(1)), *((name, compiler._column(name)) for name in amounts)]
    ]
    names = [compiler._column(name) for name in keys]
    return exp.select(*names, *sums).from_(lines.subquery("lines")).group_by(*names).sql(compiler.DIALECT)


def _sum_where(value: exp.Expr, *, is_after: bool) -> exp.Expr:
    condition = compiler._column("is_after") if is_after else exp.Not(this=compiler._column("is_after"))
    matching = exp.Case().when(condition, value)
    return exp.Coalesce(this=exp.Sum(this=matching), expressions=[exp.convert(0)])
