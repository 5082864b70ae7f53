"""What a person sees of a run, while it goes on and afterwards. Reads events and RunResult only."""
