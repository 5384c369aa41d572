"""Tag recommendations: the reads behind the page Tag recommendations and the tool listTagRecommendations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

from accounts.models import Account
from finops.allocation.cost_tags.answers import CostTagInfo
from finops.allocation.cost_tags.expression import CostTagValue
from finops.allocation.cost_tags.resolution import context_of, dimension_of
from finops.allocation.cost_tags.words import rule_words
from finops.allocation.queries.cost_tag_preview import PREVIEW_DAYS, last_days
from finops.allocation.queries.cost_tags import list_cost_tags
from finops.allocation.rules import CostTagDraft
from finops.costs.answers import AccountRef
from finops.costs.dimensions import Dimension, DimensionContext
from finops.costs.queries.sources import load_sources
from finops.insights.tag_recommendations import reader as cost_reader
from finops.insights.tag_recommendations import words
from finops.insights.tag_recommendations.answers import (
    KeyCoverage,
    TagRecommendation,
    TagRecommendationsAnswer,
)
from finops.insights.tag_recommendations.associations import is_contradictory
from finops.insights.tag_recommendations.drafts import owner_of
from finops.insights.tag_recommendations.lake import CoverageRequest
from finops.insights.tag_recommendations.reader import Reader
from finops.insights.tag_recommendations.similarity import key_groups
from finops.insights.tag_recommendations.suggestions import (
    Subject,
    Suggestion,
    association_suggestions,
    similarity_suggestions,
    subject_of,
)
from finops.insights.tag_recommendations.tag_recommendations_query import TagRecommendationsQuery
from finops.lake.storage.manifest import cost_tag_keys
from finops.lib.answers import largest_that_fits
from finops.lib.errors import UserError
from finops.lib.periods import DateRange
from finops.lib.sentences import quote, truncate

COUNTED_KEYS = 300
"""Keys whose cost is counted; each is a column to read."""

COMPARED_KEYS = 30
"""Of these, those with most cost, the values are read too."""

COMPARED_COST_TAGS = 10

ASSOCIATED_GROUPS = 5
"""Groups of keys for which untagged cost is looked at, those with most cost."""

RULES_OF_A_GROUP = 8
"""For untagged cost, those that would cover most first."""

MAX_SUGGESTIONS = 40
"""Each is counted by a condition of its own: Ibis takes some 25 ms of processor time to write it, once."""

WORTH_A_RULE = Decimal("0.002")
"""Untagged cost is left alone where it is less than so much of the cost of every currency."""

SHOWN_KEYS = 20
MAX_TEXT = 300


@dataclass(frozen=True)
class RecommendationDetail:
    """A suggestion, what it would cover, and the cost tag that it would change."""

    suggestion: Suggestion
    row: TagRecommendation
    cost_tag: CostTagInfo | None


@dataclass(frozen=True)
class TagRecommendationsResult:
    """Every recommendation, what would cover the largest share first."""

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
    """The recommendations of a kind, with the tag keys by coverage. Cost: that of `find_recommendations`."""
    result = find_recommendations(account, deadline=deadline)
    rows = [each.row for each in result.details if query.kind in ("all", each.row.kind)]

    def answer_with(count: int) -> TagRecommendationsAnswer:
        shown = rows[:count]
        more = len(rows) - len(shown)
        return TagRecommendationsAnswer(
            account=AccountRef(slug=account.slug, name=account.name),
            summary=words.summary_of(account.name, rows, result.keys),
            start_date=result.days.start,
            end_date=result.days.end,
            recommendations=shown,
            keys=list(result.keys[: min(SHOWN_KEYS, count)]),
            truncated=f"{more} more cover smaller shares: raise limit, or ask for one kind." if more else "",
            warnings=list(result.warnings),
            hint=words.hint_of(shown),
        )

    return largest_that_fits(answer_with, query.limit, fits)


def find_recommendations(account: Account, *, deadline: float | None = None) -> TagRecommendationsResult:
    """All of the last 30 days with data. Cost: at most four lake queries, whose answers the lake keeps."""
    sources = load_sources(account)
    days = last_days(sources.coverage, PREVIEW_DAYS)
    reader = Reader(account, sources, days, deadline)
    context = context_of(account, sources)
    every = cost_tag_keys(account, sources.manifest)
    currencies, keys = reader.coverage(every[:COUNTED_KEYS])
    compared = [each.key for each in keys[:COMPARED_KEYS]]
    infos = {info.key: info for info in list_cost_tags(account)}
    cost_tag_subjects, warnings = _evaluate_cost_tags(
        context, [_draft(info) for info in infos.values()], compared
    )
    if len(every) > COUNTED_KEYS:
        warnings.append(words.COUNTED.format(counted=COUNTED_KEYS, keys=len(every)))
    if len(keys) > len(compared):
        warnings.append(words.COMPARED.format(compared=len(compared), keys=len(keys)))
    subjects = _subjects(reader, compared, cost_tag_subjects, currencies)
    suggestions = _suggestions(reader, context, subjects, cost_tag_subjects, currencies)
    details = _recommendation_details(reader, context, suggestions[:MAX_SUGGESTIONS], infos)
    return TagRecommendationsResult(days, tuple(sorted(details, key=_sort_key)), tuple(keys), tuple(warnings))


def _draft(info: CostTagInfo) -> CostTagDraft:
    return CostTagDraft(
        key=info.key, rules=info.rules, default_value=info.default_value, description=info.description
    )


@dataclass(frozen=True)
class _CostTagSubject:
    """A cost tag that is about tag keys, and what its rules, without a default value, give lines."""

    draft: CostTagDraft
    subject: cost_reader.Subject


def _evaluate_cost_tags(
    context: DimensionContext, drafts: Sequence[CostTagDraft], keys: Sequence[str]
) -> tuple[list[_CostTagSubject], list[str]]:
    """The cost tags that are about one of the keys, and why others that are cannot be."""
    subjects: list[_CostTagSubject] = []
    warnings: list[str] = []
    groups = key_groups(keys, {})
    about = [draft for draft in drafts if any(owner_of(group, [draft]) for group in groups)]
    for draft in about[:COMPARED_COST_TAGS]:
        try:
            subjects.append(_CostTagSubject(draft, _subject(dimension_of(context, draft))))
        except UserError as problem:
            warnings.append(words.NOT_READ.format(key=quote(draft.key), problem=problem.message))
    return subjects, warnings


def _dimension(context: DimensionContext, draft: CostTagDraft) -> Dimension | None:
    """None for a draft that has become too large to be asked."""
    try:
        return dimension_of(context, draft)
    except UserError:
        return None


def _subject(dimension: Dimension) -> cost_reader.Subject:
    value = dimension.value
    assert isinstance(value, CostTagValue)  # noqa: S101 for the type checker
    return cost_reader.Subject(dataclasses.replace(value, default=""), dimension.tag_keys)


def _subjects(
    reader: Reader,
    keys: Sequence[str],
    cost_tag_subjects: Sequence[_CostTagSubject],
    currencies: Sequence[str],
) -> list[Subject]:
    """The keys by meaning, with what their values cost."""
    value_subjects = {f"tag:{key}": cost_reader.of_key(key) for key in keys}
    value_subjects |= {f"cost_tag:{each.draft.key}": each.subject for each in cost_tag_subjects}
    costs = reader.values(value_subjects)
    values = {key: costs[f"tag:{key}"] for key in keys}
    cost_tag_values = {each.draft.key: costs[f"cost_tag:{each.draft.key}"] for each in cost_tag_subjects}
    drafts = [each.draft for each in cost_tag_subjects]
    return [
        subject_of(group, drafts, values, cost_tag_values, currencies) for group in key_groups(keys, values)
    ]


def _suggestions(
    reader: Reader,
    context: DimensionContext,
    subjects: Sequence[Subject],
    cost_tag_subjects: Sequence[_CostTagSubject],
    currencies: Sequence[str],
) -> list[Suggestion]:
    """Nothing of keys that were taken for one by their values, and then say different things on one line."""
    by_cost_tag = {each.draft.key: each.subject for each in cost_tag_subjects}
    value_subjects: dict[str, cost_reader.Subject] = {}
    for subject in sorted(subjects, key=lambda each: not each.group.by_values):
        dimension = None if subject.owner else _dimension(context, subject.base)
        value = by_cost_tag[subject.owner.key] if subject.owner else dimension and _subject(dimension)
        if value and subject.is_categorical and len(value_subjects) < ASSOCIATED_GROUPS:
            value_subjects[subject.group.name] = dataclasses.replace(value, key_pair=subject.key_pair)
    tagged_costs = dict(zip(value_subjects, reader.tagged_costs(list(value_subjects.values())), strict=True))
    pairs = [(subject, tagged_costs.get(subject.group.name, {})) for subject in subjects]
    agreeing = [(subject, each) for subject, each in pairs if not is_contradictory(each)]
    similar = [each for subject, _ in agreeing for each in similarity_suggestions(subject)]
    return similar + [
        suggestion
        for subject, each in agreeing
        for suggestion in islice(association_suggestions(subject, each, currencies), RULES_OF_A_GROUP)
    ]


def _recommendation_details(
    reader: Reader,
    context: DimensionContext,
    suggestions: Sequence[Suggestion],
    infos: Mapping[str, CostTagInfo],
) -> Iterator[RecommendationDetail]:
    """Those that would cover anything."""
    possible = [(each, dimension) for each in suggestions if (dimension := _dimension(context, each.draft))]
    coverings = [
        (dimension, CoverageRequest(dimension, each.rules, each.values)) for each, dimension in possible
    ]
    for (each, _), covers in zip(possible, reader.coverage_of_drafts(coverings), strict=True):
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


def _sort_key(detail: RecommendationDetail) -> tuple[object, ...]:
    row = detail.row
    return -row.share, row.id


def recommendation(account: Account, recommendation_id: str) -> RecommendationDetail | None:
    """The one with this id, as things are now."""
    return next(
        (each for each in find_recommendations(account).details if each.row.id == recommendation_id), None
    )
