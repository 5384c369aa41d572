"""The pages of anomalies: list, one, settings, and the part of the overview."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from html import unescape

import pytest
from django.test import Client

from accounts import audit
from accounts.models import Account, AuditEntry, User
from finops.insights.models import Anomaly, AnomalySettings, Incident
from finops.lib import clock
from tests.cast import Cast
from tests.factories.costs import add_source
from tests.factories.dashboards import create_board, widget
from tests.finops.insights.anomalies.bills import bill, run_detection
from tests.pages import csv_rows, text_of

ClientFor = Callable[[User], Client]
LIST = "/a/acme/anomalies/"


def review_of(spike: Anomaly) -> tuple[str, str, User | None]:
    incident = Incident.objects.get(members=spike.pk)
    return incident.state, incident.note, incident.marked_by


def page(spike: Anomaly) -> str:
    return f"{LIST}{spike.key}/"


def test_the_list_shows_open_ones_with_their_impact(
    cast: Cast, spike: Anomaly, client_for: ClientFor
) -> None:
    html = client_for(cast.viewer).get(LIST).content.decode()

    assert page(spike) in html
    assert "Open (1)" in html
    assert 'class="spark"' in html
    assert "vm-2" in html


def test_the_list_by_state_is_empty_without_states(cast: Cast, spike: Anomaly, client_for: ClientFor) -> None:
    html = client_for(cast.viewer).get(f"{LIST}?state=resolved").content.decode()

    assert "No resolved anomaly." in html


def test_the_csv_has_exact_amounts_and_their_currency(
    cast: Cast, spike: Anomaly, client_for: ClientFor
) -> None:
    answer = client_for(cast.viewer).get(f"{LIST}?state=all&format=csv")

    (row,) = csv_rows(answer)
    assert (row["Id"], row["Currency"], row["State"]) == (spike.key, "USD", "open")
    assert Decimal(row["Impact"]) == spike.impact
    assert Decimal(row["Actual"]) - Decimal(row["Expected"]) == spike.impact
    assert "data note" not in row


@pytest.mark.usefixtures("spike")
def test_the_csv_notes_days_on_which_nothing_could_be_detected(cast: Cast, client_for: ClientFor) -> None:
    with clock.frozen(datetime(2026, 3, 25, 12, tzinfo=UTC)):
        (row,) = csv_rows(client_for(cast.viewer).get(f"{LIST}?state=all&format=csv"))

    assert row["data note"] == "Complete days only; no day is complete from 2026-03-20 on."


def test_the_page_has_chart_causes_and_a_link_to_the_explorer(
    cast: Cast, spike: Anomaly, client_for: ClientFor
) -> None:
    html = client_for(cast.viewer).get(page(spike)).content.decode()

    assert "data-chart=" in html
    assert "Normal range" in html
    assert "By resource" in html
    assert "/a/acme/cost-explorer/?start_date=2026-02-10" in html
    (link,) = re.findall(r'href="(/a/acme/cost-explorer/[^"]+)">vm-2<', html)
    answer = client_for(cast.viewer).get(unescape(link))
    assert answer.status_code == 200
    assert "vm-2" in answer.content.decode()
    assert "Only members can review anomalies." in html


def test_list_page_overview_dashboard_and_report_name_it_by_its_root_cause(
    cast: Cast, spike: Anomaly, client_for: ClientFor
) -> None:
    board = create_board(spike.account, "Weekly", widget("anomalies"))
    of_board = f"/a/acme/dashboards/widgets/{board.widgets.get().pk}/"

    client = client_for(cast.viewer)
    for url in (LIST, page(spike), f"{LIST}open/", of_board, "/a/acme/reports/?month=2026-03"):
        assert "Resource: vm-2" in text_of(client.get(url)), url
    assert "Compute" in text_of(client.get(of_board))


def test_the_panel_of_its_resource_names_it(cast: Cast, spike: Anomaly, client_for: ClientFor) -> None:
    days = f"start_date={spike.first_day}&end_date={spike.last_day}"
    url = "/a/acme/cost-explorer/"

    of_cause = client_for(cast.viewer).get(f"{url}?{days}&f0=resource&f0v=vm-2")
    of_other = client_for(cast.viewer).get(f"{url}?{days}&f0=resource&f0v=vm-1")

    assert re.search(r"Compute of Bill cost \$600\.\d\d more than expected", text_of(of_cause))
    assert "more than expected" not in text_of(of_other)


def test_a_member_marks_it_expected_with_a_note(cast: Cast, spike: Anomaly, client_for: ClientFor) -> None:
    answer = client_for(cast.member).post(f"{page(spike)}expect/", {"note": "Load test"}, follow=True)

    spike.refresh_from_db()
    assert answer.status_code == 200
    assert review_of(spike) == ("expected", "Load test", cast.member)
    assert AuditEntry.objects.filter(action="anomaly.expect").exists()
    assert "Load test" in answer.content.decode()


def test_a_note_is_optional(cast: Cast, spike: Anomaly, client_for: ClientFor) -> None:
    answer = client_for(cast.member).post(f"{page(spike)}expect/", {"note": " "})

    spike.refresh_from_db()
    assert answer.status_code == 302
    assert review_of(spike) == ("expected", "", cast.member)


def test_the_chart_shows_the_days_around_with_the_window_shaded_and_changes_numbered(
    cast: Cast, spike: Anomaly, client_for: ClientFor
) -> None:
    with clock.frozen(datetime(2026, 3, 11, 9, tzinfo=UTC)):
        audit.record(
            account=spike.account, actor=cast.actor, action="cost_source.create", target=spike.source.name
        )

    html = client_for(cast.viewer).get(page(spike)).content.decode()

    (text,) = re.findall(r'data-chart="([^"]+)"', html)
    chart = json.loads(unescape(text))
    assert chart["shade"] == ["2026-03-10", "2026-03-11"]
    assert (chart["labels"][0], chart["labels"][-1]) == ("2026-02-24", "2026-03-18")
    assert chart["events"] == [{"label": "2026-03-11", "text": "1"}]
    assert "The cost source Bill was connected." in html


def test_a_member_resolves_and_opens_it_again(cast: Cast, spike: Anomaly, client_for: ClientFor) -> None:
    client = client_for(cast.member)
    client.post(f"{page(spike)}resolve/", {"note": ""})
    spike.refresh_from_db()
    assert spike.state == "resolved"

    client.post(f"{page(spike)}reopen/")

    spike.refresh_from_db()
    assert review_of(spike) == ("open", "", None)


@pytest.mark.parametrize("action", ["expect", "resolve", "reopen"])
def test_a_viewer_marks_nothing(cast: Cast, spike: Anomaly, client_for: ClientFor, action: str) -> None:
    assert client_for(cast.viewer).post(f"{page(spike)}{action}/", {"note": "x"}).status_code == 403


def test_the_overview_sums_open_ones(cast: Cast, spike: Anomaly, client_for: ClientFor) -> None:
    html = client_for(cast.viewer).get(f"{LIST}open/").content.decode()

    assert "Open anomalies (1)" in html
    assert page(spike) in html


def test_without_anything_the_pages_say_what_to_do(cast: Cast, client_for: ClientFor) -> None:
    client = client_for(cast.viewer)

    assert "Detection has not run yet" in client.get(LIST).content.decode()
    assert client.get(f"{LIST}open/").content.strip() == b""


def test_an_account_without_anomalies_says_so(cast: Cast, acme: Account, client_for: ClientFor) -> None:
    add_source(acme, bill())
    assert run_detection(acme) == []

    assert "No anomalies" in client_for(cast.viewer).get(LIST).content.decode()


def test_a_member_sets_watches_and_smallest_impacts(
    cast: Cast, spike: Anomaly, client_for: ClientFor
) -> None:
    client = client_for(cast.member)
    answer = client.post(f"{LIST}settings/", {"watches": ["region", "account"], "minimum_USD": "25.50"})

    row = AnomalySettings.objects.get()
    assert answer.status_code == 302
    assert (row.watches, row.minimum_impacts) == (["region", "account"], {"USD": "25.50"})
    html = client.get(f"{LIST}settings/").content.decode()
    assert 'value="25.50"' in html
    assert len(re.findall(r'value="region"[^>]+checked', html)) == 1


def test_too_many_dimensions_are_refused_at_the_field(
    cast: Cast, spike: Anomaly, client_for: ClientFor
) -> None:
    six = ["region", "account", "provider", "team", "product", "actor"]
    answer = client_for(cast.member).post(f"{LIST}settings/", {"watches": six})

    assert answer.status_code == 422
    assert "dimensions: 6 selected; the maximum is 5." in text_of(answer, status=422)


def test_a_viewer_sees_the_settings_and_changes_nothing(
    cast: Cast, spike: Anomaly, client_for: ClientFor
) -> None:
    client = client_for(cast.viewer)

    assert "Only members can change this." in client.get(f"{LIST}settings/").content.decode()
    assert client.post(f"{LIST}settings/", {"watches": "region"}).status_code == 403
