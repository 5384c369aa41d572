"""The recommended commitment purchase, and what that advice would have saved in each of the last twelve months (ADR
0096)."""
