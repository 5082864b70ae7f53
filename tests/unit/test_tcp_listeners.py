"""Processes that listen at a port."""

import os
import socket

import pytest

from nodrop.system.tcp_listeners import is_local, list_listener_pids


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6"])
def test_a_process_is_found_by_the_port_at_which_it_listens(family: socket.AddressFamily) -> None:
    with socket.socket(family) as listener:
        listener.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert list_listener_pids(port) == ()
        listener.listen()
        assert list_listener_pids(port) == (os.getpid(),)
    assert list_listener_pids(port) == ()


def test_a_host_is_local_by_its_loopback_address() -> None:
    assert is_local("127.0.0.1") and is_local("localhost")
    assert not is_local("192.0.2.7")
