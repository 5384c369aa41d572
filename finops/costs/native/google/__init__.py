"""Google's billing export to BigQuery, standard and detailed. See docs/native-formats.md, “Google Cloud”."""
