"""An import that shrinks or doubles a month says so before it replaces it, and a file replaces only whole months."""

from __future__ import annotations

import gzip
import os
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from accounts.models import AuditEntry
from finops.costs import services, tasks
from finops.costs.models import CostImport, CostSource
from finops.costs.queries.sources import load_sources
from finops.costs.services.reviews import WAITING_RETENTION
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.factories.bill_text import bill, line, month_of
from tests.factories.imports import cost_by, import_bill, total, write_bill
from tests.periodic_tasks import run_due

SEPTEMBER = month_of("2026-09", "15.5")  # 30 days, 465.00
OCTOBER = month_of("2026-10", "10")  # 31 days, 310.00
CORRECTION = line("2026-09", 12, "-1", charge_class="Correction", charged="2026-10-02")


def import_upload(cast: Cast, source: CostSource, *lines: Any, run: bool = True) -> CostImport:
    upload = SimpleUploadedFile("bill.csv", bill(*lines).encode())
    job = services.queue_import(source=source, uploads=[upload], actor=cast.actor)
    return run_and_reload(job) if run else job


def run_and_reload(job: CostImport) -> CostImport:
    services.run_import(job.pk)
    job.refresh_from_db()
    return job


def months(cast: Cast) -> dict[str | None, Decimal]:
    return {month: billed for month, (billed, _) in cost_by(cast.account, "billing_period").items()}


def before_and_after(job: CostImport) -> list[tuple[str, str, Decimal, Decimal]]:
    return [
        (each["month"], each["currency"], Decimal(each["billed_before"]), Decimal(each["billed_after"]))
        for each in job.report["changes"]
    ]


def test_an_upload_that_shrinks_a_month_waits_and_changes_nothing(cast: Cast, source: CostSource) -> None:
    import_upload(cast, source, SEPTEMBER)
    job = import_upload(cast, source, month_of("2026-09", "15.5", days=10))
    assert (job.status, job.finished_at, total(cast.account)) == ("waiting", None, Decimal(465))
    assert before_and_after(job) == [("2026-09", "USD", Decimal(465), Decimal(155))]
    assert [review["reason"] for review in job.report["reviews"]] == [
        "2026-09 falls by 66.7 %, from 465.00 USD to 155.00 USD billed."
    ]
    entry = AuditEntry.objects.order_by("pk").last()
    assert entry is not None
    assert (entry.action, entry.detail["changes"][0]["billed_before"]) == (
        "cost_import.wait",
        "465.000000000000000000",
    )
    assert Path(job.files[0]["path"]).exists()


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (month_of("2026-09", "31"), "grows by 100.0 %, from 465.00 USD to 930.00 USD"),
        (month_of("2026-09", "-15.5"), "changes its sign, from 465.00 USD to -465.00 USD"),
        (month_of("2026-09", "14", currency="EUR"), r"falls by 100.0 %.*its lines are now in EUR"),
        (month_of("2026-09", "0"), "falls by 100.0 %"),
    ],
)
def test_an_import_that_doubles_reverses_or_empties_a_month_or_changes_its_currency_waits_for_review(
    lines: list[str], reason: str, cast: Cast, source: CostSource
) -> None:
    import_upload(cast, source, SEPTEMBER)
    job = import_upload(cast, source, lines)
    assert job.status == "waiting"
    assert re.search(reason, job.report["reviews"][0]["reason"])


def test_a_month_that_continues_does_not_wait(cast: Cast, source: CostSource) -> None:
    import_upload(cast, source, month_of("2026-09", days=5))
    assert import_upload(cast, source, month_of("2026-09", days=20)).status == "done"
    assert import_upload(cast, source, month_of("2026-09", "13.5", days=20)).status == "done"


def test_a_waiting_import_is_done_after_its_confirmation(cast: Cast, source: CostSource) -> None:
    import_upload(cast, source, SEPTEMBER)
    job = import_upload(cast, source, month_of("2026-09", "5"))
    services.confirm_import(job=job, actor=cast.actor)
    assert (run_and_reload(job).status, total(cast.account)) == ("done", Decimal(150))
    assert not Path(job.files[0]["path"]).exists()
    assert "cost_import.confirm" in AuditEntry.objects.values_list("action", flat=True)
    with pytest.raises(UserError, match="no longer needs review: it is done"):
        services.discard_import(job=job, actor=cast.actor)


def test_a_confirmed_import_waits_again_when_the_source_has_changed(cast: Cast, source: CostSource) -> None:
    import_upload(cast, source, SEPTEMBER)
    job = import_upload(cast, source, month_of("2026-09", "5"))
    later = import_upload(cast, source, month_of("2026-09", "15"))  # nothing blocks it
    assert (later.status, total(cast.account)) == ("done", Decimal(450))
    services.confirm_import(job=job, actor=cast.actor)
    assert (run_and_reload(job).status, total(cast.account)) == ("waiting", Decimal(450))
    assert "The source changed" in job.report["reviews"][0]["reason"]
    services.confirm_import(job=job, actor=cast.actor)
    assert (run_and_reload(job).status, total(cast.account)) == ("done", Decimal(150))


def test_a_confirmed_import_runs_before_one_that_was_queued_after_it(cast: Cast, source: CostSource) -> None:
    import_upload(cast, source, SEPTEMBER)
    job = import_upload(cast, source, month_of("2026-09", "5"))
    later = import_upload(cast, source, month_of("2026-09", "5.5"), run=False)
    services.confirm_import(job=job, actor=cast.actor)
    assert services.run_import(later.pk) is False
    run_due(tasks.run_due_imports)
    assert total(cast.account) == Decimal(165)


def test_a_confirmed_import_that_is_interrupted_is_continued(cast: Cast, source: CostSource) -> None:
    import_upload(cast, source, SEPTEMBER)
    job = import_upload(cast, source, month_of("2026-09", "5"))
    CostImport.objects.filter(pk=job.pk).update(attempts=3)
    services.confirm_import(job=job, actor=cast.actor)
    CostImport.objects.filter(pk=job.pk).update(status="running")
    run_due(tasks.run_due_imports)
    assert total(cast.account) == Decimal(150)


def test_a_discarded_import_leaves_nothing(
    cast: Cast, source: CostSource, django_capture_on_commit_callbacks: Any
) -> None:
    import_upload(cast, source, SEPTEMBER)
    job = import_upload(cast, source, month_of("2026-09", "5"))
    with django_capture_on_commit_callbacks(execute=True):
        services.discard_import(job=job, actor=cast.actor)
    job.refresh_from_db()
    assert (job.status, Path(job.files[0]["path"]).exists()) == ("discarded", False)
    assert (services.run_import(job.pk), total(cast.account)) == (False, Decimal(465))


def test_a_running_import_cannot_be_discarded(cast: Cast, source: CostSource) -> None:
    job = import_upload(cast, source, SEPTEMBER, run=False)
    CostImport.objects.filter(pk=job.pk).update(status="running")
    with pytest.raises(UserError, match="it is running"):
        services.discard_import(job=job, actor=cast.actor)


def test_the_files_of_a_waiting_import_stay_for_a_month(cast: Cast, source: CostSource) -> None:
    import_upload(cast, source, SEPTEMBER)
    job = import_upload(cast, source, month_of("2026-09", "5"))
    os.utime(job.files[0]["path"], (0, 0))
    tasks.remove_forgotten_uploads()
    assert Path(job.files[0]["path"]).exists()
    with clock.frozen(job.created_at + WAITING_RETENTION * 2):
        tasks.remove_forgotten_uploads()
    job.refresh_from_db()
    assert job.status == "discarded"


def test_a_sync_continues_and_warns(cast: Cast, source: CostSource, tmp_path: Path) -> None:
    import_bill(cast, source, write_bill(tmp_path, bill(SEPTEMBER)))
    job = import_bill(cast, source, write_bill(tmp_path, bill(month_of("2026-09", "5"))))
    assert (job.status, job.origin, total(cast.account)) == ("done", "sync", Decimal(150))
    assert len(job.report["reviews"]) == 1


def test_the_command_refuses_with_a_table_and_continues_on_request(
    cast: Cast, source: CostSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import_bill(cast, source, write_bill(tmp_path, bill(SEPTEMBER)))
    path = str(write_bill(tmp_path, bill(month_of("2026-09", "5"))))
    with pytest.raises(CommandError, match=r"falls by 67.7 %.*add --confirm") as error:
        call_command("import_focus", path, "--account", "acme", "--source", "Bills")
    assert (error.value.returncode, total(cast.account)) == (3, Decimal(465))
    shown = capsys.readouterr().out
    assert "465.00" in shown
    assert "150.00" in shown
    call_command("import_focus", path, "--account", "acme", "--source", "Bills", "--confirm")
    assert total(cast.account) == Decimal(150)


def test_the_command_adds_corrections_on_request(cast: Cast, source: CostSource, tmp_path: Path) -> None:
    import_bill(cast, source, write_bill(tmp_path, bill(SEPTEMBER)))
    path = str(write_bill(tmp_path, bill(month_of("2026-09", "5", days=12), OCTOBER)))
    with pytest.raises(CommandError, match=r"12 lines of 2026-09 on 12 days; the source has 30"):
        call_command("import_focus", path, "--account", "acme", "--source", "Bills")
    call_command(
        "import_focus", path, "--account", "acme", "--source", "Bills", "--confirm", "--as-corrections"
    )
    assert months(cast) == {"2026-09": Decimal(525), "2026-10": Decimal(310)}


def test_the_account_chooses_from_which_change_on(cast: Cast, source: CostSource) -> None:
    services.change_import_review(
        account=cast.account, actor=cast.actor, fall_percent=90, growth_percent=1000, least_amount=Decimal(0)
    )
    import_upload(cast, source, SEPTEMBER)
    assert import_upload(cast, source, month_of("2026-09", "5")).status == "done"
    assert import_upload(cast, source, month_of("2026-09", "0.4")).status == "waiting"


def test_one_correction_of_september_in_octobers_file_does_not_replace_september(
    cast: Cast, source: CostSource
) -> None:
    import_upload(cast, source, SEPTEMBER)
    job = import_upload(cast, source, OCTOBER, CORRECTION)
    assert (job.status, job.months) == ("done", ["2026-10"])
    assert months(cast) == {"2026-09": Decimal(464), "2026-10": Decimal(310)}
    assert [(month["month"], month.get("carried_by", "")) for month in job.report["months"]] == [
        ("2026-09", "2026-10"),
        ("2026-10", ""),
    ]
    assert "Kept as corrections from 2026-10: 1 line of 2026-09 (-1.00 USD)" in job.report["notes"][0]


def test_corrections_are_replaced_with_the_file_that_carries_them_and_stay_when_their_month_is(
    cast: Cast, source: CostSource
) -> None:
    import_upload(cast, source, SEPTEMBER)
    import_upload(cast, source, OCTOBER, CORRECTION)
    again = import_upload(cast, source, month_of("2026-09", "15"))
    assert months(cast) == {"2026-09": Decimal(449), "2026-10": Decimal(310)}
    assert (
        "Corrections of 2026-09 from the import of 2026-10 (-1.00 USD) are kept" in again.report["notes"][0]
    )
    without = import_upload(cast, source, OCTOBER)
    assert months(cast) == {"2026-09": Decimal(450), "2026-10": Decimal(310)}
    assert before_and_after(without)[0] == ("2026-09", "USD", Decimal(449), Decimal(450))


def test_a_stray_line_without_a_class_is_a_correction_too_even_in_a_first_import(
    cast: Cast, source: CostSource
) -> None:
    busy = [line("2026-10", day % 31 + 1, "1") for day in range(60)]
    job = import_upload(cast, source, busy, line("2026-09", 3, "-1"))
    assert (job.status, job.months) == ("done", ["2026-10"])
    import_upload(cast, source, SEPTEMBER)
    assert months(cast) == {"2026-09": Decimal(464), "2026-10": Decimal(60)}
    assert import_upload(cast, source, busy, line("2026-09", 3, "-2")).months == ["2026-10"]
    assert months(cast)["2026-09"] == Decimal(463)


def test_a_file_of_several_whole_months_replaces_them_all(cast: Cast, source: CostSource) -> None:
    import_upload(cast, source, SEPTEMBER, OCTOBER)
    job = import_upload(cast, source, month_of("2026-09", "15"), month_of("2026-10", "11"))
    assert (job.status, job.months) == ("done", ["2026-09", "2026-10"])
    assert months(cast) == {"2026-09": Decimal(450), "2026-10": Decimal(341)}


def test_the_first_days_of_a_new_month_are_no_corrections(cast: Cast, source: CostSource) -> None:
    many = [line("2026-09", day % 30 + 1, "1") for day in range(300)]
    assert import_upload(cast, source, many, line("2026-10", 1, "2")).months == ["2026-09", "2026-10"]


def test_a_part_of_a_month_waits_with_both_choices(cast: Cast, source: CostSource) -> None:
    import_upload(cast, source, SEPTEMBER)
    part = (month_of("2026-09", "15.5", days=12), OCTOBER)
    job = import_upload(cast, source, *part)
    (review,) = job.report["reviews"]
    assert (job.status, review["kind"], review["may_choose"]) == ("waiting", "partial", True)
    services.confirm_import(job=job, actor=cast.actor, choices={"2026-09": "add"})
    assert run_and_reload(job).status == "done"
    assert months(cast) == {"2026-09": Decimal(651), "2026-10": Decimal(310)}
    other = import_upload(cast, source, *part)
    services.confirm_import(job=other, actor=cast.actor, choices={"2026-09": "replace"})
    assert run_and_reload(other).status == "done"
    assert months(cast) == {"2026-09": Decimal(186), "2026-10": Decimal(310)}
    with pytest.raises(UserError):
        services.confirm_import(job=job, actor=cast.actor)


def test_a_file_of_corrections_alone_is_added_once(cast: Cast, source: CostSource) -> None:
    import_upload(cast, source, SEPTEMBER)
    for _ in range(2):
        assert import_upload(cast, source, CORRECTION).months == []
    assert months(cast) == {"2026-09": Decimal(464)}
    import_upload(cast, source, SEPTEMBER)
    assert months(cast) == {"2026-09": Decimal(465)}


def test_a_file_of_another_provider_is_said(cast: Cast, source: CostSource) -> None:
    import_upload(cast, source, SEPTEMBER)
    job = import_upload(cast, source, month_of("2026-10", provider="Azure"))
    assert job.report["notes"] == [
        "The files are of Azure, but the source has AWS. Check that this is the right source."
    ]


def test_corrections_do_not_make_a_month_look_covered(cast: Cast, source: CostSource) -> None:
    busy = [line("2026-10", day % 31 + 1, "1") for day in range(60)]
    import_upload(cast, source, busy, line("2026-08", 3, "-1"))
    coverage = load_sources(cast.account).coverage
    assert (str(coverage.first_day), coverage.sources[source.pk].rows) == ("2026-10-01", 61)


def test_the_same_content_twice_in_one_import_is_refused_naming_both(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    first = write_bill(tmp_path, bill(SEPTEMBER), "a.csv")
    second = tmp_path / "b.csv.gz"
    second.write_bytes(gzip.compress(first.read_bytes()))
    with pytest.raises(UserError, match=r"a\.csv and b\.csv\.gz have the same content"):
        import_bill(cast, source, first, second)
    assert total(cast.account) is None


def test_the_same_content_in_another_source_waits_naming_where_it_is(cast: Cast, source: CostSource) -> None:
    first = import_upload(cast, source, SEPTEMBER)
    other = services.create_cost_source(account=cast.account, name="Other", actor=cast.actor)
    upload = SimpleUploadedFile("copy.csv.gz", gzip.compress(bill(SEPTEMBER).encode()))
    job = run_and_reload(services.queue_import(source=other, uploads=[upload], actor=cast.actor))
    (review,) = job.report["reviews"]
    assert (job.status, review["kind"], review["import_id"]) == ("waiting", "copy", first.pk)
    assert "copy.csv.gz was already imported into Bills as bill.csv" in review["reason"]
    assert total(cast.account) == Decimal(465)
    services.confirm_import(job=job, actor=cast.actor)
    assert (run_and_reload(job).status, total(cast.account)) == ("done", Decimal(930))


def test_content_that_was_replaced_since_is_no_copy(cast: Cast, source: CostSource) -> None:
    import_upload(cast, source, SEPTEMBER)
    import_upload(cast, source, month_of("2026-09", "15"))
    other = services.create_cost_source(account=cast.account, name="Other", actor=cast.actor)
    assert import_upload(cast, other, SEPTEMBER).status == "done"


def test_the_same_content_again_in_its_source_changes_nothing(cast: Cast, source: CostSource) -> None:
    for _ in range(2):
        job = import_upload(cast, source, SEPTEMBER)
    assert (job.status, total(cast.account)) == ("done", Decimal(465))
    assert re.search(r"bill\.csv is unchanged from bill\.csv, imported on", job.report["notes"][0])


def test_the_command_refuses_a_copy_and_accepts_it_on_request(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    path = str(write_bill(tmp_path, bill(SEPTEMBER)))
    call_command("import_focus", path, "--account", "acme", "--source", "Bills")
    with pytest.raises(CommandError, match="was already imported into Bills as focus"):
        call_command("import_focus", path, "--account", "acme", "--source", "Other")
    call_command("import_focus", path, "--account", "acme", "--source", "Other", "--confirm")
    assert total(cast.account) == Decimal(930)
