"""Making, changing and deleting splits; each thing that is refused says why."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from accounts.models import Account, AuditEntry
from finops.allocation.models import SharedCostSplit
from finops.allocation.services import splits as services
from finops.allocation.services.splits import SplitDraft, create_split, delete_split, save_split
from finops.costs.models import CostView
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.factories.costs import add_source, cost
from tests.factories.usage import add_metrics, event

DAY = date(2026, 3, 2)
CLUSTER = SplitDraft(
    name="Cluster",
    dimension="tag:app",
    source_value="cluster",
    method="even",
    targets=[("web", ""), ("api", "")],
)


@pytest.fixture
def payer(acme: Account) -> Account:
    """Cost with a tag, and a metric."""
    add_source(acme, [cost(DAY, 3, tags={"app": "cluster"})])
    add_metrics(acme, [event(DAY, "globex", 1)])
    return acme


def create_cluster_split(cast: Cast, **changes: Any) -> SharedCostSplit:
    return create_split(account=cast.account, actor=cast.actor, draft=replace(CLUSTER, **changes))


def refusal_of(cast: Cast, **changes: Any) -> str:
    with pytest.raises(UserError) as problem:
        create_cluster_split(cast, **{"name": "Another", **changes})
    return problem.value.message


def test_a_split_is_kept_as_it_was_said(payer: Account, cast: Cast) -> None:
    split = create_cluster_split(cast, method="fixed", targets=[("web", "33.30"), ("api", "66,7 %")])

    assert split.targets == [{"value": "web", "percent": "33.3"}, {"value": "api", "percent": "66.7"}]
    assert (split.dimension, split.source_value, split.usage_metric) == ("tag:app", "cluster", "")
    entry = AuditEntry.objects.get(account=payer, action="split.create")
    assert (entry.target, entry.detail["targets"]) == ("Cluster", split.targets)


def test_fields_of_other_methods_are_left_out(payer: Account, cast: Cast) -> None:
    even = create_cluster_split(
        cast, every_customer=True, usage_metric="requests", targets=[("web", "40"), ("api", "1")]
    )
    by_usage = create_cluster_split(
        cast,
        name="By use",
        source_value="db",
        method="usage",
        usage_metric=" Requests",
        every_customer=True,
        targets=[("old", "")],
    )

    assert (even.every_customer, even.usage_metric, even.targets[0]["percent"]) == (False, "", None)
    assert (by_usage.every_customer, by_usage.usage_metric, by_usage.targets) == (True, "requests", [])


def test_a_changed_split_says_both_in_the_audit_log(payer: Account, cast: Cast) -> None:
    split = create_cluster_split(cast)

    save_split(split=split, actor=cast.actor, draft=replace(CLUSTER, targets=[("web", "")], valid_from=DAY))

    split.refresh_from_db()
    assert ([target["value"] for target in split.targets], split.valid_from) == (["web"], DAY)
    detail = AuditEntry.objects.get(account=payer, action="split.change").detail
    assert [len(detail["from"]["targets"]), len(detail["to"]["targets"])] == [2, 1]


def test_a_deleted_split_is_gone_once(payer: Account, cast: Cast) -> None:
    split = create_cluster_split(cast)

    delete_split(split=split, actor=cast.actor)

    assert not SharedCostSplit.objects.exists()
    assert AuditEntry.objects.filter(account=payer, action="split.delete", target="Cluster").exists()
    with pytest.raises(UserError, match="was already deleted"):
        delete_split(split=split, actor=cast.actor)
    with pytest.raises(UserError, match="was already deleted"):
        save_split(split=split, actor=cast.actor, draft=CLUSTER)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"targets": []}, "at least one target"),
        ({"targets": [("web", ""), ("web ", "")]}, "Target 'web' is given twice."),
        ({"targets": [("cluster", ""), ("api", "")]}, "'cluster' is the source and cannot be a target"),
        ({"source_value": "  "}, "Choose a value."),
        ({"dimension": ""}, "Choose a dimension."),
        ({"dimension": "tag:ap"}, "no cost has tag key 'ap'. Nearest: 'tag:app'"),
        ({"dimension": "cost_tag:x"}, "cost_tag"),
        ({"dimension": "flavour"}, "'flavour' does not exist"),
        ({"method": "fair"}, "'fair' is not one of even"),
        ({"method": "usage"}, "Choose a usage metric."),
        (
            {"method": "usage", "usage_metric": "request"},
            "usage_metric: 'request' does not exist. Nearest: 'requests'",
        ),
        (
            {"method": "fixed", "targets": [("web", "60"), ("api", "39.9")]},
            "add up to 99.9, 0.1 short of 100",
        ),
        ({"method": "fixed", "targets": [("web", "60"), ("api", "60")]}, "add up to 120, 20 more than 100"),
        ({"method": "fixed", "targets": [("web", "100"), ("api", "0")]}, "'api' has 0; it must be above 0"),
        ({"method": "fixed", "targets": [("web", "half"), ("api", "50")]}, "'web' needs a percentage"),
        ({"method": "fixed", "targets": [("web", "NaN"), ("api", "50")]}, "'web' has NaN"),
        (
            {"method": "fixed", "targets": [("web", "33.3333333"), ("api", "50")]},
            "'web' has more than 6 decimal places",
        ),
        (
            {"valid_from": date(2026, 3, 2), "valid_to": date(2026, 3, 1)},
            "The last day of a split must not be before its first.",
        ),
        ({"targets": [(str(number), "") for number in range(201)]}, "201 targets; the maximum is 200"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else None,
)
def test_a_metric_that_does_not_add_up_is_refused_with_the_reason(
    payer: Account, cast: Cast, changes: dict[str, Any], reason: str
) -> None:
    assert reason in refusal_of(cast, **changes)


def test_percentages_reach_100_exactly_or_not_at_all(payer: Account, cast: Cast) -> None:
    thirds = [("a", "33.333333"), ("b", "33.333333"), ("c", "33.333333")]
    assert "0.000001 short of 100" in refusal_of(cast, method="fixed", targets=thirds)

    create_cluster_split(cast, method="fixed", targets=[*thirds[:2], ("c", "33.333334")])


def test_a_target_of_one_split_is_no_source_of_another(payer: Account, cast: Cast) -> None:
    create_cluster_split(cast)

    assert "'web' is a target of split 'Cluster' and cannot be a source" in refusal_of(
        cast, source_value="web", targets=[("worker", "")]
    )
    assert "Target 'cluster' is the source of split 'Cluster'" in refusal_of(
        cast, source_value="db", targets=[("cluster", "")]
    )


def test_a_cycle_is_named(payer: Account, cast: Cast) -> None:
    create_cluster_split(cast)

    assert "Circular reference with split 'Cluster': web → cluster → web" in refusal_of(
        cast, source_value="web", targets=[("cluster", "")]
    )


def test_a_value_has_one_split_a_day(payer: Account, cast: Cast) -> None:
    split = create_cluster_split(cast, valid_to=date(2026, 3, 31))

    assert "'Cluster' already splits 'cluster', until 2026-03-31" in refusal_of(cast)
    create_cluster_split(cast, name="From April", valid_from=date(2026, 4, 1))
    with pytest.raises(UserError, match=r"already splits .*, from 2026-04-01 on"):
        save_split(split=split, actor=cast.actor, draft=CLUSTER)


def test_product_is_the_dimension_that_it_stands_for(payer: Account, cast: Cast) -> None:
    CostView.objects.create(account=payer, product_key="tag:app")
    create_cluster_split(cast)

    assert "already splits 'cluster'" in refusal_of(cast, dimension="product")


def test_the_same_values_in_another_dimension_are_others(payer: Account, cast: Cast) -> None:
    create_cluster_split(cast)

    create_cluster_split(
        cast, name="By service", dimension="service", source_value="web", targets=[("cluster", "")]
    )


def test_a_name_is_taken_once_whatever_its_case(payer: Account, cast: Cast) -> None:
    create_cluster_split(cast)

    with pytest.raises(ValidationError, match="A split with this name already exists"):
        create_cluster_split(cast, name="CLUSTER", source_value="db")


def test_an_account_has_only_so_many_splits(
    payer: Account, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MAX_SPLITS", 1)
    create_cluster_split(cast)

    assert "The maximum is 1 splits per account" in refusal_of(cast, source_value="db")
