"""What operators see of the running programs: the work at hand (`context`), logs (`logs`), metrics (`metrics`).

Nothing here needs Django or a database. `finops.telemetry` has what does: the middleware, the page /metrics.
"""
