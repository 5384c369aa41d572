"""A console under faults: everything it needs is killed, filled, hung and brought back, beside ten tenants who use it.

`make chaos` runs it for half an hour and prints the table.
"""
