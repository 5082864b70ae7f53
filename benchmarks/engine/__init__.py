"""Packet rates of nodrop and of other generators on a veth pair, compared in one run."""
