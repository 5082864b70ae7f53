"""Time and error of searches on simulated SUTs: nodrop's own compared with the published releases of MLRsearch."""
