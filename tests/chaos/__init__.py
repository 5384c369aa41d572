"""A console under faults: everything it needs is killed, filled, hung and brought back, beside ten tenants who use it.

`make chaos` runs it for half an hour, `tests/chaos/test_chaos.py` for three minutes; docs/chaos.md has the last table.
"""
