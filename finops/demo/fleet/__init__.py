"""Everything that Lumenly runs, vendor by vendor. The order of the lines is fixed: a day's noise depends on it."""

from __future__ import annotations

from functools import cache

from finops.demo.fleet import anthropic, aws, aws_data, azure, gcp, labs
from finops.demo.lines import Line


@cache
def lines_of(source: str) -> tuple[Line, ...]:
    """All lines that a vendor's bill can have, whether a given day has them or not."""
    builders = {
        "aws": (aws.lines, aws_data.lines),
        "azure": (azure.lines,),
        "gcp": (gcp.lines,),
        "anthropic": (anthropic.lines,),
        "labs": (labs.lines,),
    }
    return tuple(line for build in builders[source] for line in build())
