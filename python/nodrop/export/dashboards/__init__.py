"""Dashboards: Grafana for metrics or the results index, Kibana for shipped records."""
