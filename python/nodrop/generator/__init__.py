"""Measurers: what turns a Trial into a TrialResult."""
