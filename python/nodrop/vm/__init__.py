"""What a VM needs, where it fits and how it is configured there. ETSI GS NFV-PER 001 clauses 4 and 8.2."""
