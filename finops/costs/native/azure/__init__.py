"""Azure Cost Management exports of actual and amortized cost. See docs/native-formats.md, “Azure”."""
