"""One run, from plan to stored result. Start in `execute.py`."""
