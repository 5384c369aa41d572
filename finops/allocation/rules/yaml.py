"""A cost tag as a YAML file, so that rules can live in a repository.

Every scalar is a text (`no`, `0123` and `2026-05-31` stay what they are), and anchors, aliases and tags are refused,
so a file can neither grow when it is read nor make anything but texts, lists and maps.
"""

from __future__ import annotations

from typing import Any

import yaml

from finops.allocation.rules.document import CostTagDraft
from finops.allocation.rules.reading import RuleError, read_draft
from finops.allocation.rules.writing import write_draft

MAX_BYTES = 2 * 2**20


def draft_to_yaml(draft: CostTagDraft) -> str:
    """The file that `draft_from_yaml` reads as an equal draft."""
    return yaml.dump(write_draft(draft), sort_keys=False, allow_unicode=True, width=110)


def draft_from_yaml(text: str) -> CostTagDraft:
    """The cost tag that a file says. Raises RuleError that names line, rule and field."""
    try:
        found: Any = yaml.load(text, Loader=yaml.CBaseLoader)  # noqa: S506 - makes texts, lists and maps only
    except yaml.YAMLError as error:
        raise RuleError(str(error), ()) from error
    return read_draft(found)
