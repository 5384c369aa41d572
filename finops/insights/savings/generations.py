"""Products that have a cheaper successor of the same size, as the usage type or SKU of a line names them.

`ratio` is the successor's list price ÷ the old one's: AWS price list (us-east-1, Linux, on demand; ratios hold within
about 3 % in other regions). None where the bills cannot prove a saving, with the reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

AWS_PRICES: Final = "AWS list prices, us-east-1, Linux"

AWS, AZURE, GOOGLE, OTHER = "aws", "azure", "google", ""


@dataclass(frozen=True)
class Successor:
    """`pattern` is looked for in the usage type of a line of `cloud` and, when given, of a `service`."""

    cloud: str
    pattern: str
    old: str
    new: str
    ratio: Decimal | None
    source: str
    rule: str = "previous_generation"
    service: str = ""


def _aws(pattern: str, old: str, new: str, new_price: str, old_price: str, **more: str) -> Successor:
    ratio = (Decimal(new_price) / Decimal(old_price)).quantize(Decimal("0.001"))
    text = f"{AWS_PRICES}: {new_price} ÷ {old_price} USD"
    return Successor(AWS, pattern, old, new, ratio, text, **more)


_BOX = r"(?:BoxUsage|DedicatedUsage):"

SUCCESSORS: Final[tuple[Successor, ...]] = (
    _aws(_BOX + r"m3\.", "m3", "m6i", "0.192", "0.266"),
    _aws(_BOX + r"m4\.", "m4", "m6i", "0.192", "0.200"),
    _aws(_BOX + r"c3\.", "c3", "c6i", "0.170", "0.210"),
    _aws(_BOX + r"c4\.", "c4", "c6i", "0.170", "0.199"),
    _aws(_BOX + r"r3\.", "r3", "r6i", "0.252", "0.333"),
    _aws(_BOX + r"r4\.", "r4", "r6i", "0.252", "0.266"),
    _aws(_BOX + r"t2\.", "t2", "t3", "0.0416", "0.0464"),
    _aws(r"(?:Instance|Multi-AZ)Usage:db\.m3\.", "db.m3", "db.m6g", "0.159", "0.185"),
    _aws(r"(?:Instance|Multi-AZ)Usage:db\.m4\.", "db.m4", "db.m6g", "0.159", "0.175"),
    _aws(r"(?:Instance|Multi-AZ)Usage:db\.r3\.", "db.r3", "db.r6g", "0.215", "0.2375"),
    _aws(r"(?:Instance|Multi-AZ)Usage:db\.r4\.", "db.r4", "db.r6g", "0.215", "0.240"),
    _aws(r"NodeUsage:cache\.r4\.", "cache.r4", "cache.r6g", "0.206", "0.228"),
    _aws(r"NodeUsage:cache\.m4\.", "cache.m4", "cache.m6g", "0.149", "0.156"),
    # RDS gp2 and gp3 cost the same a GB, so RDS:GP2-Storage is not here.
    _aws(r"EBS:VolumeUsage\.gp2", "gp2", "gp3", "0.08", "0.10", rule="volume_type"),
    _aws(r"ES:GP2-Storage", "gp2", "gp3", "0.122", "0.135", rule="volume_type"),
    Successor(
        AZURE, r"^(?:Standard_)?D[0-9]+s? ?_?v2\b", "Dv2", "Dv5", None,
        "Azure's prices of Dv2 and Dv5 differ by region and system: compare them for yours in the pricing calculator.",
        service="virtual machines",
    ),
    Successor(
        GOOGLE, r"\bN1 Predefined Instance (?:Core|Ram)", "N1", "N2D or E2", None,
        "N1 has up to 30 % sustained-use discount, N2D up to 20 % and E2 none: the bill does not prove which is less.",
    ),
)  # fmt: skip

IN_ANY: Final = "|".join(f"(?:{one.pattern})" for one in SUCCESSORS)
"""One expression for the lake, of what Python's and RE2's regular expressions have in common; case is ignored."""


def cloud_of(provider: str) -> str:
    """Which of the clouds that we know prices of, by the provider's name in the bill."""
    name = provider.casefold()
    if "aws" in name or "amazon" in name:
        return AWS
    if "azure" in name or "microsoft" in name:
        return AZURE
    return GOOGLE if "google" in name or "gcp" in name else OTHER


@lru_cache(maxsize=4096)
def successor_of(provider: str, service: str, usage_type: str) -> Successor | None:
    """What replaces it, None when it is of today or of a provider that the table does not have."""
    cloud = cloud_of(provider)
    for one in SUCCESSORS:
        ours = one.cloud == cloud and one.service in service.casefold()
        if ours and re.search(one.pattern, usage_type, re.IGNORECASE):
            return one
    return None
