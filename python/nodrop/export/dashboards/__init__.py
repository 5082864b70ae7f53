"""Dashboards for those who keep results elsewhere: Grafana over metrics or the index, Kibana over shipped records."""
