"""Rules of the architecture that no linter checks."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.source_tree import PACKAGES, ROOT, product_trees, tracked_files

INEXACT_METHODS = {"mean", "median", "quantile", "approx_median", "approx_quantile", "std", "var"}
PRODUCTS = (ast.Mult, ast.Div, ast.FloorDiv)
# The places that serve packages, as lock files and package managers write them; in pieces, to not find itself.
REGISTRIES = (
    "registry.npm" + "js.org",
    "registry.yarn" + "pkg.com",
    "pypi" + ".org",
    "files.python" + "hosted.org",
)
TEXT_LIMIT = 1_000_000


def query_modules() -> dict[Path, ast.Module]:
    """Every queries.py, and every module that names ibis: it may build an expression for the lake."""
    return {
        path: tree for path, tree in product_trees().items() if path.name == "queries.py" or names_ibis(tree)
    }


def names_ibis(tree: ast.AST) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "ibis" for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ibis":
            return True
    return False


def constant(node: ast.AST) -> bool:
    """A number, a CONSTANT, an entry of one, or a product of such: no column of the lake."""
    if isinstance(node, ast.BinOp):
        return constant(node.left) and constant(node.right)
    if isinstance(node, ast.Subscript):
        return constant(node.value)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def inexact(tree: ast.AST) -> list[str]:
    """Products, divisions, means and quantiles: engines disagree on them, so they are computed in Decimal."""
    places = []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, PRODUCTS) and not constant(node):
            places.append(f"line {node.lineno}: {ast.unparse(node)}")
        if isinstance(node, ast.Attribute) and node.attr in INEXACT_METHODS:
            places.append(f"line {node.lineno}: .{node.attr}")
    return places


def test_the_rule_of_exact_algebra_sees_what_it_must() -> None:
    assert inexact(ast.parse("table.cost.sum() / table.quantity.sum()")) != []
    assert inexact(ast.parse("table.cost * rate")) != []
    assert inexact(ast.parse("2 * table.cost")) != []
    assert inexact(ast.parse("table.cost.mean()")) != []
    assert inexact(ast.parse("table.cost.quantile(0.9)")) != []
    assert inexact(ast.parse("table.group_by('day').agg(cost=table.cost.sum() + table.tax.sum())")) == []
    assert inexact(ast.parse("days = MAX_BUCKETS * BUCKET_DAYS[granularity]")) == []
    assert inexact(ast.parse("def query_spend(*, account, **rest): return run(*parts, **rest)")) == []


def test_queries_leave_products_and_means_to_decimal() -> None:
    places = {str(path): inexact(tree) for path, tree in query_modules().items()}
    assert {path: lines for path, lines in places.items() if lines} == {}


def test_the_time_comes_from_the_clock_alone() -> None:
    """A default of `timezone.now` passes by the time that a test says."""
    other = re.compile(r"\b(timezone\.now|timezone\.localdate|datetime\.now|date\.today|utcnow)\b")
    clock = ROOT / "finops" / "lib" / "clock.py"
    modules = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if path != clock]
    places = [path for path in modules if "migrations" not in path.parts and other.search(path.read_text())]
    assert [str(path.relative_to(ROOT)) for path in places] == []


def test_no_file_names_a_package_registry() -> None:
    """A lock file or a build must install from whatever mirror the machine is set up for."""
    places = [
        f"{path.relative_to(ROOT)}: {host}"
        for path in tracked_files()
        if path.stat().st_size < TEXT_LIMIT
        for host in REGISTRIES
        if host.encode() in path.read_bytes()
    ]
    assert places == []


REQUIREMENTS = ("", "-dev", "-embedded", "-extras", "-spark")


@pytest.mark.parametrize("name", [f"requirements{part}.txt" for part in REQUIREMENTS])
def test_every_requirement_is_pinned_and_says_why(name: str) -> None:
    pinned = re.compile(r"^[a-z0-9-]+(\[[a-z0-9,]+\])?==\S+ +# \S.{7,}$")
    included = [f"-r requirements{part}.txt" for part in REQUIREMENTS]
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not pinned.match(line) and line not in included] == []


def test_no_note_to_self_and_no_skipped_test() -> None:
    """What is left to do is in the issue tracker; a test that cannot run fails and says why."""
    words = re.compile(rb"\b(TODO|FIXME|XXX)\b|pytest\.mark\.(skip|xfail)|pytest\.(skip|xfail)\(")
    python = [path for path in tracked_files() if path.suffix == ".py" and path != Path(__file__)]
    assert [str(path.relative_to(ROOT)) for path in python if words.search(path.read_bytes())] == []
