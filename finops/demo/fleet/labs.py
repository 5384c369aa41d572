"""The few machines of Lumenly Labs, the second account of the demo."""

from __future__ import annotations

from collections.abc import Iterator

from finops.demo.company import person
from finops.demo.lines import Line, line


def lines() -> Iterator[Line]:
    for name, sku, shape, base in (
        ("prototype-1", "do.droplet", "always", 24.0),
        ("prototype-2", "do.droplet", "always", 24.0),
        ("sprint-demo", "do.droplet", "office", 24.0),
        ("labs-db", "do.database", "always", 24.0),
        ("labs-files", "do.spaces", "stored", 900 / 30.4),
    ):
        tags = {"owner": person("elena.petrova"), "idea": name.split("-")[0]}
        yield line("labs", sku, "labs", "fra1", name, shape, base, tags)
