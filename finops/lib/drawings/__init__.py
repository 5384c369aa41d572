"""Charts drawn by the server, for paper and for email, where no script runs: one geometry (`columns`), written as SVG
(`svg`) or as PNG (`png`)."""
