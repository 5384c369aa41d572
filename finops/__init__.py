"""The FinOps console: the Django project and, folder by folder, its domain."""

import decimal

# Sums of DECIMAL(38, 18) need more than Python's 28 digits, or they round. New threads copy the default context.
decimal.DefaultContext.prec = 60
decimal.setcontext(decimal.DefaultContext.copy())
