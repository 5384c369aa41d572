"""Suggest a column mapping from a file's column names and first values, for a person to confirm. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from finops.costs.focus import columns as spec
from finops.costs.focus.formats import readings
from finops.costs.focus.values import NumberFormat
from finops.costs.mapping.date_format import (
    DATE_FORMATS,
    EPOCH_MILLISECONDS,
    EPOCH_SECONDS,
    ISO,
    parse_local,
)
from finops.costs.mapping.document import (
    BILLED_COST,
    AmountRule,
    DateRule,
    Granularity,
    MappingDocument,
    TagRule,
    TextRule,
)
from finops.costs.mapping.sample import Sample, SampleColumn

# FOCUS column -> names in files, folded, the best first. A name that only begins or ends with one of them ranks lower.
_NAMES: Final[dict[str, tuple[str, ...]]] = {
    BILLED_COST: (
        *("billedcost", "netcost", "nettobetrag", "netamount", "cost", "costs", "kosten", "amount", "betrag", "charge", "total"),
        *("totalcost", "totalamount", "price", "preis", "spend", "montant", "importe", "summe", "wert", "value"),
    ),
    "ConsumedQuantity": ("consumedquantity", "usagequantity", "quantity", "menge", "usage", "units", "anzahl", "qty"),
    "ConsumedUnit": ("consumedunit", "unitofmeasure", "usageunit", "unit", "einheit", "uom"),
    spec.CHARGE_PERIOD: (
        *("chargeperiodstart", "usagestart", "usagedate", "startdate", "starttime", "periodstart", "date", "datum", "day", "tag"),
        *("timestamp", "time", "zeit", "month", "monat", "fecha", "period", "billingperiod", "start", "from", "von"),
    ),
    "ChargePeriodEnd": ("chargeperiodend", "usageend", "enddate", "endtime", "periodend"),
    "ServiceName": ("servicename", "service", "dienst", "productname", "product", "produkt", "leistung", "servicio", "item"),
    "ProviderName": ("providername", "provider", "vendor", "anbieter", "supplier", "lieferant", "cloud"),
    "SubAccountId": ("subaccountid", "accountid", "projectid", "subscriptionid", "account", "project", "projekt", "konto"),
    "SubAccountName": ("subaccountname", "accountname", "projectname", "subscriptionname"),
    "RegionId": ("regionid", "region", "location", "standort", "datacenter"),
    "ResourceId": ("resourceid", "resource", "instanceid", "ressource", "serverid", "assetid"),
    "ResourceName": ("resourcename", "instancename", "servername", "hostname"),
    "SkuId": ("skuid", "sku", "articlenumber", "artikelnummer", "planid"),
    "ChargeDescription": ("chargedescription", "description", "beschreibung", "text", "details"),
    "BillingCurrency": ("billingcurrency", "currency", "currencycode", "waehrung", "währung", "devise", "moneda"),
    "ChargeCategory": ("chargecategory", "chargetype", "category", "type", "linetype", "lineitemtype"),
    "InvoiceId": ("invoiceid", "invoicenumber", "invoice", "rechnungsnummer", "rechnung"),
}  # fmt: skip
_TAG_PREFIX: Final = re.compile(r"^(?:tags?|labels?|user)[:./_ -]+", re.IGNORECASE)
_TAG_NAMES: Final = frozenset(
    [
        *(
            "team",
            "env",
            "environment",
            "owner",
            "costcenter",
            "costcentre",
            "kostenstelle",
            "department",
            "abteilung",
        ),
        *("application", "app", "businessunit", "customer", "kunde", "stage", "squad", "umgebung"),
    ]
)
_UNITS: Final = (
    (re.compile(r"micros?\b", re.IGNORECASE), Decimal("0.000001")),
    (re.compile(r"nanos?\b", re.IGNORECASE), Decimal("0.000000001")),
    (re.compile(r"(?:\b|_)(?:in_?)?(?:cents?|minor)(?:\b|_|$)", re.IGNORECASE), Decimal("0.01")),
)
_CODE: Final = re.compile(r"(?:^|[^A-Za-z])([A-Za-z]{3})(?:$|[^A-Za-z])")
_CODES: Final = frozenset(
    [
        *("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD", "SEK", "NOK", "DKK", "PLN", "CZK"),
        *("HUF", "BRL", "MXN", "ZAR", "SGD", "HKD", "KRW", "NZD", "TRY", "ILS", "AED", "RON", "BGN", "THB"),
    ]
)
_SIGNS: Final = {"€": "EUR", "£": "GBP", "₹": "INR"}
_UTC: Final = ZoneInfo("UTC")
_MONTH_FORMATS: Final = frozenset(("%Y-%m", "%Y%m", "%m/%Y", "%m.%Y", "%b %Y", "%B %Y"))


def suggest(sample: Sample, *, name: str) -> MappingDocument:
    """Return the most likely mapping. `name` is the source's: the provider and service if no column has them. Fields
    that cannot be guessed stay empty, and the document is not valid yet."""
    columns = list(sample.columns)
    decided = decimal_mark(columns)
    mark = decided or NumberFormat.POINT
    cost = _best(BILLED_COST, columns, lambda column: _is_number(column, mark))
    date = _best(spec.CHARGE_PERIOD, columns, lambda column: bool(_best_date_format(column)))
    quantity = _best("ConsumedQuantity", columns, lambda column: column != cost and _is_number(column, mark))
    amounts = {
        focus: AmountRule(column.name, _unit(column.name) if focus == BILLED_COST else Decimal(1))
        for focus, column in ((BILLED_COST, cost), ("ConsumedQuantity", quantity))
        if column is not None
    }
    dates, granularity = {}, Granularity.DAY
    if date is not None:
        dates = {spec.CHARGE_PERIOD: DateRule(date.name, date_format(date))}
        granularity = _granularity(date, _best_date_format(date))
    other_columns = [column for column in columns if column not in (cost, date, quantity)]
    texts = _texts(other_columns, name, cost)
    used = {rule.column for rule in texts.values()}
    return MappingDocument(
        amounts=amounts,
        dates=dates,
        texts=texts,
        tags=_tags([column for column in other_columns if column.name not in used]),
        decimal_mark=decided,
        costs_are_negative=cost is not None and _sum(cost, mark) < 0,
        granularity=granularity,
    )


def _best(
    focus: str, columns: Iterable[SampleColumn], fits: Callable[[SampleColumn], bool]
) -> SampleColumn | None:
    """Return the column with the name most similar to a FOCUS column's, of those whose values fit."""
    scores = [(_score(focus, column.name), column) for column in columns]
    likely = sorted((each for each in scores if each[0]), key=lambda each: -each[0])
    return next((column for _, column in likely if fits(column)), None)


def _score(focus: str, name: str) -> int:
    names, folded = _NAMES[focus], spec.fold(name)
    if folded in names:
        return 1_000 - names.index(folded)
    parts = {spec.fold(part) for part in re.split(r"[^0-9A-Za-zÀ-ÿ]+|(?<=[a-z])(?=[A-Z])", name)}
    among = [place for place, each in enumerate(names) if each in parts]
    return 500 - among[0] if among else 0


def decimal_mark(columns: Iterable[SampleColumn]) -> NumberFormat | None:
    """Return the mark of the first number with one reading only. None if there is none and a number has two, such as
    1.234 and 1,234: a person decides. A point if all numbers are the same in both. Values stored as numbers decide
    nothing."""
    is_ambiguous = False
    for column in columns:
        both = [readings(value) for value in column.values]
        both = [each for each in both if each != (None, None)]
        if column.has_numbers or not _is_most(len(both), column.values):
            continue
        if any(point is None for point, _ in both):
            return NumberFormat.COMMA
        if any(comma is None for _, comma in both):
            return NumberFormat.POINT
        is_ambiguous = is_ambiguous or any(point != comma for point, comma in both)
    return None if is_ambiguous else NumberFormat.POINT


def _numbers(column: SampleColumn, mark: NumberFormat) -> list[Decimal | None]:
    place = 0 if mark is NumberFormat.POINT else 1
    return [readings(value)[place] for value in column.values]


def _is_number(column: SampleColumn, mark: NumberFormat) -> bool:
    count = sum(number is not None for number in _numbers(column, mark))
    return not column.has_times and _is_most(count, column.values)


def _sum(column: SampleColumn, mark: NumberFormat) -> Decimal:
    return sum((number for number in _numbers(column, mark) if number is not None), Decimal(0))


def _unit(name: str) -> Decimal:
    return next((factor for pattern, factor in _UNITS if pattern.search(name)), Decimal(1))


def date_format(column: SampleColumn) -> str:
    """Return the format by which most values of the column are dates; empty for other columns, and for dates such as
    05/06/2026 that may start with the day or the month: a person decides."""
    best = _best_date_format(column)
    other = _other_order(best)
    is_ambiguous = other != best and _readable(column.values, other) == _readable(column.values, best)
    return "" if is_ambiguous else best


def _other_order(format_: str) -> str:
    """Return the format with day and month swapped, if both orders are in use."""
    day_first, month_first = "%d/%m/", "%m/%d/"
    if format_.startswith(day_first):
        return format_.replace(day_first, month_first)
    return format_.replace(month_first, day_first)


def _best_date_format(column: SampleColumn) -> str:
    """Return the first format that fits most values; empty if it fits fewer than half."""
    if column.has_times:
        return ISO
    best = max(DATE_FORMATS, key=lambda format_: _readable(column.values, format_))
    return best if _is_most(_readable(column.values, best), column.values) else ""


def _is_most(count: int, values: Sequence[str]) -> bool:
    return 2 * count > len(values)


def _readable(values: Sequence[str], format_: str) -> int:
    """Return how many of the values are dates of this format."""
    digits = {EPOCH_SECONDS: 10, EPOCH_MILLISECONDS: 13}.get(format_)
    if digits:
        return sum(value.strip().isdigit() and len(value.strip()) == digits for value in values)
    # 20260531 is ISO 8601 too, and 202605 would be read as 20260-5.
    plain = [value for value in values if not (format_ == ISO and value.strip().isdigit())]
    return sum(_local(value, format_) is not None for value in plain)


def _local(value: str, format_: str) -> datetime | None:
    try:
        return parse_local(value, format_, _UTC)
    except ValueError:
        return None


def _granularity(column: SampleColumn, format_: str) -> Granularity:
    times = [time for value in column.values if (time := _local(value, format_))]
    if any((time.hour, time.minute, time.second) != (0, 0, 0) for time in times):
        return Granularity.HOUR
    is_monthly = format_ in _MONTH_FORMATS or (len(times) > 1 and all(time.day == 1 for time in times))
    return Granularity.MONTH if is_monthly else Granularity.DAY


def _texts(columns: Sequence[SampleColumn], name: str, cost: SampleColumn | None) -> dict[str, TextRule]:
    texts: dict[str, TextRule] = {}
    unused_columns = list(columns)
    for focus in _NAMES:
        if focus not in spec.AMOUNTS.values() and focus not in spec.TIMES.values():
            column = _best(focus, unused_columns, lambda column, focus=focus: _fits(focus, column))  # type: ignore[misc]
            if column is not None:
                texts[focus] = TextRule(column.name)
                unused_columns.remove(column)
    texts.setdefault("ServiceName", TextRule(value=name))
    texts.setdefault("ProviderName", TextRule(value=name))
    texts.setdefault("ChargeCategory", TextRule(value="Usage"))
    texts.setdefault("BillingCurrency", TextRule(value=_currency(columns, cost)))
    return texts


def _fits(focus: str, column: SampleColumn) -> bool:
    """Return whether the values fit the column: all in a fixed list, or three letters for a currency."""
    if focus == "BillingCurrency":
        return bool(column.values) and all(value.strip().upper() in _CODES for value in column.values)
    values = {spec.fold(value) for value in spec.ENUMERATIONS.get(focus, ())}
    return not values or (bool(column.values) and {spec.fold(value) for value in column.values} <= values)


def _currency(columns: Iterable[SampleColumn], cost: SampleColumn | None) -> str:
    """Return the currency in the column's name, as in `Betrag (EUR)`; else from its sign in the values (not $ or ¥)."""
    if cost is None:
        return ""
    codes = [code.upper() for code in _CODE.findall(cost.name) if code.upper() in _CODES]
    signs = [_SIGNS[sign] for sign in _SIGNS if any(sign in value for value in (cost.name, *cost.values))]
    return next(iter([*codes, *signs]), "")


def _tags(columns: Iterable[SampleColumn]) -> tuple[TagRule, ...]:
    keys: dict[str, str] = {}
    for column in columns:
        key = _TAG_PREFIX.sub("", column.name.strip())
        if key and (key != column.name.strip() or spec.fold(key) in _TAG_NAMES):
            keys.setdefault(key, column.name)
    return tuple(TagRule(name, key) for key, name in keys.items())
