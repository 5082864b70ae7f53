"""A worker that measures nothing: it behaves as the label of its request states, over the real protocol."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn


def say(event: str, **content: Any) -> None:
    print(json.dumps({"event": event, "data": content}), flush=True)


def tell_progress(index: int) -> None:
    say("TrialProgress", index=index, elapsed_s=0.5, offered_count=10, received_count=9, lost_count=1)


def interrupted(*_: object) -> NoReturn:
    say("WorkerDone", exit_code=130, error="stopped by SIGINT")
    sys.exit(130)


def main() -> int:
    request = json.loads(sys.stdin.readline())
    label = request["body"].get("label")
    results = Path(request["config"]["results_dir"])
    with (results / "begun").open("a") as file:
        file.write(f"{label} {os.getpid()}\n")
    match label:
        case "crash":
            print("about to fall", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        case "wait":
            signal.signal(signal.SIGINT, interrupted)
            tell_progress(0)
            time.sleep(60)
        case "stubborn":
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            tell_progress(0)
            time.sleep(60)
        case "garbage":
            print("this is no event", flush=True)
            time.sleep(60)
        case "blocked":
            signal.signal(signal.SIGINT, interrupted)
            wait = {"run_id": "20260131T120000Z-abcdef", "user": "alice", "process_id": 4711}
            say("Wait", **wait, since="2026-01-31T12:00:00Z", resource="CPU 0")
            time.sleep(60)
        case "fail":
            say("WorkerDone", exit_code=3, error="lab: refused by the kernel")
            return 3
        case str() if label.startswith("incomplete "):
            say("RunDone", run_id=label.removeprefix("incomplete "), status="complete", error=None)
            say("WorkerDone", exit_code=5, error="no load meets NDR")
            return 5
    for index in range(3):
        tell_progress(index)
    say("WorkerDone", exit_code=0, error=None)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
