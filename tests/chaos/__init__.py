"""Chaos tests: the console's dependencies are killed, filled up, suspended and restored while ten tenants use the
console.

`make chaos` runs them for half an hour and prints the table.
"""
