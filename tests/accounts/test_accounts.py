from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from accounts.audit import Actor
from accounts.keys import authenticate_mcp_key, mint_mcp_key
from accounts.models import Account, AuditEntry, Membership, Role, User
from accounts.scoping import account_scope
from accounts.services import add_member, change_account, change_role, create_account, remove_member
from accounts.services.accounts import PER_DAY
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import Cast, signed_in
from tests.pages import text_of


def test_an_email_signs_one_person_in_whatever_its_case(db: None) -> None:
    User.objects.create_user("Ada@Example.com", "long enough secret")

    assert User.objects.get_by_natural_key("ada@EXAMPLE.com").email == "ada@example.com"
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.bulk_create([User(email="ADA@example.com")])


def test_roles_include_those_before_them() -> None:
    assert Role.OWNER.at_least(Role.VIEWER)
    assert Role.MEMBER.at_least(Role.MEMBER)
    assert not Role.VIEWER.at_least(Role.MEMBER)
    assert not Role.MEMBER.at_least(Role.ADMIN)


def test_a_second_account_of_the_same_name_gets_an_address_of_its_own(cast: Cast) -> None:
    first = create_account(name="Blue Sky", owner=cast.owner)
    second = create_account(name="Blue Sky", owner=cast.owner)

    assert first.slug == "blue-sky"
    assert second.slug.startswith("blue-sky-")


def test_a_name_of_signs_alone_still_gets_an_address(cast: Cast) -> None:
    assert create_account(name="株式会社", owner=cast.owner).slug.startswith("account")


def test_a_person_creates_a_limited_number_of_accounts_a_day(cast: Cast) -> None:
    for number in range(PER_DAY):
        create_account(name=f"Account {number}", owner=cast.viewer)
    person = signed_in(cast.viewer)

    page = text_of(person.post("/accounts/new/", {"name": "One more"}))
    assert f"Limit of {PER_DAY} new accounts" in page
    assert not Account.objects.filter(name="One more").exists()

    with clock.frozen(clock.now() + timedelta(days=1, minutes=1)):
        assert signed_in(cast.viewer).post("/accounts/new/", {"name": "One more"}).status_code == 302


def test_a_person_is_a_member_once(cast: Cast) -> None:
    with pytest.raises(ValidationError, match="This person is already a member"):
        add_member(account=cast.account, user=cast.viewer, role=Role.ADMIN, actor=cast.actor)


def test_the_owner_can_neither_leave_nor_step_down(cast: Cast) -> None:
    owner = Membership.objects.get(account=cast.account, user=cast.owner)

    with pytest.raises(UserError, match=r"The owner cannot be removed\. Transfer ownership first"):
        remove_member(membership=owner, actor=cast.actor)
    with pytest.raises(UserError, match=r"The owner cannot be removed\. Transfer ownership first"):
        change_role(membership=owner, role=Role.VIEWER, actor=cast.actor)


def test_an_account_has_one_owner(cast: Cast) -> None:
    admin = Membership.objects.get(account=cast.account, user=cast.admin)

    with pytest.raises(UserError, match="Transfer ownership in Settings → Account"):
        change_role(membership=admin, role=Role.OWNER, actor=Actor.of_user(cast.owner))
    with pytest.raises(ValidationError, match="one owner"):
        add_member(account=cast.account, user=cast.stranger, role=Role.OWNER, actor=cast.actor)
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.filter(pk=admin.pk).update(role=Role.OWNER)


def test_every_write_leaves_a_line_in_the_audit_log_of_its_account(cast: Cast) -> None:
    actor = Actor.of_user(cast.owner)
    membership = Membership.objects.get(account=cast.account, user=cast.viewer)

    change_account(
        account=cast.account, actor=actor, name="Acme Ltd", fiscal_start_month=4, holiday_country="DE"
    )
    change_role(membership=membership, role=Role.MEMBER, actor=actor)
    remove_member(membership=membership, actor=actor)

    with account_scope(cast.account):
        newest = list(AuditEntry.objects.values_list("action", "actor_label")[:3])
    assert newest == [
        ("member.remove", "owner@example.com"),
        ("member.change_role", "owner@example.com"),
        ("account.change", "owner@example.com"),
    ]


def test_a_fiscal_year_starts_in_a_month(cast: Cast) -> None:
    with pytest.raises(ValidationError):
        change_account(account=cast.account, actor=cast.actor, name="Acme", fiscal_start_month=13)
    with pytest.raises(IntegrityError), transaction.atomic():
        Account.objects.filter(pk=cast.account.pk).update(fiscal_start_month=0)


def test_the_country_of_holidays_is_stored_and_reaches_the_mcp_endpoint(cast: Cast) -> None:
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="holidays")
    for country in ("DE", ""):
        change_account(
            account=cast.account, actor=cast.actor, name="Acme", fiscal_start_month=1, holiday_country=country
        )
        used = authenticate_mcp_key(plaintext)
        assert used is not None
        assert used.account.holiday_country == country
    with pytest.raises(UserError, match="Public holidays of 'XX' are not available"):
        change_account(
            account=cast.account, actor=cast.actor, name="Acme", fiscal_start_month=1, holiday_country="XX"
        )
