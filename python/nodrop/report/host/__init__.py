"""Hosts for people: what a Compute Host Descriptor says, and what it could not find out."""
