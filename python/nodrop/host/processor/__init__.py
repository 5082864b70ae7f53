"""The processor: what it can do, and what of it is switched on. Source: ETSI GS NFV-PER 001 clause 8.1.1.1."""

from nodrop.host.processor import naming
from nodrop.host.processor.chip import look
from nodrop.host.source import Source
from nodrop.model.chd import Processor


def describe(source: Source) -> Processor:
    """The processor, of sockets that are alike the first."""
    chip = look(source)
    return Processor(
        architecture=naming.architecture(chip),
        vendor=naming.vendor(chip),
        model=naming.model(chip),
        family=naming.family(chip),
        model_number=naming.model_number(chip),
        stepping=naming.stepping(chip),
        microcode=naming.microcode(chip),
    )
