"""Lumenly, the invented B2B software company whose bills the demo account shows: its people, places, customers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import date
from functools import cache

NAME = "Lumenly"
LABS_NAME = "Lumenly Labs"
DOMAIN = "lumenly.example"


@cache
def digest(*parts: object, length: int = 17) -> str:
    """Return a stable hex digest of the parts: for ids of resources, and every choice that looks random."""
    text = "/".join(str(part) for part in parts)
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()[:length]


def fraction(*parts: object) -> float:
    """Return a stable number from 0 to below 1 for the parts."""
    return int(digest(*parts, length=12), 16) / 16**12


@dataclass(frozen=True)
class DemoCustomer:
    """One paying customer. `weight` is its share of load, the largest being 1; `dedicated` has its own database."""

    id: str
    name: str
    weight: float
    dedicated: bool


_CUSTOMER_NAMES = (
    "Halden Freight", "Brightwater Energy", "Corvus Insurance", "Mosaic Retail", "Ostrava Steel",
    "Pinewood Health", "Quillon Bank", "Tamarack Foods", "Arbor Telecom", "Sable Airlines",
    "Juniper Hotels", "Kestrel Logistics", "Lark Pharma", "Northgate Homes", "Orchid Media",
    "Palisade Legal", "Redfern Motors", "Silverline Rail", "Tidewater Ports", "Umber Coffee",
    "Velvet Farms", "Willow Learning", "Xenon Labs", "Yarrow Cosmetics", "Zephyr Drones", "Alder Books",
    "Beacon Dental", "Cinder Games", "Drift Surfwear", "Elm Street Toys", "Fathom Diving",
    "Gable Roofing", "Harvest Table", "Indigo Yarns", "Jasper Tiles", "Kite & Co", "Lumen Opticians",
    "Maple Vets", "Nimbus Cycles", "Olive Grove",
)  # fmt: skip

CUSTOMERS: tuple[DemoCustomer, ...] = tuple(
    DemoCustomer(f"cust-{index:03}", name, round(1 / index**0.7, 4), index <= 12)
    for index, name in enumerate(_CUSTOMER_NAMES, start=1)
)
CUSTOMER_IDS: tuple[str, ...] = tuple(customer.id for customer in CUSTOMERS)

CUSTOMERS_IN_EUROPE = ("cust-003", "cust-006", "cust-014", "cust-022")

# How some deployment scripts misspell a customer; the true ids are in CUSTOMERS.
CUSTOMER_MISSPELT = {"cust-007": "CUST-007", "cust-019": "cust_019", "cust-023": "cust-23"}

# Team, and who is in it. Mails are <name>@lumenly.example.
TEAMS: dict[str, tuple[str, ...]] = {
    "platform": ("maya.okafor", "jonas.weber", "lin.zhao"),
    "payments": ("sofia.rossi", "tom.becker"),
    "search": ("ines.duarte", "pavel.novak"),
    "data": ("amara.diallo", "kenji.sato", "ruth.levi"),
    "growth": ("elena.petrova", "omar.haddad"),
    "ml": ("priya.nair", "lucas.martin"),
    "security": ("nora.lind",),
}


def person(name: str) -> str:
    """Return a person's email address."""
    return f"{name}@{DOMAIN}"


def owner_of(team: str, *parts: object) -> str:
    people = TEAMS[team]
    return person(people[int(fraction("owner", team, *parts) * len(people))])


@dataclass(frozen=True)
class SubAccount:
    id: str
    name: str
    env: str


@dataclass(frozen=True)
class Source:
    """A vendor that bills Lumenly: one cost source of the demo account. `negotiated` is its price factor."""

    key: str
    name: str
    provider: str
    publisher: str
    billing_account_id: str
    billing_account_name: str
    billing_account_type: str
    sub_account_type: str
    currency: str
    negotiated: int  # per mille of the list price
    tax_rate: int  # per mille of what is billed
    tax_name: str


SOURCES: dict[str, Source] = {
    source.key: source
    for source in (
        Source(
            "aws", "AWS", "AWS", "Amazon Web Services, Inc.", "718250934416", "Lumenly Inc.", "Payer Account",
            "Linked Account", "USD", 960, 21, "US sales tax",
        ),
        Source(
            "azure", "Microsoft Azure", "Microsoft", "Microsoft", "7f4c1e52-90ab-4d0e-8c11-5b2f6a7de310",
            "Lumenly GmbH", "Microsoft Customer Agreement", "Subscription", "EUR", 920, 190, "VAT 19 %",
        ),
        Source(
            "gcp", "Google Cloud", "Google Cloud", "Google Cloud", "01A4F2-6B77C3-9D20E8", "Lumenly Inc.",
            "Billing Account", "Project", "USD", 950, 0, "",
        ),
        Source(
            "anthropic", "Anthropic", "Anthropic", "Anthropic, PBC", "org-5d1c7b90", "Lumenly Inc.", "Organization",
            "Workspace", "USD", 1000, 0, "",
        ),
    )
}  # fmt: skip

# The small company beside it, so that a person sees two accounts.
LABS = Source(
    "labs", "DigitalOcean", "DigitalOcean", "DigitalOcean, LLC", "do-team-4417", "Lumenly Labs", "Team", "Project",
    "USD", 1000, 0, "",
)  # fmt: skip
VENDORS: dict[str, Source] = {**SOURCES, LABS.key: LABS}


def invoice_id(vendor: Source, month: date) -> str:
    """The invoice of a billing month: provisional, as FOCUS allows, until the month is over."""
    return f"{vendor.key.upper()}-{month:%Y%m}"


SUB_ACCOUNTS: dict[str, SubAccount] = {
    "prod": SubAccount("204117730985", "lumenly-prod", "prod"),
    "staging": SubAccount("330918264407", "lumenly-staging", "staging"),
    "dev": SubAccount("417702951630", "lumenly-dev", "dev"),
    "data": SubAccount("512640087719", "lumenly-data", "prod"),
    "shared": SubAccount("608831452290", "lumenly-shared-services", "prod"),
    "sandbox": SubAccount("951077346028", "lumenly-sandbox", "dev"),
    "eu-prod": SubAccount("0b6e3a1c-7d24-4c58-9a3f-1e5d80c7f201", "Lumenly EU Production", "prod"),
    "eu-nonprod": SubAccount("4f19d2b8-3c60-4e7a-b05d-62ac97e1f842", "Lumenly EU NonProd", "dev"),
    "analytics": SubAccount("lumenly-analytics-prod", "Lumenly Analytics", "prod"),
    "analytics-dev": SubAccount("lumenly-analytics-dev", "Lumenly Analytics Dev", "dev"),
    "ml": SubAccount("lumenly-ml", "Lumenly ML", "prod"),
    "ws-product": SubAccount("wrkspc_product", "Product", "prod"),
    "ws-engineering": SubAccount("wrkspc_engineering", "Engineering", "dev"),
    "ws-research": SubAccount("wrkspc_research", "Research", "dev"),
    "labs": SubAccount("prj-prototypes", "Prototypes", "dev"),
}

REGIONS: dict[str, str] = {
    "us-east-1": "US East (N. Virginia)",
    "us-west-2": "US West (Oregon)",
    "eu-west-1": "EU (Ireland)",
    "germanywestcentral": "Germany West Central",
    "westeurope": "West Europe",
    "us-central1": "Iowa",
    "europe-west4": "Netherlands",
    "global": "Global",
    "fra1": "Frankfurt 1",
}
