"""The controllers: pure, one file each. Numbers in, numbers out; no clock, no I/O."""
