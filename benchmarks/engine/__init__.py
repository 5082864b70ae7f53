"""Rates at which nodrop and other generators send and receive on a veth pair, side by side in one run."""
