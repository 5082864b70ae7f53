"""Results and events for other programs: Fluentd, Prometheus, lines of JSON."""
