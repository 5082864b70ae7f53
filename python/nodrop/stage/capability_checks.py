"""Checks of what this machine allows, by trying it: each is quick, leaves nothing behind and never raises."""

import contextlib
import os
import platform
import re
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from nodrop.errors import GeneratorError, NodropError, StageError
from nodrop.formatting.doubts import QUOTA_REMEDY
from nodrop.model.base import Value
from nodrop.model.lab_plan import Forwarder, ForwarderPort, LabPlan
from nodrop.stage import namespace
from nodrop.stage.host_facts import CLOCK_SOURCE, read_cpu_flags, read_host, read_text
from nodrop.stage.netns import NetnsStage
from nodrop.stage.sut_process import PRIORITY, raise_priority
from nodrop.system.cpu_load import CpuLoadMeter, format_use, list_notable_uses
from nodrop.system.cpu_quota import CpuQuotaReader
from nodrop.system.native_binaries import find_binary
from nodrop.units import format_seconds

ETH_P_ALL = 0x0003
PROGRAM_TIMEOUT_S = 5.0
LOAD_WATCH_S = 1.0

RECOMMENDED_KERNEL = (4, 20)
"""Linux 4.20 added PACKET_IGNORE_OUTGOING, which keeps a tester port from receiving its own frames (packet(7))."""
RECOMMENDED_CORES = 2
RECOMMENDED_MEMORY_BYTES = 512 * 2**20
CHEAP_CLOCKS = frozenset({"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"})
"""Clock sources that are read without a system call."""
STEAL_MAX_RATIO = 0.01
AUTOGROUP_ENABLED = Path("/proc/sys/kernel/sched_autogroup_enabled")


class CapabilityCheck(Value):
    """One capability of this machine."""

    name: str
    ok: bool
    required: bool = False
    """Whether the default run fails without it; otherwise results may only be less precise."""
    found: str
    remedy: str = ""
    """What to do if the check fails."""


def list_checks() -> tuple[Callable[[], CapabilityCheck], ...]:
    """Return every check, in reading order."""
    return (
        check_kernel,
        check_namespaces,
        check_packet_sockets,
        check_lab,
        check_engine,
        check_vnf,
        check_cores,
        check_cpu_quota,
        check_priority,
        check_other_load,
        check_memory,
        check_clock,
        check_cpu_steal,
        check_frequency_governor,
    )


def check_kernel() -> CapabilityCheck:
    """Check the kernel version."""
    release = platform.release()
    version = tuple(int(number) for number in re.findall(r"\d+", release)[:2])
    return CapabilityCheck(
        name="kernel",
        ok=platform.system() == "Linux" and version >= RECOMMENDED_KERNEL,
        required=True,
        found=f"{platform.system()} {release}",
        remedy=f"run Linux {'.'.join(map(str, RECOMMENDED_KERNEL))} or later",
    )


def check_namespaces() -> CapabilityCheck:
    """Check that this process may create network namespaces."""
    privilege, refusal = _try_in_child(namespace.unshare_lab)
    privileges = {
        namespace.ROOT: "network namespace with this user's own rights",
        namespace.USER_NAMESPACE: "user and network namespace, no privilege needed",
    }
    return CapabilityCheck(
        name="namespaces", ok=not refusal, required=True, found=privileges.get(privilege, "refused"), remedy=refusal
    )


def check_packet_sockets() -> CapabilityCheck:
    """Check that AF_PACKET works inside a new namespace."""
    result, refusal = _try_in_child(_open_packet_socket)
    return CapabilityCheck(name="AF_PACKET", ok=not refusal, required=True, found=result or "refused", remedy=refusal)


def check_lab() -> CapabilityCheck:
    """Check that a lab of veth pairs and a bridge comes up."""
    near, far = (ForwarderPort(interface=name, mac="", peer_mac="") for name in ("sut0", "sut1"))
    plan = LabPlan(sut="bridge", sut_queue_slots=64, forwarders=(Forwarder(ports=(near, far)),))
    refusal = ""
    try:
        with NetnsStage(plan, "doctor") as stage:
            stage.check_alive()
    except StageError as error:
        refusal = str(error)
    result = "refused" if refusal else "veth pairs and a bridge came up and went down"
    return CapabilityCheck(name="lab", ok=not refusal, required=True, found=result, remedy=refusal)


def check_engine() -> CapabilityCheck:
    """Check that the packet engine is installed and runs."""
    return _check_program("engine", "nodrop-engine", GeneratorError)


def check_vnf() -> CapabilityCheck:
    """Check that the default SUT is installed and runs."""
    return _check_program("VNF", "nodrop-vnf", StageError)


def check_cores() -> CapabilityCheck:
    """Check the number of CPUs this process may use."""
    count = len(os.sched_getaffinity(0))
    meaning = {
        1: "tester and SUT share one core, so rates depend on the sharing; expect loss and wide bounds",
        2: "one for the tester, one for the SUT; any other load on this machine affects the results",
    }
    return CapabilityCheck(
        name="cores",
        ok=count >= RECOMMENDED_CORES,
        found=f"{count} usable: {meaning.get(count, 'tester and SUT get their own, others remain for the system')}",
        remedy=f"give this machine or container at least {RECOMMENDED_CORES} CPUs (taskset, cpuset)",
    )


def check_cpu_quota() -> CapabilityCheck:
    """Check that the control groups of this process let it use the CPUs that a run needs."""
    reader = CpuQuotaReader()
    quota = reader.read_quota()
    throttled_s = reader.read_throttled_s()
    throttled = f", throttled for {format_seconds(throttled_s)} so far" if throttled_s else ""
    return CapabilityCheck(
        name="CPU quota",
        ok=quota is None or not quota.describe_shortage(),
        found=f"{quota.cpu_count:g} CPUs in control group {quota.group}{throttled}" if quota else "none",
        remedy=QUOTA_REMEDY,
    )


def check_priority() -> CapabilityCheck:
    """Check that tester and SUT may run ahead of other work on their CPUs."""
    priorities, _ = _try_in_child(_raise_priority)
    process, session = (int(value) for value in (priorities or "0 0").split())
    counts = session if read_text(AUTOGROUP_ENABLED) == "1" else process
    return CapabilityCheck(
        name="priority",
        ok=counts < 0,
        found=f"nice value {counts}: tester and SUT run ahead of other work"
        if counts < 0
        else "nice value 0: tester and SUT share their CPUs evenly with other work",
        remedy=f"unset {PRIORITY}"
        if os.environ.get(PRIORITY) == "normal"
        else "run as root, or permit negative nice values (`USER - nice -20` in /etc/security/limits.conf)",
    )


def check_other_load() -> CapabilityCheck:
    """Check for a second that the CPUs are idle."""
    meter = CpuLoadMeter()
    time.sleep(LOAD_WATCH_S)
    busy = list_notable_uses(meter.read(), frozenset(os.sched_getaffinity(0)))
    return CapabilityCheck(
        name="other load",
        ok=not busy,
        found="; ".join(map(format_use, busy)) or "the CPUs are idle",
        remedy="stop the other work, or wait for its end: nodrop run --wait-idle 5min",
    )


def check_memory() -> CapabilityCheck:
    """Check the memory size."""
    memory_bytes = read_host().memory_bytes
    return CapabilityCheck(
        name="memory",
        ok=memory_bytes >= RECOMMENDED_MEMORY_BYTES,
        found=f"{memory_bytes / 2**30:.1f} GiB",
        remedy=f"give it {RECOMMENDED_MEMORY_BYTES // 2**20} MiB or more",
    )


def check_clock() -> CapabilityCheck:
    """Check that the clock is cheap to read and steady across cores."""
    source = read_text(CLOCK_SOURCE) or "unknown"
    flags = read_cpu_flags()
    steady = " and ".join(flag for flag in ("constant_tsc", "nonstop_tsc") if flag in flags)
    return CapabilityCheck(
        name="clock",
        ok=source in CHEAP_CLOCKS,
        found=f"{source}, {steady or 'the CPU does not guarantee a steady TSC'}",
        remedy=f"choose a clock source that is read without a system call; available: {_read_clock_sources()}",
    )


def check_cpu_steal() -> CapabilityCheck:
    """Check the share of CPU time that the hypervisor gave to other guests since boot."""
    ticks = [int(field) for field in read_text(Path("/proc/stat")).splitlines()[0].split()[1:9]]
    ratio = ticks[7] / max(1, sum(ticks))
    return CapabilityCheck(
        name="CPU steal",
        ok=ratio < STEAL_MAX_RATIO,
        found=f"{ratio:.2%} of CPU time since boot",
        remedy="measure on a host that is not overcommitted: stolen CPU time looks like loss",
    )


def check_frequency_governor() -> CapabilityCheck:
    """Check that the CPU runs at a fixed frequency."""
    governor = read_text(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
    return CapabilityCheck(
        name="CPU governor",
        ok=governor in ("", "performance"),
        found=governor or "none: the kernel does not control the CPU frequency",
        remedy="run `cpupower frequency-set --governor performance` for repeatable rates",
    )


def _raise_priority() -> str:
    """Return the nice values of a process that raised its priority, and of its session."""
    raise_priority()
    autogroup = read_text(Path("/proc/self/autogroup"))
    return f"{os.getpriority(os.PRIO_PROCESS, 0)} {autogroup.rpartition(' ')[2] or 0}"


def _open_packet_socket() -> str:
    namespace.unshare_lab()
    try:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, ETH_P_ALL):
            return "raw packet sockets inside the namespace"
    except OSError as error:
        raise StageError(
            f"cannot open an AF_PACKET socket: {error.strerror}; run a kernel with CONFIG_PACKET, or add NET_RAW to "
            "the container's capabilities"
        ) from error


def _check_program(name: str, program: str, error: type[NodropError]) -> CapabilityCheck:
    refusal = ""
    result = "missing"
    try:
        path = find_binary(program, error)
        process = subprocess.run(
            [path, "--version"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PROGRAM_TIMEOUT_S,
            check=True,
        )
        result = f"{process.stdout.strip()} ({path})"
    except NodropError as missing:
        refusal = str(missing)
    except (OSError, subprocess.SubprocessError) as broken:
        result, refusal = "does not run", f"{broken}; reinstall nodrop for this machine"
    return CapabilityCheck(name=name, ok=not refusal, required=True, found=result, remedy=refusal)


def _read_clock_sources() -> str:
    return read_text(CLOCK_SOURCE.with_name("available_clocksource")) or "none reported"


def _try_in_child(action: Callable[[], str]) -> tuple[str, str]:
    """Run an action that changes its process in a child; return its result and its error message, one of them empty."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        _write_reply(action, writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as answer:
        result, _, refusal = answer.read().partition("\0")
    os.waitpid(pid, 0)
    return result, refusal if result or refusal else "the child process died"


def _write_reply(action: Callable[[], str], writer: int) -> None:
    try:
        with contextlib.suppress(OSError):
            try:
                answer = action() + "\0"
            except StageError as error:
                answer = f"\0{error}"
            os.write(writer, answer.encode())
    finally:
        os._exit(0)
