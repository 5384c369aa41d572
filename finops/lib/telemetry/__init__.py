"""Telemetry of the running programs for operators: the current work (`context`), logs (`logs`), metrics (`metrics`).

Nothing here needs Django or a database. `finops.telemetry` has the parts that do: the middleware, the page /metrics.
"""
