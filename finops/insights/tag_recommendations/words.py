"""Tag recommendations in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from finops.insights.tag_recommendations.answers import KeyCoverage, TagRecommendation
from finops.insights.tag_recommendations.associations import Association
from finops.insights.tag_recommendations.similarity import KeyGroup, Merge
from finops.lib.sentences import dimension_text, join_with_and, percent_text, quote

SHOWN = 4
LENGTH = 60

COUNTED = "Of {keys} tag keys, {counted} are counted."
COMPARED = (
    "Of {keys} tag keys, the {compared} that cover most cost are compared; the others are only counted."
)
NOT_READ = "Cost tag {key} cannot be evaluated, so it is not compared: {problem}"


def few(names: Sequence[str], shown: int = SHOWN) -> str:
    """`'a', 'b' and 3 more`."""
    more = len(names) - shown
    parts = [quote(name, LENGTH) for name in names[:shown]]
    return join_with_and([*parts, f"{more} more"] if more > 0 else parts)


def same_keys(group: KeyGroup) -> str:
    why = ", by the values that they have in common" if group.by_values else ""
    return f"Tags {few(group.keys)} mean the same{why}: one cost tag copies whichever a line has."


def more_keys(missing: Sequence[str], cost_tag: str, copies: Sequence[str]) -> str:
    noun, verb = ("Tag", "means") if len(missing) == 1 else ("Tags", "mean")
    if not copies:
        return f"{noun} {few(missing)} {verb} the same as cost tag {quote(cost_tag)}, which does not copy it yet."
    return f"{noun} {few(missing)} {verb} the same as {few(copies)}, which cost tag {quote(cost_tag)} copies already."


def same_values(named: str, merged: Sequence[Merge]) -> str:
    spellings = [few(merge.spellings) for merge in merged[:SHOWN]]
    more = f"; {len(merged) - SHOWN} more" if len(merged) > SHOWN else ""
    noun = "One value" if len(merged) == 1 else f"{len(merged)} values"
    verb = "is" if len(merged) == 1 else "are"
    return f"{noun} of {named} {verb} spelt in several ways: {'; '.join(spellings)}{more}."


def untagged_cost(named: str, association: Association) -> str:
    names, value = few(association.names), quote(association.value, LENGTH)
    plural = "" if len(association.names) == 1 else "s"
    if association.dimension == "resource":
        place = f"Where the resource's name or id begins with {names.replace(' and ', ' or ')}"
    else:
        place = f"In {dimension_text(association.dimension)}{plural} {names}"
    return f"{place}, at least 95 % of the cost that has {named} is {value}; what has none is likely {value} too."


def summary_of(
    account: str, recommendations: Sequence[TagRecommendation], keys: Sequence[KeyCoverage]
) -> str:
    if not keys:
        return f"The cost of {quote(account)} of the last 30 days with data has no tags."
    first = next((each for each in keys[0].covers if each.share is not None), None)
    best = f" Key {quote(keys[0].key, LENGTH)} covers most"
    best += f": {percent_text(first.share)} of {first.currency} usage cost." if first and first.share else "."
    if not recommendations:
        return f"The tags of {quote(account)} have nothing to put right.{best}"
    noun = "recommendation" if len(recommendations) == 1 else "recommendations"
    return f"{quote(account)}: {len(recommendations)} tag {noun}.{best} {recommendations[0].sentence}"


def hint_of(recommendations: Sequence[TagRecommendation]) -> str:
    if not recommendations:
        return "listCostTags shows the cost tags; listDimensionValues of a tag its values."
    return (
        "console_url of each opens its draft in the cost tag editor; nothing is saved before a person saves. They "
        "overlap: covers cannot be added up."
    )
