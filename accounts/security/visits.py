"""A visit: an operator reads an account without being a member, for an hour, as a viewer who can change nothing."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.http import HttpRequest

from accounts.models import Account, Membership, Role, User
from accounts.security.mfa import has_second_factor
from finops.lib import clock

SESSION_KEY: Final = "operator_visits"


def begin(request: HttpRequest, account: Account, until: datetime) -> None:
    """Allow this session to visit the account until then."""
    request.session[SESSION_KEY] = {
        **request.session.get(SESSION_KEY, {}),
        str(account.pk): until.isoformat(),
    }


def end(request: HttpRequest) -> None:
    """End every visit of this session."""
    request.session.pop(SESSION_KEY, None)


def visit_of(request: HttpRequest, slug: str) -> Membership | None:
    """Return a visiting operator's membership in the account: a viewer, without a row. None without a visit, once its hour
    is over, and once the person may no longer act as an operator. No query for people who are no operators; two in a visit."""
    user = request.user
    if not isinstance(user, User) or not user.is_superuser or not user.is_staff:
        return None
    visits: dict[str, str] = request.session.get(SESSION_KEY, {})
    if not visits:
        return None
    account = Account.objects.filter(slug=slug, pk__in=list(visits)).first()
    if account is None:
        return None
    until = datetime.fromisoformat(visits[str(account.pk)])
    if until <= clock.now():
        return None
    membership = Membership(account=account, user=user, role=Role.VIEWER)
    membership.visit_until = until
    has_factor = User.objects.filter(has_second_factor("pk"), pk=user.pk).exists()
    membership.has_second_factor = has_factor  # type: ignore[attr-defined]  # as account_page annotates it
    return membership
