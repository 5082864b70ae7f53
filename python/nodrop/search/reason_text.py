"""How loads and widths read in the reasons a search gives."""


def load_text(load_pps: float) -> str:
    """A load with five significant digits, enough to tell neighbours of one search apart."""
    for unit, scale in (("Gpps", 1e9), ("Mpps", 1e6), ("kpps", 1e3)):
        if load_pps >= scale:
            return f"{load_pps / scale:.5g} {unit}"
    return f"{load_pps:.5g} pps"


def width_text(width_ratio: float) -> str:
    """A relative width in percent."""
    return f"{width_ratio * 100:.3g} %"
