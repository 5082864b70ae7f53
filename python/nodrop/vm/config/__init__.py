"""VM Configuration: a placed VM in the formats of VM managers. ETSI GS NFV-PER 001 clauses 4 and 8.2.

Pure: values in, text out. `instance` combines VMD, placement and host and checks that they match; each format is a
module. Facts that a format cannot express become notes in its output.
"""
