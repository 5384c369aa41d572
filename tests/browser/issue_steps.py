"""Issues of the browser tests, processed inside the server's process."""

from __future__ import annotations

from accounts.models import Account, User
from accounts.scoping import account_scope
from accounts.services import create_account
from finops.issues import services
from tests.factories.costs import add_source
from tests.finops.insights.savings.bills import volume


def account_with_saving(slug: str) -> None:
    """Create an account of the member, whose bill has ten USD a day of gp2."""
    account = create_account(name=slug, owner=User.objects.get(email="member@example.com"), slug=slug)
    with account_scope(account):
        add_source(account, volume("10", account_name="lab"))


def work() -> int:
    """Do the work of beat and workers: create due issues, and read the states of due trackers. Return the number
    processed."""
    accounts = {each.pk: each for each in Account.objects.all()}
    created = [
        services.create_remote_issue(account=accounts[account_id], issue_id=issue_id)
        for account_id, issue_id in services.create_due()
    ]
    read = [
        services.poll_tracker(account=accounts[account_id], tracker_id=tracker_id)
        for account_id, tracker_id in services.due_trackers()
    ]
    return sum(created) + sum(read)
