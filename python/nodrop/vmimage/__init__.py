"""The image of the loopback VM, built from Debian packages: start in build.py."""
