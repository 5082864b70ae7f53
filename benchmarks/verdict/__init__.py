"""Error rates and power of `nodrop compare` and `nodrop trend`."""
