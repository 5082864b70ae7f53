"""`python -m nodrop`, and what the command `nodrop` starts."""

import signal


def start() -> int:
    """Load the command line and run it; gives the exit code. Ctrl-C while it loads ends it without a word."""
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from nodrop.cli import main

    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()


if __name__ == "__main__":
    raise SystemExit(start())
