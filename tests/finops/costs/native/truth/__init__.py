"""What bills in native formats come to, computed from their raw rows without the product: csv, pyarrow's rows and Decimal."""
