"""Service chains staged in OpenStack: start in stage.py."""
