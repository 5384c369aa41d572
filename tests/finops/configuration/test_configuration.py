"""Configuration as code: a file of an account is planned, applied whole or not at all, and the same again changes nothing."""

from __future__ import annotations

from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.allocation.models import CostTag, Team
from finops.allocation.services.cost_tags import cost_tag_from_yaml, create_cost_tag
from finops.allocation.services.teams import create_team, own_value
from finops.budgets.models import Budget
from finops.configuration.services import (
    apply_configuration,
    export_configuration,
    plan_configuration,
)
from finops.dashboards.models import Dashboard
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast
from tests.factories.budgets import cost_tag_scope, create_budget, team_scope
from tests.isolation.discovery import fingerprint

KIND_NAMES = (
    *("teams", "cost_tags", "keys", "splits", "unit_metrics", "ai_prices", "saved_views", "budgets"),
    *("dashboards", "alerts"),
)
FILE = """\
version: 1
teams:
  - name: Core
    values: [core, platform]
cost_tags:
  - key: b
    rules:
      - {value: shared, when: {dimension: "cost_tag:a", op: in, values: [x]}}
  - key: a
    rules:
      - {value: x, when: {dimension: service, op: in, values: [Compute]}}
budgets:
  - {name: Core, amount: 1500.50, currency: USD, team: Core}
  - {name: Tag, amount: 10, currency: USD, frequency: yearly, cost_tag: a, cost_tag_value: x}
"""


@pytest.fixture
def account_with_objects(acme: Account) -> Account:
    team = create_team(account=acme, actor=ACTOR, name="Core", description="Runs it.")
    own_value(team=team, actor=ACTOR, value="core")
    draft = cost_tag_from_yaml(
        "key: env\ndefault_value: none\nrules:\n  - {value: no, when: {dimension: service, op: in, values: [Compute]}}\n"
    )
    create_cost_tag(account=acme, actor=ACTOR, key=draft.key, rules=draft.rules, default_value="none")
    create_budget(acme, "Everything", "1000.50", warning_percent=70)
    create_budget(acme, "Of the team", 20, period="quarterly", scope=team_scope("Core"))
    create_budget(acme, "Of the tag", 30, scope=cost_tag_scope("env", "no"))
    return acme


def lines(account: Account, text: str, *, delete: bool = False) -> list[str]:
    return [
        f"{each.action} {each.kind} {each.name}" for each in plan_configuration(account, text, delete=delete)
    ]


def test_an_export_makes_an_empty_account_equal_and_changes_nothing_of_its_own(
    cast: Cast, account_with_objects: Account
) -> None:
    text = export_configuration(account_with_objects)

    assert plan_configuration(account_with_objects, text, delete=True) == []
    changes = apply_configuration(account=cast.other_account, actor=ACTOR, text=text)

    assert {each.action for each in changes} == {"create"}
    assert len(changes) == 5
    assert export_configuration(cast.other_account) == text
    assert apply_configuration(account=cast.other_account, actor=ACTOR, text=text, delete=True) == []


def test_a_file_by_hand_is_applied_in_the_order_that_its_rows_need(acme: Account) -> None:
    apply_configuration(account=acme, actor=ACTOR, text=FILE)

    assert Budget.objects.get(name="Core").amount == Decimal("1500.50")
    assert plan_configuration(acme, FILE) == []


BOARD = """\
version: 1
dashboards:
  - name: Weekly
    widgets:
      - {type: budget_status, title: Ours, config: {budgets: [Core]}, position: {x: 0, y: 0, w: 4, h: 4}}
"""


def test_a_dashboard_names_its_budgets(cast: Cast, acme: Account) -> None:
    apply_configuration(account=acme, actor=ACTOR, text=FILE)

    apply_configuration(account=acme, actor=ACTOR, text=BOARD)

    (widget,) = Dashboard.objects.get(name="Weekly").widgets.all()
    assert widget.config["budgets"] == [Budget.objects.get(name="Core").pk]
    assert plan_configuration(acme, BOARD) == []
    with pytest.raises(UserError, match=r"^dashboards: budgets: 'Core' does not exist"):
        apply_configuration(account=cast.other_account, actor=ACTOR, text=BOARD)
    with pytest.raises(UserError, match=r"^dashboards, entry 1: type: 'clock' does not exist"):
        plan_configuration(acme, BOARD.replace("budget_status", "clock"))


def test_a_plan_writes_nothing_and_names_what_differs(acme: Account) -> None:
    apply_configuration(account=acme, actor=ACTOR, text=FILE)
    before = fingerprint()

    (change,) = plan_configuration(acme, FILE.replace("1500.50", "1600"))

    assert (change.action, change.kind, change.name, change.fields) == (
        "change",
        "budgets",
        "Core",
        ["amount"],
    )
    assert fingerprint() == before


def test_rows_that_a_file_leaves_out_stay_unless_deletion_is_requested(account_with_objects: Account) -> None:
    text = "version: 1\nbudgets:\n  - {name: everything, amount: 5, currency: USD}\n"

    assert lines(account_with_objects, text) == ["change budgets everything"]
    apply_configuration(account=account_with_objects, actor=ACTOR, text=text, delete=True)

    assert [budget.name for budget in Budget.objects.all()] == ["everything"]
    assert Team.objects.count() == 1  # no kind of the file


def test_a_value_moves_from_one_team_to_another(acme: Account) -> None:
    apply_configuration(account=acme, actor=ACTOR, text=FILE)
    text = FILE.replace("values: [core, platform]", "values: [core]").replace(
        "cost_tags:", "  - name: Platform\n    values: [platform]\ncost_tags:"
    )

    apply_configuration(account=acme, actor=ACTOR, text=text)

    assert plan_configuration(acme, text) == []
    assert {each.value for each in Team.objects.get(name="Platform").values.all()} == {"platform"}


def test_a_team_with_a_new_name_takes_over_the_values_of_the_one_that_is_deleted(acme: Account) -> None:
    apply_configuration(account=acme, actor=ACTOR, text=FILE)
    text = FILE.replace("name: Core\n", "name: Base\n").replace("team: Core", "team: Base")

    assert lines(acme, text, delete=True) == ["create teams Base", "delete teams Core", "change budgets Core"]
    apply_configuration(account=acme, actor=ACTOR, text=text, delete=True)

    assert {each.value for each in Team.objects.get(name="Base").values.all()} == {"core", "platform"}
    assert plan_configuration(acme, text, delete=True) == []


def test_a_plan_refuses_what_applying_would(acme: Account) -> None:
    before = fingerprint()

    with pytest.raises(UserError, match=r"^budgets: team: 'Nobody' does not exist"):
        plan_configuration(acme, FILE.replace("team: Core", "team: Nobody"))

    assert fingerprint() == before


def test_a_refused_write_changes_nothing(acme: Account) -> None:
    before = fingerprint()

    with pytest.raises(UserError, match=r"^budgets: team: 'Nobody' does not exist"):
        apply_configuration(account=acme, actor=ACTOR, text=FILE.replace("team: Core", "team: Nobody"))

    assert fingerprint() == before


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("teams: []", "must begin with version: 1"),
        ("version: 2", "must begin with version: 1"),
        ("version: 1\ncolours: []", "colours.* does not exist"),
        ("version: 1\nteams: Core", "teams must be a list"),
        ("version: 1\nteams:\n  - {name: A}\n  - {name: a}", "teams, entry 2: 'a' is in the file twice"),
        ("version: 1\nteams:\n  - {nom: A}", "teams, entry 1: .*nom"),
        ("version: 1\nbudgets:\n  - {name: A, amount: much, currency: USD}", "budgets, entry 1: .*amount"),
        ("version: 1\ncost_tags:\n  - {key: a, rules: [{when: 1}]}", "cost_tags, entry 1: "),
        (
            "version: 1\nsaved_views:\n  - {name: A, question: {group_by: [service], top: 5}}",
            'saved_views, entry 1: question.top does not exist. It is called "limit"',
        ),
        (
            "version: 1\nsaved_views:\n  - {name: A, question: {filters: [{dimension: service, value: EC2}]}}",
            r"entry 1: question.filters\[0\].value does not exist. Nearest: values",
        ),
        (
            (
                "version: 1\ndashboards:\n  - {name: A, widgets: [{type: usage, position: {x: 0, y: 0, w: 4, h: 4},"
                " config: {metric: requests}}]}"
            ),
            r'entry 1: widgets\[0\].config.metric does not exist. It is called "usage_metric"',
        ),
        (
            "version: 1\nunit_metrics:\n  - {name: A, metric: requests}",
            'entry 1: metric does not exist. It is called "usage_metric"',
        ),
        (
            "version: 1\nbudgets:\n  - {name: A, amount: 1, currency: USD, period: monthly}",
            'entry 1: period does not exist. It is called "frequency"',
        ),
        ("version: &a 1", "anchor or alias"),
        ("version: [", "not YAML"),
    ],
)
def test_a_file_that_cannot_be_is_refused_with_the_entry(acme: Account, text: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        plan_configuration(acme, text)


def test_other_spellings_of_a_name_are_no_change_and_write_nothing(acme: Account) -> None:
    apply_configuration(account=acme, actor=ACTOR, text=FILE)
    entries = AuditEntry.objects.filter(account=acme).count()
    text = FILE.replace("team: Core", "team: core").replace("currency: USD", "currency: usd")

    assert plan_configuration(acme, text) == []
    assert apply_configuration(account=acme, actor=ACTOR, text=text) == []

    assert AuditEntry.objects.filter(account=acme).count() == entries


def test_cost_tags_are_deleted_after_those_that_use_them(acme: Account) -> None:
    apply_configuration(account=acme, actor=ACTOR, text=FILE)

    apply_configuration(
        account=acme, actor=ACTOR, text="version: 1\nbudgets: []\ncost_tags: []\n", delete=True
    )

    assert CostTag.objects.count() == 0


def test_the_key_of_a_cost_tag_keeps_its_spelling(acme: Account) -> None:
    apply_configuration(account=acme, actor=ACTOR, text=FILE)

    with pytest.raises(UserError, match=r"Cost tag 'B' exists as 'b'\. Write its key so\."):
        apply_configuration(account=acme, actor=ACTOR, text=FILE.replace("key: b", "key: B"))


def test_each_row_is_audited_as_the_services_do(acme: Account) -> None:
    apply_configuration(account=acme, actor=ACTOR, text=FILE)

    actions = set(AuditEntry.objects.filter(account=acme).values_list("action", flat=True))
    assert actions >= {"team.create", "team_value.own", "cost_tag.create", "budget.create"}


def test_another_accounts_rows_are_neither_exported_nor_named(
    cast: Cast, account_with_objects: Account
) -> None:
    with account_scope(cast.other_account):
        exported = yaml.safe_load(export_configuration(cast.other_account))
        with pytest.raises(UserError, match="does not exist") as refusal:
            apply_configuration(
                account=cast.other_account,
                actor=ACTOR,
                text="version: 1\nbudgets:\n  - {name: A, amount: 1, currency: USD, team: Cor}\n",
            )

    assert exported == {key: [] for key in KIND_NAMES} | {"version": "1"}
    assert "Nearest" not in refusal.value.message


def test_the_command_exports_plans_and_applies(account_with_objects: Account, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        out = StringIO()
        call_command("configuration", *arguments, stdout=out)
        return out.getvalue()

    path = tmp_path / "finops.yaml"
    path.write_text(run("export", "acme"))
    assert run("plan", "acme", str(path)) == "No changes.\n"
    path.write_text(path.read_text().replace("Runs it.", "Runs all."))

    assert run("plan", "acme", str(path)) == "change teams Core: description\n"
    assert run("apply", "acme", str(path)) == "change teams Core: description\n"
    assert run("apply", "acme", str(path)) == "No changes.\n"
    assert list(yaml.safe_load(run("export", "acme", "--kind", "teams"))) == ["version", "teams"]
    path.write_text("version: 1\nteams: no")
    with pytest.raises(CommandError, match="Nothing was changed"):
        run("apply", "acme", str(path))
    (tmp_path / "latin-1.yaml").write_bytes("version: 1  # é".encode("latin-1"))
    with pytest.raises(CommandError, match="is not a text file in UTF-8"):
        call_command("configuration", "plan", "acme", str(tmp_path / "latin-1.yaml"))
    with pytest.raises(CommandError, match="does not exist"):
        run("export", "nobody")
