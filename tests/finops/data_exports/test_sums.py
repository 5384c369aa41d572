"""What other engines add up over the files of an export is what the tools answer."""

from __future__ import annotations

from pathlib import Path

from tests.factories.costs import add_source
from tests.finops.data_exports.bills import Bucket, allocate, lines, round_amounts, spend, sums


def test_sums_of_an_export_are_those_of_the_tools(bucket: Bucket, tmp_path: Path) -> None:
    add_source(bucket.account, lines())
    run = bucket.run(bucket.create())

    assert (run.status, run.error, run.months_written) == ("done", "", 3)
    paths = bucket.download(tmp_path, bucket.manifests())
    assert sums(paths, "ServiceName") == spend(bucket.account, "service")


def test_teams_cost_tags_and_months_add_up_as_the_tools_say(bucket: Bucket, tmp_path: Path) -> None:
    allocate(bucket)
    bucket.run(bucket.create(with_splits=False))

    paths = bucket.download(tmp_path, bucket.manifests())
    assert sums(paths, "x_Team") == spend(bucket.account, "team", splits="before")
    assert sums(paths, "x_CostTag_product, x_CostSource") == spend(
        bucket.account, "cost_tag:product", "source", splits="before"
    )
    assert sums(paths, "strftime(BillingPeriodStart, '%Y-%m')") == spend(bucket.account, "billing_period")
    assert sums(paths, "SubAccountId, ChargeCategory") == spend(bucket.account, "account", "charge_category")
    assert sums(paths, "json_extract_string(Tags, 'env')") == spend(bucket.account, "tag:env")


def test_split_rows_beside_the_lines_add_up_to_spend_after_splits(bucket: Bucket, tmp_path: Path) -> None:
    allocate(bucket)
    bucket.run(bucket.create())

    cost = bucket.download(tmp_path, bucket.manifests())
    splits = bucket.download(tmp_path, bucket.manifests(ending="-Splits.json"))
    assert splits
    by_team = sums([*cost, *splits], "x_Team", "coalesce(x_SplitDimension, 'team') = 'team'")
    after = spend(bucket.account, "team", splits="after")
    assert round_amounts(by_team) == round_amounts(after)
    assert after != spend(bucket.account, "team", splits="before")
    by_tag = sums(
        [*cost, *splits],
        "x_CostTag_product",
        "coalesce(x_SplitDimension, 'cost_tag:product') = 'cost_tag:product'",
    )
    assert round_amounts(by_tag) == round_amounts(spend(bucket.account, "cost_tag:product", splits="after"))
    assert set(sums(splits, "x_SplitDimension").values()) == {0}
    assert sums([*cost, *splits], "ServiceName") == spend(bucket.account, "service")
