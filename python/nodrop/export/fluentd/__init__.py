"""Delivery of logs and results to Fluentd and Fluent Bit: forward protocol and disk buffer (docs/decisions/0017)."""
