"""What a machine is and what of it is free; nothing is changed. ETSI GS NFV-PER 001 clauses 6 to 8.1, annex A."""
