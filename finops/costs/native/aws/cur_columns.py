"""The columns of AWS Cost and Usage Reports in their three spellings.

`lineItem/UsageType` (legacy CUR as CSV), `line_item_usage_type` (legacy CUR as Parquet, and CUR 2.0). Both fold to
the same name. Source: AWS Cost and Usage Reports user guide, "Data dictionary", and Data Exports user guide, "Cost
and Usage Report (CUR) 2.0".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from finops.costs.focus.columns import fold

# New in CUR 2.0; Parquet files of the legacy report have the other names in the same spelling.
_CUR_2: Final = frozenset(
    map(fold, ("bill_payer_account_name", "line_item_usage_account_name", "resource_tags", "cost_category"))
)
_CATEGORIES: Final = (
    "bill",
    "line_item",
    "pricing",
    "product",
    "reservation",
    "savings_plan",
    "split_line_item",
)
COST_CATEGORY: Final = "costCategory/"


class CurColumns:
    """The columns of one report, by the names of the data dictionary in snake case."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.by_fold: dict[str, str] = {}
        for name in names:
            self.by_fold.setdefault(fold(name), name)

    @property
    def is_cur_2(self) -> bool:
        return not any("/" in name for name in self.names) and not _CUR_2.isdisjoint(self.by_fold)

    def has(self, name: str) -> bool:
        return fold(name) in self.by_fold

    def name(self, name: str) -> str:
        """Return the file's spelling. KeyError for a column that it lacks."""
        return self.by_fold[fold(name)]

    def shown(self, name: str) -> str:
        """Return the file's spelling, or the one that it would use."""
        if self.has(name) or not any("/" in each for each in self.names):
            return self.by_fold.get(fold(name), name)
        category = next((each for each in _CATEGORIES if name.startswith(f"{each}_")), "")
        return f"{_pascal(category, 1)}/{_pascal(name[len(category) + 1 :], 0)}" if category else name

    def present(self, *names: str) -> tuple[str, ...]:
        """Return the names that the file has, in its spelling."""
        return tuple(self.by_fold[fold(name)] for name in names if fold(name) in self.by_fold)

    def tag_columns(self) -> Mapping[str, str]:
        """Return FOCUS tag key -> column, of files with a column for each tag and cost category."""
        keyed: dict[str, str] = {}
        for name in self.names:
            for whole, slashed in (("resource_tags", "resourceTags"), ("cost_category", "costCategory")):
                prefix = f"{slashed}/" if "/" in name else f"{whole}_"
                if name.startswith(prefix) and len(name) > len(prefix):
                    bare = name[len(prefix) :]
                    keyed.setdefault(
                        tag_key(bare) if whole == "resource_tags" else COST_CATEGORY + bare, name
                    )
        return keyed


def _pascal(snake: str, small: int) -> str:
    """Return lineItem for line_item if the first word is in lower case, else LineItem."""
    words = snake.split("_")
    return "".join([*words[:small], *(word.title() for word in words[small:])])


AWS_TAGS: Final[Mapping[str, str]] = {
    fold(key): key
    for key in (
        "aws:autoscaling:groupName",
        "aws:backup:source-resource",
        "aws:cloudformation:logical-id",
        "aws:cloudformation:stack-id",
        "aws:cloudformation:stack-name",
        "aws:createdBy",
        "aws:ecs:clusterName",
        "aws:ecs:serviceName",
        "aws:eks:cluster-name",
        "aws:eks:deployment",
        "aws:eks:namespace",
        "aws:eks:node",
        "aws:eks:workload-name",
        "aws:eks:workload-type",
        "aws:elasticmapreduce:job-flow-id",
        "aws:servicecatalog:productArn",
        "aws:servicecatalog:provisioningPrincipalArn",
    )
}
"""AWS-generated cost allocation tags, whose spelling Parquet loses. Source: AWS Billing user guide, "AWS-generated tags"."""


def tag_key(name: str) -> str:
    """Return the FOCUS key of a tag: a user's without a prefix, AWS's own with `aws:`.

    Source: FOCUS 1.2, Tags: provider-defined keys are prefixed, user-defined keys are as their owner wrote them;
    AWS's own FOCUS export does so. Reports write `user:Name` and `aws:createdBy`, in Parquet `user_name` and
    `aws_created_by`.
    """
    for prefix in ("user:", "user_"):
        if name.startswith(prefix) and len(name) > len(prefix):
            return name[len(prefix) :]
    if name.startswith("aws_"):
        return AWS_TAGS.get(fold(name), "aws:" + name[len("aws_") :])
    return name
