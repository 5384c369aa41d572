"""The rules of cost tags as a document: its types, a strict parser, and an exact writer. Pure."""

from finops.allocation.rules.document import (
    MAX_RULES,
    NORMALISATIONS,
    AllOf,
    AnyOf,
    Condition,
    Copy,
    CostTagDraft,
    Normalisation,
    Not,
    Rule,
    Test,
    dimensions_of,
    tests_of,
    write_condition,
    write_draft,
    write_rules,
)
from finops.allocation.rules.parser import RuleError, read_draft, read_rules

__all__ = [
    "MAX_RULES",
    "NORMALISATIONS",
    "AllOf",
    "AnyOf",
    "Condition",
    "Copy",
    "CostTagDraft",
    "Normalisation",
    "Not",
    "Rule",
    "RuleError",
    "Test",
    "dimensions_of",
    "read_draft",
    "read_rules",
    "tests_of",
    "write_condition",
    "write_draft",
    "write_rules",
]
