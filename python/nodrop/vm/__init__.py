"""VM requirements, placement and configuration. ETSI GS NFV-PER 001 clauses 4 and 8.2."""
