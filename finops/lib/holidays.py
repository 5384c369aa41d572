"""Public holidays by country, from the library `holidays`. Pure."""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache


@lru_cache(maxsize=1)
def countries() -> dict[str, str]:
    """Country names by ISO 3166 code, in the order of names."""
    from holidays.registry import COUNTRIES

    names = {codes[1]: re.sub(r"(?<=[a-z])(?=[A-Z])", " ", codes[0]) for codes in COUNTRIES.values()}
    return dict(sorted(names.items(), key=lambda pair: pair[1]))


@lru_cache(maxsize=256)
def holidays_of(country: str, year: int) -> frozenset[date]:
    """Return the national public holidays of a year; none for a country that is blank or unknown. 1 ms, then cached."""
    if country not in countries():
        return frozenset()
    # Imported on first use: most processes never need it.
    from holidays import country_holidays

    return frozenset(country_holidays(country, years=year))
