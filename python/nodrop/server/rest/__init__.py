"""The server: NFVbench's HTTP interface and nodrop's own, one run at a time, each in a process of its own.

    request ─► guard ─► body (checked, refused, loaded) ─► Runs (the queue) ─► worker process ─► results
                                                             │  journal on disk ◄─ events, line by line
                                                             └► answers, server-sent events

Start in app.py; `nodrop serve` and `nodrop client` are the command line of it.
"""
