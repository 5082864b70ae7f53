"""`python -m nodrop`."""

from nodrop.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
