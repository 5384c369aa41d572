"""How dates, times, amounts, shares and quantities are written for people: pages, e-mails, charts, widgets.

`locales` says in which locale and time zone, `numbers` and `dates` write. Tools and CSV are exact and ISO: they use none
of this. The browser writes with the same symbols (`static/js/lib/numbers.js`), see docs/adr/0045-formats.md.
"""
