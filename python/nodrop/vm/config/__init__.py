"""VM Configuration: a placed VM, as those who start VMs want it written. ETSI GS NFV-PER 001 clauses 4 and 8.2.

Pure: values in, text out. `instance` puts VMD, placement and host together and says what does not fit; each format is
a file. What a format cannot say goes into its notes, never away.
"""
