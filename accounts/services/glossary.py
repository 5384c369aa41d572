"""Writes on the account's glossary."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, GlossaryTerm
from accounts.scoping import account_scope
from finops.lib.errors import UserError

MAX_TERMS = 50


@transaction.atomic
def replace_glossary(*, account: Account, actor: Actor, terms: Sequence[tuple[str, str]]) -> None:
    """Make these (term, meaning) pairs the whole glossary. Assistants are told it before they ask.

    Raises UserError for over 50 terms (an assistant reads them each time), or a term named twice; ValidationError
    for one that is empty or too long.
    """
    if len(terms) > MAX_TERMS:
        raise UserError(f"A glossary has at most {MAX_TERMS} terms, {len(terms)} were given.", field="terms")
    names = [term.casefold() for term, _meaning in terms]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UserError(f"The term {twice!r} is there twice; say its meaning in one line.", field="terms")
    with account_scope(account):
        before = {row.term: row.meaning for row in GlossaryTerm.objects.select_for_update()}
        GlossaryTerm.objects.all().delete()
        for term, meaning in terms:
            row = GlossaryTerm(account=account, term=term, meaning=meaning)
            row.full_clean(exclude=["account"])
            row.save(force_insert=True)
    audit.record(
        account=account, actor=actor, action="glossary.change", detail={"from": before, "to": dict(terms)}
    )
