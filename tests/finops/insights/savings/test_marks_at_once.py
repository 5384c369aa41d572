"""Two people say something about one recommendation in the same instant."""

from __future__ import annotations

import pytest
from django.db import transaction

from accounts.audit import Actor
from accounts.models import Account, AuditEntry, User
from accounts.scoping import account_scope
from finops.insights.models import SavingsDismissal
from finops.insights.savings.candidates import SavingCandidate
from finops.insights.savings.queries import list_savings, recommendation
from finops.insights.savings.schemas import SavingsQuery
from finops.insights.savings.services import dismiss
from finops.lib import clock
from tests.cast import make_cast
from tests.factories.costs import add_source
from tests.finops.insights.savings.bills import NOON, volume
from tests.waiting import is_blocking_others, threads, wait_until


def _dismiss(account: Account, user: User, candidate: SavingCandidate, reason: str) -> SavingsDismissal:
    with account_scope(account):
        return dismiss(account=account, actor=Actor.of_user(user), candidate=candidate, reason=reason)


@pytest.mark.django_db(transaction=True)
def test_what_the_second_says_holds_and_the_log_has_both() -> None:
    cast = make_cast()
    with account_scope(cast.account), clock.frozen(NOON):
        add_source(cast.account, volume("10"))
        (row,) = list_savings(cast.account, SavingsQuery(rule="volume_type")).recommendations
        candidate, _ = recommendation(cast.account, row.id)
    assert candidate is not None

    with threads(1) as call:
        with transaction.atomic():
            _dismiss(cast.account, cast.owner, candidate, "Leaves soon")
            second = call(_dismiss, cast.account, cast.member, candidate, "Too risky")
            wait_until(is_blocking_others)
        second.result()

    with account_scope(cast.account):
        mark = SavingsDismissal.objects.get()
        actors = set(AuditEntry.objects.filter(action="saving.dismiss").values_list("actor_label", flat=True))
    assert (mark.key, mark.reason, mark.marked_by) == (row.id, "Too risky", cast.member)
    assert actors == {cast.owner.email, cast.member.email}
