"""What each trial of a search can change and did change; recorded searches decided again."""
