"""Measures the numbers the project holds itself to, each beside a reference in the same run."""
