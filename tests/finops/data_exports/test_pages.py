"""The pages of data exports: who may do what, what the wizard refuses, and that no secret is ever shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import AuditEntry, Membership
from accounts.scoping import account_scope
from finops.cost_access.services import create_limit, limit_member
from finops.costs.spend_query import CostFilter
from finops.data_exports.models import DataExport
from finops.data_exports.services.credentials import config_of
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source
from tests.finops.data_exports.bills import Bucket, lines
from tests.pages import get_page, text_of

LIST = "/a/acme/connections/exports/"
NEW = f"{LIST}new/?destination=s3"


def form(of: Bucket, **changes: Any) -> dict[str, Any]:
    """As the page sends it: all columns of the console, none of FOCUS that may be left out but two."""
    return {
        "name": "focus",
        **of.values,
        "addressing": "path",
        "role_arn": "",
        "schedule": "hourly",
        "console_columns": ["x_Team", "x_CostSource"],
        "focus_columns": ["ResourceId", "Tags"],
        "with_splits": "on",
        **changes,
    }


def test_an_admin_creates_an_export_and_changes_it(bucket: Bucket) -> None:
    client = signed_in(bucket.cast.admin)
    assert "Amazon S3" in get_page(client, f"{LIST}new/")
    assert "s3:PutObject" in get_page(client, NEW)

    created = client.post(NEW, form(bucket))

    export = DataExport.objects.get()
    assert created.headers["Location"] == f"{LIST}{export.pk}/"
    assert {"RegionId", "x_Actor", "x_*"} <= set(export.excluded_columns)
    assert not {"BilledCost", "ResourceId", "Tags", "x_Team"} & set(export.excluded_columns)
    assert "secret_access_key" not in export.config

    edit = f"{LIST}{export.pk}/edit/"
    page = client.get(edit).content.decode()
    assert 'value="finops"' in page
    assert 'name="secret_access_key" value' not in page
    changed = client.post(edit, form(bucket, schedule="daily", secret_access_key="", folder="other"))

    export.refresh_from_db()
    assert (changed.status_code, export.schedule, export.config["folder"]) == (302, "daily", "other")
    config: Any = config_of(export)
    assert config.secret_access_key == bucket.values["secret_access_key"]


def test_runs_and_months_are_shown_with_the_first_error(bucket: Bucket) -> None:
    add_source(bucket.account, lines())
    export = bucket.create()
    bucket.run(export)
    bucket.s3.client.delete_object(Bucket=bucket.s3.name, Key="finops/focus/metadata/export.json")
    bucket.s3.put("finops/focus/metadata/export.json", b"{}")
    bucket.run(export)
    client = signed_in(bucket.cast.viewer)

    page, listing = get_page(client, f"{LIST}{export.pk}/"), get_page(client, LIST)

    assert "3 written" in page
    assert "cannot be read as a manifest" in page
    assert "Failing" in listing
    assert "Run now" not in page
    assert "New data export" not in listing


@pytest.mark.parametrize("person", ["member", "viewer"])
def test_members_and_viewers_change_no_export(bucket: Bucket, person: str) -> None:
    export = bucket.create()
    client = signed_in(getattr(bucket.cast, person))

    assert client.get(NEW).status_code == 403
    assert client.post(NEW, form(bucket, name="second")).status_code == 403
    for action in ("run", "pause", "resume", "delete", "edit"):
        assert client.post(f"{LIST}{export.pk}/{action}/").status_code == 403
    assert DataExport.objects.count() == 1
    assert client.get(f"{LIST}{export.pk}/").status_code == 200


@pytest.mark.parametrize("person", ["member", "owner"])
def test_a_run_is_canceled_by_a_button_that_asks_first(bucket: Bucket, person: str) -> None:
    export = bucket.create()
    run = export.runs.get()
    client = signed_in(getattr(bucket.cast, person))
    url = f"{LIST}runs/{run.pk}/cancel/"
    assert 'data-confirm="Cancel this run?"' in client.get(f"{LIST}{export.pk}/").content.decode()

    page = client.post(url, follow=True)

    run.refresh_from_db()
    assert run.status == "canceled"
    assert "Run canceled." in text_of(page)
    assert url not in page.content.decode()
    assert "can no longer be canceled" in text_of(client.post(url, follow=True))
    assert AuditEntry.objects.get(action="data_export.cancel_run").target == "focus"


def test_a_viewer_cancels_no_run(bucket: Bucket) -> None:
    export = bucket.create()
    run = export.runs.get()
    client = signed_in(bucket.cast.viewer)

    assert "Cancel run" not in get_page(client, f"{LIST}{export.pk}/")
    assert client.post(f"{LIST}runs/{run.pk}/cancel/").status_code == 403
    run.refresh_from_db()
    assert run.status == "queued"


def test_limited_cost_access_opens_no_page_of_exports(bucket: Bucket) -> None:
    export = bucket.create()
    limit = create_limit(
        account=bucket.account,
        actor=bucket.cast.actor,
        name="Core",
        alternatives=[[CostFilter(dimension="service", values=["Compute"])]],
    )
    membership = Membership.objects.get(account=bucket.account, user=bucket.cast.member)
    limit_member(membership=membership, limit=limit, actor=bucket.cast.actor)
    client = signed_in(bucket.cast.member)

    for url in (LIST, f"{LIST}{export.pk}/", NEW):
        assert client.get(url).status_code == 403
    assert client.post(f"{LIST}{export.pk}/run/").status_code == 403
    assert client.post(f"{LIST}runs/{export.runs.get().pk}/cancel/").status_code == 403


def test_buttons_queue_pause_resume_and_delete(bucket: Bucket) -> None:
    export = bucket.create()
    client = signed_in(bucket.cast.owner)
    url = f"{LIST}{export.pk}/"

    assert "queued or running" in text_of(client.post(f"{url}run/", follow=True))
    assert "Data export paused." in text_of(client.post(f"{url}pause/", follow=True))
    assert DataExport.objects.get().paused_at
    assert "Data export resumed." in text_of(client.post(f"{url}resume/", follow=True))
    assert "Its files stay in the bucket." in text_of(client.post(f"{url}delete/", follow=True))
    assert not DataExport.objects.exists()
    actions = AuditEntry.objects.filter(action__startswith="data_export").values_list("action", flat=True)
    assert {"data_export.pause", "data_export.resume", "data_export.delete"} <= set(actions)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"name": "../other"}, "Invalid format. For example: focus"),
        ({"name": ""}, "Enter a name."),
        ({"bucket": "UPPER"}, "Invalid format. For example: acme-finops"),
        ({"folder": "a/../b"}, "Invalid format. For example: finops"),
        ({"schedule": "never"}, "Select a valid choice"),
        ({"focus_columns": ["Nothing"]}, "Select a valid choice"),
        ({"access_key_id": ""}, "Enter the access key ID."),
    ],
)
def test_an_invalid_value_is_refused_at_its_field(
    bucket: Bucket, changes: dict[str, Any], error: str
) -> None:
    answer = signed_in(bucket.cast.owner).post(NEW, form(bucket, **changes))

    assert DataExport.objects.count() == 0
    assert error in text_of(answer, status=422)


def test_a_name_is_used_once(bucket: Bucket) -> None:
    bucket.create()
    answer = signed_in(bucket.cast.owner).post(NEW, form(bucket))

    assert answer.status_code == 422
    assert "A data export with this name already exists." in text_of(answer, status=422)


def test_any_text_in_the_form_is_an_answer(bucket: Bucket) -> None:
    client = signed_in(bucket.cast.owner)
    fields = st.sampled_from(
        [
            "name",
            "bucket",
            "folder",
            "endpoint",
            "region",
            "access",
            "schedule",
            "console_columns",
            "role_arn",
        ]
    )

    @given(st.dictionaries(fields, st.text(max_size=40)))
    def post(values: dict[str, str]) -> None:
        assert client.post(NEW, form(bucket, **values)).status_code in (302, 422)

    post()
    with account_scope(bucket.account):
        assert all(row.name == row.name.strip("/") for row in DataExport.objects.all())


def test_a_stranger_sees_no_export(bucket: Bucket, cast: Cast) -> None:
    export = bucket.create()
    client = signed_in(cast.stranger)

    assert client.get(f"{LIST}{export.pk}/").status_code == 404
    assert client.get(f"/a/elsewhere/connections/exports/{export.pk}/").status_code == 404
