"""The path check of a run: frames through every chain, repeated while VMs boot."""

from collections.abc import Callable

from nodrop.errors import NoPathError
from nodrop.generator.base import Measurer
from nodrop.run.recorder import RunRecorder
from nodrop.stage.base import Stage


def check_path(
    stage: Stage, generator: Measurer, recorder: RunRecorder, clock: Callable[[], float], timeout_s: float
) -> None:
    """Send frames through every chain until they arrive or the time is over, then restage once; record the result.

    Raises: NoPathError.
    """
    end_s = clock() + timeout_s
    restaged: tuple[int, ...] = ()
    while True:
        try:
            recorder.record_path(generator.check_path(), stage.facts)
            return
        except NoPathError as fault:
            if clock() < end_s:
                stage.check_alive()
            elif stage.restage(fault.chains):
                restaged = fault.chains
                end_s = clock() + timeout_s
            elif restaged:
                chains = ", ".join(map(str, restaged))
                note = f"the VMs of chain {chains} were re-created once in the meantime"
                raise NoPathError(f"{fault}; {note}", fault.chains) from None
            else:
                raise
