"""`manage.py load_demo` on a real database and lake."""

from __future__ import annotations

import io
import json
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from accounts.keys import authenticate_mcp_key
from accounts.models import Account, AuditEntry, MCPKey, Membership, Role, User
from accounts.scoping import account_scope
from accounts.services import create_account
from finops.costs.models import ClosedMonth, ContractCommitment, CostImport, CostSource, CostView
from finops.costs.queries.invoices import every_invoice
from finops.demo.company import SOURCES
from finops.demo.generate import MONTHS, write_source
from finops.demo.invoices import NOT_IN_LINES
from finops.demo.loading import SAMPLE_NAME
from finops.demo.people import COLLEAGUES, EMAIL
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lib import clock

TODAY = datetime(2026, 11, 20, 9, tzinfo=UTC)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_var(settings: LazySettings, tmp_path: Path) -> Path:
    settings.VAR_DIR = tmp_path
    settings.LAKE_URL = str(tmp_path / "lake")
    settings.PUBLIC_URL = "http://127.0.0.1:8123"
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.MD5PasswordHasher"
    ]  # quick: it is not under test
    return tmp_path


def load(*, months: int = 1, moment: datetime = TODAY, **options: Any) -> str:
    out = io.StringIO()
    with clock.frozen(moment):
        call_command("load_demo", months=months, stdout=out, **options)
    return out.getvalue()


def handout(var: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((var / "demo.json").read_text())
    return found


def fingerprint() -> tuple[Any, ...]:
    return (
        list(User.objects.order_by("pk").values_list("pk", "password")),
        list(Membership.objects.order_by("pk").values_list("account__slug", "user__email", "role")),
        list(MCPKey.objects.unscoped().order_by("pk").values_list("pk", "revoked_at")),
        list(LakeSegment.objects.unscoped().order_by("pk").values_list("pk", "retired_at")),
        CostImport.objects.unscoped().count(),
        AuditEntry.objects.unscoped().count(),
    )


def test_a_first_load_gives_a_year_with_every_vendor_and_the_real_sample(own_var: Path) -> None:
    began = time.perf_counter()
    said = load(months=MONTHS)
    seconds = time.perf_counter() - began
    with account_scope(Account.objects.get(slug="lumenly")):
        segments = LakeSegment.objects.filter(kind=Kind.COST, retired_at=None)
        names = set(CostSource.objects.values_list("name", flat=True))
        assert names == {*(source.name for source in SOURCES.values()), SAMPLE_NAME}
        newest = max(segment.last_day for segment in segments)
        assert newest == date(2026, 11, 19), "data is there up to yesterday"
        assert {segment.month for segment in segments} >= {date(2025, 10, 1), date(2024, 9, 1)}
        lines = sum(segment.rows for segment in segments)
        reports = [job.report for job in CostImport.objects.all()]
        view = CostView.objects.get()
        assert ContractCommitment.objects.count() >= 2 * 6, "every commitment, in two of its years"
        invoices, _months = every_invoice(Account.objects.get(slug="lumenly"))
        closed = ClosedMonth.objects.get()
        restated = {
            row.source_name: row.billed_now - row.billed_cost
            for row in closed.sums.all()
            if row.billed_now != row.billed_cost
        }
    assert 150_000 < lines < 500_000
    assert sum(bool(report.get("findings")) for report in reports) == 1, "only the real file is untidy"
    statuses = {(row.invoice, row.status): row.difference for row in invoices.invoices}
    assert statuses["AWS-202610", "differs"] == pytest.approx(NOT_IN_LINES, abs=Decimal("0.01"))
    assert {row.status for row in invoices.invoices} == {
        "matches",
        "rounding",
        "differs",
        "no_invoice_detail",
    }
    assert ("ANTHROPIC-202609", "matches") in statuses, "the lines have what came late"
    assert closed.month == date(2026, 9, 1)
    assert list(restated) == ["Anthropic"]
    assert restated["Anthropic"] > 900
    assert view.basis == "billed"
    assert view.product_key == "tag:service"
    assert "Demo ready in" in said
    print(f"load_demo: {lines:,} lines in {seconds:.1f} s")  # noqa: T201 measured, not asserted: machines differ


def test_the_lake_holds_what_the_generator_wrote(own_var: Path) -> None:
    load()
    wrote = write_source("aws", own_var / "again.parquet", date(2026, 11, 1), date(2026, 11, 19))
    raw = pq.read_table(wrote.path)
    with account_scope(Account.objects.get(slug="lumenly")):
        source = CostSource.objects.get(name="AWS")
        stored = [
            pq.read_table(own_var / "lake" / segment.path)
            for segment in LakeSegment.objects.filter(kind=Kind.COST, source_id=source.pk, retired_at=None)
        ]
    assert sum(table.num_rows for table in stored) == wrote.rows
    for column, focus in (("billed_cost", "BilledCost"), ("effective_cost", "EffectiveCost")):
        total = sum((Decimal(pc.sum(table[column]).as_py()) for table in stored), Decimal(0))
        assert total == pc.sum(raw[focus]).as_py()
    actors = {actor for table in stored for actor in table["actor"].to_pylist()}
    assert any(actor and "terraform-ci" in actor for actor in actors)


def test_the_handout_is_private_and_opens_the_doors(own_var: Path, client: Any) -> None:
    load()
    given = handout(own_var)
    assert (own_var / "demo.json").stat().st_mode & 0o777 == 0o600
    assert {name: given[name] for name in ("url", "mcp_url", "usage_url", "email", "account")} == {
        "url": "http://127.0.0.1:8123",
        "mcp_url": "http://127.0.0.1:8123/api/mcp",
        "usage_url": "http://127.0.0.1:8123/api/usage/events",
        "email": EMAIL,
        "account": "lumenly",
    }
    assert client.login(email=given["email"], password=given["password"])
    for field, scope in (("mcp_key_read", "read"), ("mcp_key_read_write", "read_write")):
        key = authenticate_mcp_key(given[field])
        assert key is not None
        assert (key.account.slug, key.scope) == ("lumenly", scope)


def test_the_demo_person_sees_two_accounts_and_has_colleagues_of_every_role() -> None:
    load()
    owned = Membership.objects.filter(user__email=EMAIL, role=Role.OWNER)
    assert {membership.account.slug for membership in owned} == {"lumenly", "lumenly-labs"}
    roles = Membership.objects.filter(account__slug="lumenly").values_list("role", flat=True)
    assert set(roles) == set(Role.values)
    with account_scope(Account.objects.get(slug="lumenly-labs")):
        assert LakeSegment.objects.count() == 1


def test_a_second_run_changes_nothing(own_var: Path) -> None:
    load()
    before, given = fingerprint(), (own_var / "demo.json").read_bytes()
    said = load()
    assert fingerprint() == before
    assert (own_var / "demo.json").read_bytes() == given
    assert "0 cost lines imported" in said


def test_on_a_later_day_only_the_months_since_are_imported() -> None:
    load(months=3)
    with account_scope(Account.objects.get(slug="lumenly")):
        before = CostImport.objects.count()
    load(months=3, moment=TODAY + timedelta(days=13))
    with account_scope(Account.objects.get(slug="lumenly")):
        new = CostImport.objects.all()[: CostImport.objects.count() - before]
        assert {month for job in new for month in job.months} == {"2026-11", "2026-12"}
        live = LakeSegment.objects.filter(
            kind=Kind.COST, retired_at=None, source_id=CostSource.objects.get(name="AWS").pk
        )
        assert sorted({segment.month for segment in live})[0] == date(2026, 9, 1)
        assert max(segment.last_day for segment in live) == date(2026, 12, 2)


def test_a_lost_file_gives_a_new_password_and_new_keys_and_ends_the_old_ones(own_var: Path) -> None:
    load()
    old = handout(own_var)
    (own_var / "demo.json").unlink()
    load(if_empty=True)
    new = handout(own_var)
    assert new["password"] != old["password"]
    assert not User.objects.get(email=EMAIL).check_password(old["password"])
    assert authenticate_mcp_key(old["mcp_key_read"]) is None
    assert authenticate_mcp_key(new["mcp_key_read"]) is not None


def test_a_revoked_key_is_minted_again_and_the_other_stays(own_var: Path) -> None:
    load()
    old = handout(own_var)
    MCPKey.objects.unscoped().filter(scope="read").update(revoked_at=TODAY)
    load(if_empty=True)
    new = handout(own_var)
    assert new["mcp_key_read"] != old["mcp_key_read"]
    assert {**new, "mcp_key_read": ""} == {**old, "mcp_key_read": ""}


def test_another_address_moves_the_addresses_and_keeps_the_keys(
    own_var: Path, settings: LazySettings
) -> None:
    load()
    old = handout(own_var)
    settings.PUBLIC_URL = "http://127.0.0.1:9000"
    load(if_empty=True)
    new = handout(own_var)
    assert new["mcp_url"] == "http://127.0.0.1:9000/api/mcp"
    assert new["mcp_key_read"] == old["mcp_key_read"]
    assert new["password"] == old["password"]


def test_a_reset_begins_from_nothing(own_var: Path) -> None:
    load()
    old = handout(own_var)
    first = Account.objects.get(slug="lumenly").pk
    load(reset=True)
    assert Account.objects.get(slug="lumenly").pk != first
    assert User.objects.filter(email__in=[EMAIL, *COLLEAGUES]).count() == 1 + len(COLLEAGUES)
    assert authenticate_mcp_key(old["mcp_key_read"]) is None
    assert authenticate_mcp_key(handout(own_var)["mcp_key_read"]) is not None


def test_an_account_that_is_not_the_demos_is_left_alone() -> None:
    somebody = User.objects.create_user("ann@example.com", "a long password here")
    create_account(name="Lumenly", slug="lumenly", owner=somebody)
    for reset in (False, True):
        with pytest.raises(CommandError, match="does not own it"):
            load(reset=reset)
    assert Account.objects.get(slug="lumenly").memberships.get().user == somebody
