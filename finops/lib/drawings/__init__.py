"""Charts drawn by the server, for paper and for e-mail, where no script runs: one geometry (`columns`), written as SVG
(`svg`) or as PNG (`png`)."""
