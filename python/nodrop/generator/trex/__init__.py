"""TRex as a traffic generator, controlled by its RPC; start reading in measurer.py."""
