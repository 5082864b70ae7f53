"""Linux namespaces by system call: create, join, end together. No external program, nothing on disk.

A namespace created here has no name and no bind mount, so it lives as long as a process in it.

Source: namespaces(7), user_namespaces(7), unshare(2), setns(2), mount(2), prctl(2) PR_SET_PDEATHSIG.
"""

import contextlib
import ctypes
import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from nodrop.errors import StageError

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
MS_REC, MS_PRIVATE = 0x4000, 0x40000

ROOT = "root"
USER_NAMESPACE = "user namespace"


def unshare_network() -> None:
    """Move this process into a new, empty network namespace. Raises OSError."""
    _call("unshare", CLONE_NEWNET)


def unshare_lab() -> str:
    """Move this single-threaded process into a new network namespace, with or without privilege.

    Returns: `root` if its own rights were enough; `user namespace` if it had to become root of a new user namespace
    that maps only the caller's user.

    Raises: StageError naming the setting that forbids both.
    """
    try:
        unshare_network()
    except PermissionError:
        _unshare_user()
        return USER_NAMESPACE
    except OSError as error:
        raise StageError(_format_refusal("a network namespace", error)) from error
    return ROOT


def join_namespaces(pid: int) -> str:
    """Move this single-threaded process into the user and network namespaces of another process.

    Returns: `user namespace` if it became root of one, `root` otherwise.

    Raises: StageError if the process has ended or belongs to another user.
    """
    try:
        privilege = ROOT if _is_same_namespace(pid, "user") else USER_NAMESPACE
        if privilege == USER_NAMESPACE:
            _set_namespace(pid, "user", CLONE_NEWUSER)
        _set_namespace(pid, "net", CLONE_NEWNET)
    except FileNotFoundError:
        raise StageError(
            f"cannot join the namespaces of process {pid}: no such process; bring the lab up again"
        ) from None
    except PermissionError:
        raise StageError(
            f"cannot join the namespaces of process {pid}: permission denied; run this as the user who brought the "
            "lab up"
        ) from None
    except OSError as error:
        raise StageError(f"cannot join the namespaces of process {pid}: {error.strerror}") from error
    return privilege


@contextlib.contextmanager
def inside_network_of(pid: int) -> Iterator[None]:
    """Run the block in another process's network namespace (of the same user namespace), then return."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        _set_namespace(pid, "net", CLONE_NEWNET)
        try:
            yield
        finally:
            _call("setns", home, CLONE_NEWNET)
    finally:
        os.close(home)


def set_network_of(pid: int) -> None:
    """Move this process permanently into another's network namespace (of the same user namespace). Raises OSError."""
    _set_namespace(pid, "net", CLONE_NEWNET)


def set_mounts_of(pid: int) -> None:
    """Move this single-threaded process permanently into another's mount namespace. Raises OSError."""
    _set_namespace(pid, "mnt", CLONE_NEWNS)


def unshare_mounts() -> None:
    """Give this process a private mount namespace: its later mounts are not visible outside. Raises OSError."""
    _call("unshare", CLONE_NEWNS)
    _call("mount", b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)


def mount_tmpfs(directory: str) -> None:
    """Mount an empty tmpfs over a directory. Raises OSError."""
    _call("mount", b"tmpfs", directory.encode(), b"tmpfs", ctypes.c_ulong(0), b"mode=0700")


def mount_sysfs(directory: str) -> None:
    """Mount sysfs over a directory, showing this process's network namespace. Raises OSError."""
    _call("mount", b"sysfs", directory.encode(), b"sysfs", ctypes.c_ulong(0), None)


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when the thread that started it ends.

    A change of credentials, such as a new user namespace, clears PR_SET_PDEATHSIG: call this afterwards. If the parent
    has
    already ended, this process ends at once.
    """
    signal_on_parent_exit(parent_pid, signal.SIGKILL)


def signal_on_parent_exit(parent_pid: int, by: signal.Signals) -> None:
    """Have the kernel send a signal when the parent thread ends, for programs that clean up on that signal."""
    _call("prctl", PR_SET_PDEATHSIG, ctypes.c_ulong(by))
    if os.getppid() != parent_pid:
        os._exit(1)


def _unshare_user() -> None:
    uid, gid = os.geteuid(), os.getegid()
    try:
        _call("unshare", CLONE_NEWUSER | CLONE_NEWNET)
        # an unprivileged process may map a group only after giving up setgroups(2): user_namespaces(7)
        Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1", encoding="utf-8")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1", encoding="utf-8")
    except OSError as error:
        raise StageError(_format_refusal("a user namespace with a network namespace", error)) from error


def _format_refusal(namespaces: str, error: OSError) -> str:
    return f"cannot create {namespaces}: {error.strerror}; {_find_remedy(error)}"


def _find_remedy(error: OSError) -> str:
    """Return the fix for the first setting that explains the error."""
    if error.errno == errno.EINVAL:
        return "this kernel is built without CONFIG_USER_NS or CONFIG_NET_NS; run as root on a kernel that has them"
    for name in ("user.max_user_namespaces", "user.max_net_namespaces", "kernel.unprivileged_userns_clone"):
        if _read_setting(name) == "0":
            return f"run as root, or have root set: sysctl -w {name}={_ENOUGH[name]}"
    if error.errno == errno.ENOSPC:
        return "too many namespaces exist; raise sysctl user.max_user_namespaces and user.max_net_namespaces"
    if _read_setting("kernel.apparmor_restrict_unprivileged_userns") == "1":
        return (
            "AppArmor forbids user namespaces to unprivileged programs; run as root, or have root set: sysctl -w "
            "kernel.apparmor_restrict_unprivileged_userns=0"
        )
    return "run as root; in a container, start it with --cap-add SYS_ADMIN,NET_ADMIN,NET_RAW or --privileged"


_ENOUGH = {
    "user.max_user_namespaces": 1000,
    "user.max_net_namespaces": 1000,
    "kernel.unprivileged_userns_clone": 1,
}


def _read_setting(name: str) -> str | None:
    try:
        return Path("/proc/sys", *name.split(".")).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _is_same_namespace(pid: int, kind: str) -> bool:
    namespace, own_namespace = Path(f"/proc/{pid}/ns/{kind}").stat(), Path(f"/proc/self/ns/{kind}").stat()
    return (namespace.st_dev, namespace.st_ino) == (own_namespace.st_dev, own_namespace.st_ino)


def _set_namespace(pid: int, kind: str, flag: int) -> None:
    descriptor = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
    try:
        _call("setns", descriptor, flag)
    finally:
        os.close(descriptor)


def _call(function: str, *args: object) -> None:
    """Call a function of the C library that reports failure by a non-zero return value and errno."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*args) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), function)
