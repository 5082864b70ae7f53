"""The image of the loopback VM, built from packages of Debian: start in build.py."""
