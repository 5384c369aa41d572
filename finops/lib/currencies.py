"""The currencies that bills and budgets can be in."""

from __future__ import annotations

from finops.lib.errors import UserError, nearest_choices

# ISO 4217, the active codes of national currencies (list one of the maintenance agency, 2026-01-01).
ISO_4217 = frozenset(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP
    CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR
    IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU
    MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG
    SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV
    WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
    """.split()  # noqa: SIM905 a list of 154 strings is no easier to read
)


def currency_code(text: str, *, field: str = "currency") -> str:
    """Return the currency code in capitals. Raises UserError, with the nearest codes, for a code that is not in ISO 4217."""
    code = text.strip().upper()
    if code in ISO_4217:
        return code
    close = nearest_choices(code[:20], sorted(ISO_4217))
    advice = f" Nearest: {', '.join(close)}." if close else ""
    raise UserError(
        f"{field}: {text[:20]!r} is not an ISO 4217 currency, such as USD or EUR.{advice}",
        field=field,
        value=text[:20],
    )
