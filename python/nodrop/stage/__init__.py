"""Bringing the path under test up and down."""
