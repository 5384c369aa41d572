"""The command line of a FinOps console."""

VERSION = "0.1.0"
