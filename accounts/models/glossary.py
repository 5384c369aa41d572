"""The account's own terms, which assistants receive with the server's instructions."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Lower

from accounts.scoping import AccountModel
from finops.lib.constraints import not_empty, unique_in_account


class GlossaryTerm(AccountModel):
    """The meaning of a term in this account: `GMV`, `the platform team`, `a seat`."""

    term = models.CharField(max_length=60)
    meaning = models.CharField(max_length=300)

    class Meta:
        ordering = [Lower("term")]
        constraints = [
            unique_in_account(
                "term", name="glossary_term_unique", message="This term is already in the glossary."
            ),
            not_empty(
                "term", "meaning", name="glossary_term_says_something", message="A term needs a meaning."
            ),
        ]

    def __str__(self) -> str:
        return f"{self.term}: {self.meaning}"
