"""The pages that `nodrop serve` shows beside its REST interface."""
