"""The nouns every other room speaks: frozen values, no I/O."""
