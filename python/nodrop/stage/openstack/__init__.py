"""Service chains staged in OpenStack; start reading in stage.py."""
