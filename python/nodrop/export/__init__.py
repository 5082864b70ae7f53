"""Export of results and events to other programs: Fluentd, Prometheus, JSON lines, tables, NFVbench JSON."""
