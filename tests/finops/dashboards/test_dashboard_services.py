"""Making, changing and deleting dashboards: the checks, the cap, the audit log."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.allocation.models import CostTag
from finops.budgets.models import Budget
from finops.dashboards import services
from finops.dashboards.layouts import draft_of, place_of
from finops.dashboards.models import Dashboard, Widget
from finops.dashboards.placement import Place
from finops.dashboards.widgets import CATALOGUE
from finops.lib.errors import UserError
from finops.unitcosts.models import UnitMetric
from tests.cast import ACTOR, Cast, make_cast
from tests.factories.dashboards import REQUIRED_SETTINGS, create_board, widget
from tests.waiting import is_blocking_others, threads, wait_until

pytestmark = pytest.mark.django_db


def positions(dashboard: Dashboard) -> list[tuple[int, int, int, int]]:
    return [(each.x, each.y, each.w, each.h) for each in dashboard.widgets.all()]


def test_a_board_is_made_with_its_widgets_and_written_into_the_audit_log(acme: Account) -> None:
    dashboard = create_board(
        acme, " Weekly ", widget("total"), widget("spend_by", (6, 0, 6, 4), title="By service")
    )

    assert (dashboard.name, dashboard.is_shared) == ("Weekly", True)
    assert positions(dashboard) == [(0, 0, 3, 3), (6, 0, 6, 4)]
    entry = AuditEntry.objects.get(action="dashboard.create")
    assert entry.target == "Weekly"
    assert entry.detail["widgets"][1] == 'By service (spend_by), 6 x 4 at 6, 0: {"group_by":["service"]}'


def test_the_checks_of_every_type_pass_with_the_least_settings(acme: Account) -> None:
    UnitMetric.objects.create(name="Per request", usage_metric="requests")
    CostTag.objects.create(key="env")

    dashboard = create_board(
        acme, "All", *[widget(name, **REQUIRED_SETTINGS.get(name, {})) for name in CATALOGUE]
    )

    assert [each.type for each in dashboard.widgets.all()] == list(CATALOGUE)


def test_a_name_that_is_taken_names_the_board_that_has_it(acme: Account, cast: Cast) -> None:
    first = create_board(acme, "Weekly")
    create_board(cast.other_account, "Weekly")
    own_board = create_board(acme, "Weekly", owner=cast.member)
    create_board(acme, "Weekly", owner=cast.owner)

    with pytest.raises(UserError, match=f"'Weekly' already exists with id {first.pk}"):
        create_board(acme, "wEEKLY")
    with pytest.raises(UserError, match=f"'Weekly' already exists with id {own_board.pk}"):
        create_board(acme, "Weekly", owner=cast.member)
    with pytest.raises(ValidationError, match="Enter a name"):
        create_board(acme, " ")


def test_the_cap_counts_shared_boards_of_the_account_alone(acme: Account, cast: Cast) -> None:
    dashboards = [create_board(acme, f"Board {number}") for number in range(20)]
    create_board(acme, "Mine", owner=cast.member)
    create_board(cast.other_account, "Theirs")

    with pytest.raises(UserError, match="20 shared dashboards; the maximum is 20"):
        create_board(acme, "One more")
    with pytest.raises(UserError, match="already exists with id"):
        create_board(acme, "Board 3")
    services.delete_dashboard(dashboard=dashboards[0], actor=ACTOR)
    create_board(acme, "One more")


def test_sharing_a_personal_board_needs_a_place(acme: Account, cast: Cast, settings: LazySettings) -> None:
    settings.DASHBOARDS_PER_ACCOUNT = 1
    create_board(acme, "Shared")
    own_board = create_board(acme, "Mine", owner=cast.member)

    with pytest.raises(UserError, match="The account has 1 shared dashboards; the maximum is 1"):
        services.change_dashboard(dashboard=own_board, actor=ACTOR, name="Mine", owner=None)
    settings.DASHBOARDS_PER_ACCOUNT = 2
    services.change_dashboard(dashboard=own_board, actor=ACTOR, name="Ours", owner=None)

    assert sorted(Dashboard.objects.filter(owner=None).values_list("name", flat=True)) == ["Ours", "Shared"]


@pytest.mark.django_db(transaction=True)
def test_one_of_two_concurrent_creates_at_the_limit_succeeds(settings: LazySettings) -> None:
    settings.DASHBOARDS_PER_ACCOUNT = 2
    account = make_cast().account
    create_board(account, "There")

    with threads(1) as call:
        with transaction.atomic():
            create_board(account, "First")
            second = call(create_board, account, "Second")
            wait_until(is_blocking_others)
        with pytest.raises(UserError, match="2 shared dashboards; the maximum is 2"):
            second.result()

    with account_scope(account):
        assert sorted(Dashboard.objects.values_list("name", flat=True)) == ["First", "There"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            widget("total", (0, 0, 3, 3), title="Twin"),
            r"widgets\[0\] 'Total with change' and widgets\[1\] 'Twin'",
        ),
        (widget("total", (10, 5, 3, 3)), "the dashboard has 12 columns"),
        (
            widget("spend_by", group_by=["servise"]),
            r"widgets\[1\] 'Spend by': group_by: 'servise' .*Nearest: .*service",
        ),
        (widget("budget_status", budgets=[12345]), "budgets: 12345 does not exist"),
        (
            widget("unit_cost", unit_metric="None such"),
            "unit_metric: 'None such' does not exist.*listUnitMetrics",
        ),
        (widget("cost_tag_breakdown", cost_tag="nope"), "cost_tag: 'nope' does not exist.*listCostTags"),
        (widget("usage", usage_metric="requests"), "usage_metric: 'requests' does not exist"),
        (
            widget("usage", group_by=["region"]),
            ("group_by: 'region' is not valid. Use customer, dimension"),
        ),
        (
            widget("anomalies", minimum_impact=5),
            ("currency: set the currency of minimum_impact, such as USD."),
        ),
        (widget("text", text="a\x00b"), "NUL"),
        (widget("total", title="x" * 101), "at most 100 characters"),
    ],
    ids=[
        "twin",
        "beyond",
        "dimension",
        "budget",
        "unit metric",
        "cost tag",
        "metric",
        "group",
        "amount",
        "nul",
        "title",
    ],
)
def test_one_bad_widget_refuses_the_whole_board(acme: Account, bad: Any, message: str) -> None:
    there = create_board(acme, "There", widget("total"))
    entries = AuditEntry.objects.count()

    with pytest.raises(UserError, match=message):
        create_board(acme, "New", widget("total", (0, 0, 3, 3)), bad)
    with pytest.raises(UserError, match=message):
        services.set_dashboard_widgets(
            dashboard=there, actor=ACTOR, widgets=[widget("total", (0, 0, 3, 3)), bad]
        )

    assert list(Dashboard.objects.values_list("name", flat=True)) == ["There"]
    assert positions(there) == [(0, 0, 3, 3)]
    assert AuditEntry.objects.count() == entries


def test_a_budget_of_another_account_is_as_one_that_does_not_exist(acme: Account, cast: Cast) -> None:
    with account_scope(cast.other_account):
        foreign_budget = Budget.objects.create(name="Theirs", amount=1, currency="USD").pk

    message = []
    for pk in (foreign_budget, foreign_budget + 1):
        with pytest.raises(UserError) as problem:
            create_board(acme, "New", widget("budget_status", budgets=[pk]))
        message.append(problem.value.message.replace(str(pk), "N"))

    assert message[0] == message[1]


def test_forty_widgets_fit_on_a_board_and_no_more(acme: Account) -> None:
    dashboard = create_board(acme, "Full", *[widget("text")] * 40)

    assert dashboard.widgets.count() == 40
    with pytest.raises(UserError, match="41 widgets; the maximum is 40"):
        services.add_widget(dashboard=dashboard, actor=ACTOR, widget=widget("text"))


def test_a_layout_too_long_for_an_answer_is_refused_and_says_what_to_shorten(acme: Account) -> None:
    long = [widget("text", title=f"Note {number}", text="é" * (900 + number)) for number in range(10)]

    with pytest.raises(
        UserError,
        match=r"the layout has 19,180 bytes; the maximum is 18,000\. The longest is widgets\[9\] 'Note 9'",
    ):
        create_board(acme, "Long", *long)


def test_the_same_widgets_again_change_nothing(acme: Account) -> None:
    dashboard = create_board(
        acme, "Weekly", widget("total"), widget("table", (2, 1, 8, 4)), widget("text", text="Hello")
    )
    rows, entries = list(Widget.objects.values()), AuditEntry.objects.count()
    drafts = [draft_of(each) for each in dashboard.widgets.all()]

    after = services.set_dashboard_widgets(dashboard=dashboard, actor=ACTOR, widgets=drafts)

    assert after.changed_at == dashboard.changed_at
    assert (list(Widget.objects.values()), AuditEntry.objects.count()) == (rows, entries)


def test_a_board_can_be_given_back_when_a_budget_of_it_is_gone(acme: Account) -> None:
    budget = Budget.objects.create(name="Gone soon", amount=1, currency="USD")
    dashboard = create_board(acme, "Weekly", widget("budget_status", budgets=[budget.pk]))
    budget.delete()
    drafts = [draft_of(each) for each in dashboard.widgets.all()]

    services.set_dashboard_widgets(dashboard=dashboard, actor=ACTOR, widgets=[*drafts, widget("total")])

    assert dashboard.widgets.count() == 2


def test_widgets_keep_their_rows_when_others_are_added_moved_and_removed(acme: Account) -> None:
    dashboard = create_board(acme, "Weekly", widget("total"), widget("spend_by"), widget("text"))
    first, second, third = (each.pk for each in dashboard.widgets.all())

    services.move_widgets(
        dashboard=dashboard, actor=ACTOR, places={first: Place(3, 0, 3, 3), second: Place(0, 0, 3, 3)}
    )
    services.change_widget(
        dashboard=dashboard, actor=ACTOR, widget_id=second, widget=widget("spend_by", limit=3)
    )
    services.remove_widget(dashboard=dashboard, actor=ACTOR, widget_id=third)
    services.add_widget(dashboard=dashboard, actor=ACTOR, widget=widget("total"))

    rows = list(dashboard.widgets.all())
    assert [row.pk for row in rows[:2]] == [first, second]
    assert [place_of(row) for row in rows] == [Place(3, 0, 3, 3), Place(0, 0, 3, 3), Place(6, 0, 3, 3)]
    assert rows[1].config == {"group_by": ["service"], "limit": 3}
    with pytest.raises(UserError, match=r"The widget no longer exists\. Reload the page"):
        services.remove_widget(dashboard=dashboard, actor=ACTOR, widget_id=third)


def test_a_personal_board_is_in_the_audit_log_without_its_name(acme: Account, cast: Cast) -> None:
    own_board = create_board(acme, "My secret plan", widget("text", text="secret"), owner=cast.member)
    services.delete_dashboard(dashboard=own_board, actor=ACTOR)

    entries = [(entry.action, entry.target, entry.detail) for entry in AuditEntry.objects.order_by("pk")]
    assert ("dashboard.create", "a personal dashboard", {}) in entries
    assert "secret" not in str(entries)


def test_a_board_that_is_gone_says_so(acme: Account) -> None:
    dashboard = create_board(acme, "Weekly")
    pk = dashboard.pk
    assert services.delete_dashboard(dashboard=dashboard, actor=ACTOR) == pk

    deleted_board = Dashboard(pk=pk, account=acme, name="Weekly")
    with pytest.raises(UserError, match="was already deleted"):
        services.delete_dashboard(dashboard=deleted_board, actor=ACTOR)
    with pytest.raises(UserError, match="was already deleted"):
        services.set_dashboard_widgets(dashboard=deleted_board, actor=ACTOR, widgets=[])
