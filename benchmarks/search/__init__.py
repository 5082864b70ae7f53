"""Time and error of searches on simulated SUTs, nodrop's own beside the published releases."""
