"""Queries of the page Tag recommendations and of the tool listTagRecommendations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

from accounts.models import Account
from finops.allocation.cost_tags.expression import CostTagValue
from finops.allocation.cost_tags.resolution import dimension_of
from finops.allocation.cost_tags.schemas import CostTagInfo
from finops.allocation.cost_tags.text import rule_words
from finops.allocation.queries.cost_tag_preview import PREVIEW_DAYS
from finops.allocation.queries.cost_tags import list_cost_tags
from finops.allocation.rules import CostTagDraft
from finops.costs.answers import AccountRef
from finops.costs.dimensions import Dimension, DimensionContext
from finops.costs.queries.sources import load_sources
from finops.exchange_rates.missing_rates import unconverted_clause
from finops.insights.cost_scope import CostReader
from finops.insights.tag_recommendations.lake import CoverageRequest, LineValue, TagCostReader, value_of_key
from finops.insights.tag_recommendations.schemas import (
    KeyCoverage,
    TagRecommendation,
    TagRecommendationsAnswer,
    TagRecommendationsQuery,
)
from finops.insights.tag_recommendations.similarity import is_contradictory, key_groups
from finops.insights.tag_recommendations.suggestions import (
    Subject,
    TagSuggestion,
    association_suggestions,
    owner_of,
    similarity_suggestions,
    subject_of,
)
from finops.lake.storage.manifest import cost_tag_keys
from finops.lib.answers import largest_that_fits
from finops.lib.errors import UserError
from finops.lib.periods import DateRange
from finops.lib.sentences import percent_text, quote, truncate

COUNTED_KEYS = 300
"""Maximum number of keys whose cost is counted; each is a column to read."""

COMPARED_KEYS = 30
"""Number of keys, those with most cost, whose values are read too."""

COMPARED_COST_TAGS = 10

ASSOCIATED_GROUPS = 5
"""Number of key groups, those with most cost, for which untagged cost is analyzed."""

RULES_OF_A_GROUP = 8
"""Maximum number of rules for untagged cost, those with the largest coverage first."""

MAX_SUGGESTIONS = 40
"""Maximum number of suggestions. Each has a condition of its own, which takes Ibis about 25 ms of CPU to compile,
once."""

WORTH_A_RULE = Decimal("0.002")
"""Minimum share of a currency's cost for a rule about untagged cost."""

COUNTED = "{counted} of {keys} tag keys are counted."
COMPARED = "The {compared} tag keys with most cost of {keys} are compared; the others are only counted."
NOT_READ = "Cost tag {key} cannot be evaluated, so it is not compared: {problem}"

SHOWN_KEYS = 20
MAX_TEXT = 300


@dataclass(frozen=True)
class RecommendationDetail:
    """A suggestion, its coverage, and the cost tag that it would change."""

    suggestion: TagSuggestion
    row: TagRecommendation
    cost_tag: CostTagInfo | None


@dataclass(frozen=True)
class TagRecommendationsResult:
    """Every recommendation, the largest coverage first."""

    days: DateRange
    details: tuple[RecommendationDetail, ...] = ()
    keys: tuple[KeyCoverage, ...] = ()
    warnings: tuple[str, ...] = ()


def tag_recommendations(
    account: Account,
    query: TagRecommendationsQuery,
    *,
    deadline: float | None = None,
    fits: Callable[[TagRecommendationsAnswer], bool] | None = None,
) -> TagRecommendationsAnswer:
    """Return the recommendations of these kinds, with the tag keys by coverage. Cost: that of `find_recommendations`."""
    result = find_recommendations(account, deadline=deadline)
    rows = [each.row for each in result.details if not query.kinds or each.row.kind in query.kinds]

    def answer_with(count: int) -> TagRecommendationsAnswer:
        shown = rows[:count]
        more = len(rows) - len(shown)
        return TagRecommendationsAnswer(
            account=AccountRef(slug=account.slug, name=account.name),
            summary=_summary(account.name, rows, result.keys),
            start_date=result.days.start,
            end_date=result.days.end,
            recommendations=shown,
            keys=list(result.keys[: min(SHOWN_KEYS, count)]),
            truncated=f"{more} more cover smaller shares. Raise limit, or filter by kinds." if more else "",
            warnings=list(result.warnings),
            hint=_hint(shown),
        )

    return largest_that_fits(answer_with, query.limit, fits)


def find_recommendations(account: Account, *, deadline: float | None = None) -> TagRecommendationsResult:
    """Return all recommendations for the last 30 days with data. Cost: at most four lake queries, whose results the
    lake caches.

    Raises LakeTimeout, LakeTooLarge or LakeUnavailable.
    """
    sources = load_sources(account)
    days = sources.coverage.recent_days(PREVIEW_DAYS)
    cost = CostReader(account, sources, deadline)
    reader, context = TagCostReader(cost, days), cost.context
    every = cost_tag_keys(account, sources.manifest)
    currencies, keys = reader.coverage(every[:COUNTED_KEYS])
    compared = [each.key for each in keys[:COMPARED_KEYS]]
    infos = {info.key: info for info in list_cost_tags(account)}
    cost_tags, warnings = _evaluate_cost_tags(context, infos.values(), compared)
    if len(every) > COUNTED_KEYS:
        warnings.append(COUNTED.format(counted=COUNTED_KEYS, keys=len(every)))
    if len(keys) > len(compared):
        warnings.append(COMPARED.format(compared=len(compared), keys=len(keys)))
    subjects = _subjects(reader, compared, cost_tags, currencies)
    suggestions = _suggestions(reader, context, subjects, cost_tags, currencies)
    details = _recommendation_details(reader, context, suggestions[:MAX_SUGGESTIONS], infos)
    ranked = sorted(details, key=lambda each: (-each.row.share, each.row.id))
    return TagRecommendationsResult(days, tuple(ranked), tuple(keys), tuple(warnings))


CostTags = Sequence[tuple[CostTagDraft, LineValue]]
"""Cost tags over tag keys, with the values that their rules give lines, without the default value."""


def _evaluate_cost_tags(
    context: DimensionContext, infos: Iterable[CostTagInfo], keys: Sequence[str]
) -> tuple[CostTags, list[str]]:
    """Return the cost tags over one of the keys, and errors of those that cannot be evaluated."""
    drafts = [
        CostTagDraft(
            key=info.key, rules=info.rules, default_value=info.default_value, description=info.description
        )
        for info in infos
    ]
    groups = key_groups(keys, {})
    about = [draft for draft in drafts if any(owner_of(group, [draft]) for group in groups)]
    cost_tags: list[tuple[CostTagDraft, LineValue]] = []
    warnings: list[str] = []
    for draft in about[:COMPARED_COST_TAGS]:
        try:
            cost_tags.append((draft, _line_value(dimension_of(context, draft))))
        except UserError as problem:
            warnings.append(NOT_READ.format(key=quote(draft.key), problem=problem.message))
    return cost_tags, warnings


def _dimension(context: DimensionContext, draft: CostTagDraft) -> Dimension | None:
    """Return the dimension of a draft; None if it has become too large to query."""
    try:
        return dimension_of(context, draft)
    except UserError:
        return None


def _line_value(dimension: Dimension) -> LineValue:
    value = dimension.value
    assert isinstance(value, CostTagValue)  # noqa: S101 for the type checker
    return LineValue(dataclasses.replace(value, default=""), dimension.tag_keys)


def _subjects(
    reader: TagCostReader, keys: Sequence[str], cost_tags: CostTags, currencies: Sequence[str]
) -> list[Subject]:
    """Return the keys by meaning, with the cost of their values."""
    line_values = {f"tag:{key}": value_of_key(key) for key in keys}
    line_values |= {f"cost_tag:{draft.key}": value for draft, value in cost_tags}
    costs = reader.values(line_values)
    values = {key: costs[f"tag:{key}"] for key in keys}
    drafts = [draft for draft, _ in cost_tags]
    cost_tag_values = {draft.key: costs[f"cost_tag:{draft.key}"] for draft in drafts}
    groups = key_groups(keys, values)
    return [subject_of(group, drafts, values, cost_tag_values, currencies) for group in groups]


def _suggestions(
    reader: TagCostReader,
    context: DimensionContext,
    subjects: Sequence[Subject],
    cost_tags: CostTags,
    currencies: Sequence[str],
) -> list[TagSuggestion]:
    """Return suggestions, without keys that were grouped by their values and then differ on the same lines."""
    by_cost_tag = {draft.key: value for draft, value in cost_tags}
    line_values: dict[str, LineValue] = {}
    for subject in sorted(subjects, key=lambda each: not each.group.by_values):
        dimension = None if subject.owner else _dimension(context, subject.base)
        value = by_cost_tag[subject.owner.key] if subject.owner else dimension and _line_value(dimension)
        if value and subject.is_categorical and len(line_values) < ASSOCIATED_GROUPS:
            line_values[subject.group.name] = dataclasses.replace(value, key_pair=subject.key_pair)
    tagged_costs = dict(zip(line_values, reader.tagged_costs(list(line_values.values())), strict=True))
    pairs = [(subject, tagged_costs.get(subject.group.name, {})) for subject in subjects]
    agreeing = [(subject, each) for subject, each in pairs if not is_contradictory(each)]
    similar = [each for subject, _ in agreeing for each in similarity_suggestions(subject)]
    return similar + [
        suggestion
        for subject, each in agreeing
        for suggestion in islice(association_suggestions(subject, each, currencies), RULES_OF_A_GROUP)
    ]


def _recommendation_details(
    reader: TagCostReader,
    context: DimensionContext,
    suggestions: Sequence[TagSuggestion],
    infos: Mapping[str, CostTagInfo],
) -> Iterator[RecommendationDetail]:
    """Return the suggestions with any coverage."""
    possible = [(each, dimension) for each in suggestions if (dimension := _dimension(context, each.draft))]
    requests = [CoverageRequest(dimension, each.rules, each.values) for each, dimension in possible]
    for (each, _), covers in zip(possible, reader.coverage_of_drafts(requests), strict=True):
        if not any(cover.amount > 0 for cover in covers):
            continue
        row = TagRecommendation(
            id=each.id,
            kind=each.kind,
            sentence=each.sentence,
            tag_keys=[truncate(key, MAX_TEXT) for key in each.keys],
            covers=covers,
            cost_tag=each.draft.key,
            is_new=each.is_new,
            rules=[truncate(rule_words(rule), MAX_TEXT) for rule in each.shown],
        )
        if each.kind != "untagged_cost" or row.share >= WORTH_A_RULE:
            yield RecommendationDetail(each, row, None if each.is_new else infos[each.draft.key])


def recommendation(account: Account, recommendation_id: str) -> RecommendationDetail | None:
    """Return the current recommendation with this id."""
    details = find_recommendations(account).details
    return next((each for each in details if each.row.id == recommendation_id), None)


def _summary(account: str, recommendations: Sequence[TagRecommendation], keys: Sequence[KeyCoverage]) -> str:
    if not keys:
        return f"{quote(account)} has no cost with tags in the last 30 days with data."
    covers = [*(each.covers for each in keys), *(each.covers for each in recommendations)]
    unconverted = unconverted_clause(part.currency for row in covers for part in row if part.amount)
    first = next((each for each in keys[0].covers if each.share is not None), None)
    best = f" Key {quote(keys[0].key, 60)} covers most"
    best += f": {percent_text(first.share)} of {first.currency} usage cost." if first and first.share else "."
    caveats = f"{_compared_clause(len(keys))}{unconverted}"
    if not recommendations:
        return f"The tags of {quote(account)} have no recommendations{caveats}.{best}"
    noun = "recommendation" if len(recommendations) == 1 else "recommendations"
    return (
        f"{quote(account)}: {len(recommendations)} tag {noun}{caveats}.{best} {recommendations[0].sentence}"
    )


def _compared_clause(keys: int) -> str:
    """Return a clause on tag keys whose values were not compared."""
    if keys <= COMPARED_KEYS:
        return ""
    return f"; of {keys} tag keys only the {COMPARED_KEYS} with most cost are compared"


def _hint(recommendations: Sequence[TagRecommendation]) -> str:
    if not recommendations:
        return "listCostTags shows the cost tags; listDimensionValues of a tag its values."
    return (
        "console_url opens the draft in the cost tag editor; nothing is saved until a member saves "
        "it. Recommendations overlap, so covers cannot be added up."
    )
