"""The REST server: NFVbench's HTTP interface and nodrop's own; one run at a time, each in its own process.

    request ─► auth_middleware ─► run_request (parse, check) ─► RunQueue ─► worker process ─► results
                                                                  │  journal on disk ◄─ events, line by line
                                                                  └► responses, server-sent events

Start in app.py; `nodrop serve` and `nodrop client` are the command-line interface.
"""
