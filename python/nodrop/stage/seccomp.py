"""Lets programs that drop their groups run in a user namespace that has only one.

An unprivileged user namespace forbids setgroups(2), and tools that call it as a precaution, e.g. tcpdump, give up
when it fails. No other group exists there, so reporting success has the same effect.

Source: seccomp(2), <linux/filter.h>, <linux/audit.h>.
"""

import ctypes
import platform
import struct

PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
RETURN_ALLOW = 0x7FFF0000
RETURN_SUCCESS = 0x00050000
"""SECCOMP_RET_ERRNO with errno 0: the call is skipped and returns 0."""

LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
OFFSET_NUMBER, OFFSET_ARCHITECTURE = 0, 4
"""Fields of struct seccomp_data."""

SETGROUPS = {"x86_64": (0xC000003E, 116), "aarch64": (0xC00000B7, 159)}
"""Machine to its audit architecture and its number of setgroups(2)."""


def pretend_setgroups() -> None:
    """Make setgroups(2) do nothing and succeed, in this process and the programs it executes.

    Best effort: on other architectures, or where filters are refused, nothing changes.
    """
    if platform.machine() not in SETGROUPS:
        return
    architecture, number = SETGROUPS[platform.machine()]
    instructions = b"".join(
        struct.pack("=HBBI", *instruction)
        for instruction in (
            (LOAD_WORD, 0, 0, OFFSET_ARCHITECTURE),
            (JUMP_IF_EQUAL, 0, 3, architecture),
            (LOAD_WORD, 0, 0, OFFSET_NUMBER),
            (JUMP_IF_EQUAL, 0, 1, number),
            (RETURN, 0, 0, RETURN_SUCCESS),
            (RETURN, 0, 0, RETURN_ALLOW),
        )
    )
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    program = struct.pack("@HP", len(instructions) // 8, ctypes.addressof(buffer))
    ctypes.CDLL(None).prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), program)
