"""What the host says about the path under test during a trial."""
