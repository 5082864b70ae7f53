"""Logs and results to Fluentd and Fluent Bit: the forward protocol, and a buffer on disk (docs/decisions/0017)."""
