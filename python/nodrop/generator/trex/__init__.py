"""TRex as a generator, by its RPC: start in measurer.py."""
