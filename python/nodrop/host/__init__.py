"""Host inventory: hardware, settings and free resources. Read-only. ETSI GS NFV-PER 001 clauses 6 to 8.1, annex A."""
