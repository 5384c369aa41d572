"""How dates, times, amounts, shares and quantities are formatted for people: pages, emails, charts, widgets.

`locales` decides locale and time zone, `numbers` and `dates` format. Tools and CSV are exact and ISO: they use none of
this. The browser formats with the same symbols (`static/js/lib/numbers.js`), see docs/adr/0045-one-formatter-with-cldr-symbols-in-python-and-javascript.md.
"""
