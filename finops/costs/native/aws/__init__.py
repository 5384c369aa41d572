"""The parts of the mapping of AWS Cost and Usage Reports."""
