"""What the mapping of AWS Cost and Usage Reports consists of."""
