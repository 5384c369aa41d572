"""All resources that Lumenly runs, vendor by vendor. The order of the lines is fixed: a day's noise depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from finops.demo.company import person
from finops.demo.fleet import anthropic, aws, azure, gcp
from finops.demo.lines import ResourceLine, line


@cache
def lines_of(source: str) -> tuple[ResourceLine, ...]:
    """All lines that a vendor's bill can have, whether a given day has them or not."""
    builders = {
        "aws": aws.lines,
        "azure": azure.lines,
        "gcp": gcp.lines,
        "anthropic": anthropic.lines,
        "labs": _labs_lines,
    }
    return tuple(builders[source]())


def _labs_lines() -> Iterator[ResourceLine]:
    """The few machines of Lumenly Labs, the second account of the demo."""
    for name, sku, shape, base in (
        ("prototype-1", "do.droplet", "always", 24.0),
        ("prototype-2", "do.droplet", "always", 24.0),
        ("sprint-demo", "do.droplet", "office", 24.0),
        ("labs-db", "do.database", "always", 24.0),
        ("labs-files", "do.spaces", "stored", 900 / 30.4),
    ):
        tags = {"owner": person("elena.petrova"), "idea": name.split("-")[0]}
        yield line("labs", sku, "labs", "fra1", name, shape, base, tags)
