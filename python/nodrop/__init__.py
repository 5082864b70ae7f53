"""nodrop finds the highest packet rate a data plane forwards without loss. Start reading at `nodrop.run.execute`."""

__version__ = "0.1.0"
