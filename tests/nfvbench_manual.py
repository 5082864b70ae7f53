"""Every command line of NFVbench's manual, without the program's name, and its expected configuration.

Only paths differ: `nfvbench.cfg` stands for every configuration file, `results.json` for every result. Typesetting
is undone: broken lines are joined, lost quotes restored; a stray `,` stays.
"""

from typing import Any, NamedTuple


class Line(NamedTuple):
    """A command line as printed."""

    text: str
    page: str
    """The manual's section."""
    keys: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """Dotted keys of the resulting configuration."""
    command: str = ""
    """The command that replaces the run."""
    remark: str = ""
    """Parts that are reported as planned, or as without meaning here."""


LOOPBACK = {"sut": "wire", "frame_sizes": (64,), "rate": "100%", "duration": 10.0, "neighbors.resolve": False}
LINES = (
    Line("--version", "is it working", command="version"),
    Line("--help", "is it working", command="help"),
    Line("-c nfvbench.cfg --rate 10kpps", "a single run", {"rate": "10kpps"}),
    Line("--show-default-config", "the default configuration", command="config"),
    Line("-c nfvbench.cfg --rate 1%", "a single run at 1 %", {"rate": "1%"}),
    Line("-c nfvbench.cfg -fs 1518", "NDR and PDR of 1518 bytes", {"frame_sizes": (1518,), "rate": "ndr_pdr"}),
    Line("-c nfvbench.cfg", "NDR and PDR", {"rate": "ndr_pdr", "goals": {"NDR": 1e-5, "PDR": 1e-3}}),
    Line('-c "flow_count: 100k"', "flows, inline", {"flow_count": 100_000}),
    Line('-c "{flow_count: 100k}"', "flows, inline", {"flow_count": 100_000}),
    Line("--flow-count 100k", "flows, by flag", {"flow_count": 100_000}),
    Line('-c "{flow_count: 100k, debug: true}" --show-config', "the running configuration", command="config"),
    Line("--show-config", "the running configuration", command="config"),
    Line("--show-json-config", "the running configuration", command="config"),
    Line("--no-traffic", "check connectivity and configuration", {"no_traffic": True}),
    Line("-0", "check connectivity and configuration", {"no_traffic": True}),
    Line("--restart", "force TRex to restart", {"rate": "ndr_pdr"}, remark="restart"),
    Line(
        "-c nfvbench.cfg --no-cleanup --rate 100000pps --duration 30 --interval 15 --json results.json",
        "a fixed rate run",
        {"rate": "100000pps", "duration": 30.0, "interval": 15.0},
        remark="no_cleanup",
    ),
    Line("--show-summary results.json", "a result again", command="show"),
    Line("-ss results.json", "a result again", command="show"),
    Line(
        "-c nfvbench.cfg --rate 1Mbps --inter-node --service-chain PVVP",
        "another packet path",
        {"rate": "1Mbps", "hops": 2},
        remark="--inter-node",
    ),
    Line("-c nfvbench.cfg --duration 120 --json results.json", "longer trials", {"search.final_trial_duration": 120.0}),
    Line("-c nfvbench.cfg --rate 10000pps -scc 3", "3 chains", {"rate": "10000pps", "chains": 3}),
    Line(
        "-c nfvbench.cfg --rate 10000pps -scc 3 -fc 100",
        "100 flows over 3 chains",
        {"rate": "10000pps", "chains": 3, "flow_count": 100},
    ),
    Line(
        "-c nfvbench.cfg --rate 100000pps -scc 3 -fc 100",
        "100 flows over 3 chains",
        {"rate": "100000pps", "chains": 3, "flow_count": 100},
    ),
    Line(
        "--rate 10kpps --service-chain-count 2 -fs 64 -fs IMIX -fs 1518 --unidir",
        "traffic by flags",
        {"rate": "10kpps", "chains": 2, "frame_sizes": (64, "IMIX", 1518), "bidirectional": False},
    ),
    Line(
        "-c nfvbench.cfg --frame-size=64 --rate=100% --duration=10 --l2-loopback=123",
        "loopback, a VLAN",
        LOOPBACK | {"chains": 1, "vlans": ((123,), (123,))},
    ),
    Line(
        "-c nfvbench.cfg -fs=64 --rate=100% --duration=10 --l2-loopback=123,124,125",
        "loopback, a list of VLANs",
        LOOPBACK | {"chains": 3, "vlans": ((123, 124, 125), (123, 124, 125))},
    ),
    Line(
        "-c nfvbench.cfg -fs=64 --rate=100% --duration=10 --l2-loopback=no-tag",
        "loopback without VLANs",
        LOOPBACK | {"chains": 1, "vlans": None},
    ),
    Line(
        "-c nfvbench.cfg -fs=64 --rate=100% --duration=10 --l2-loopback=111_211",
        "loopback, another VLAN on the right",
        LOOPBACK | {"chains": 1, "vlans": ((111,), (211,))},
    ),
    Line(
        "-c nfvbench.cfg -fs=64 --rate=100% --duration=10 --l2-loopback=111,112_211,212",
        "loopback, other VLANs on the right",
        LOOPBACK | {"chains": 2, "vlans": ((111, 112), (211, 212))},
    ),
    Line(
        "-c nfvbench.cfg -fs=64 --rate=100% --duration=10 --l2-loopback=true",
        "loopback, from the settings there are",
        LOOPBACK | {"chains": 1},
    ),
    Line("-c nfvbench.cfg --l2-loopback=false", "loopback off", {"sut": "vnf-l2"}),
    Line("--status -r openrc", "what there is", command="status"),
    Line("--cleanup -r openrc", "be rid of it", command="cleanup"),
    Line("--force-cleanup", "be rid of it, unasked", command="cleanup"),
    Line("--service-mode", "look at the frames", {"rate": "ndr_pdr", "capture.file": "service-mode.pcapng"}),
    Line(
        """--user-info='{"status":"explore","description":{"target":"lab","ok":true,"version":2020}}'""",
        "anything kept with the result",
        {"user_info": {"status": "explore", "description": {"target": "lab", "ok": True, "version": 2020}}},
    ),
    Line(
        """--user-info='{"extra_encapsulation_bytes": 28}'""",
        "the theoretical rate",
        {"user_info": {"extra_encapsulation_bytes": 28}},
    ),
    Line("--no-flow-stats", "spare TRex", {"rate": "ndr_pdr"}, remark="no_flow_stats"),
    Line("--no-latency-streams", "spare TRex", {"latency.enabled": False}),
    Line("--no-latency-stats", "spare TRex", {"latency.enabled": False}),
    Line(
        "-c nfvbench.cfg --rate 10Mpps --duration 1 -scc 2 --no-cleanup",
        "in a log",
        {"rate": "10Mpps", "duration": 1.0, "chains": 2},
        remark="no_cleanup",
    ),
    Line(
        "-c nfvbench.cfg --rate 1Mpps --duration 1 -scc 2 --no-cleanup",
        "in a log",
        {"rate": "1Mpps", "duration": 1.0, "chains": 2},
        remark="no_cleanup",
    ),
)

CONFIGURATION = """
traffic_generator:
  ip_addrs: ['110.0.0.0/8', '120.0.0.0/8']
  ip_addrs_step: 0.0.0.1
  tg_gateway_ip_addrs: ['1.1.0.100', '2.2.0.100']
  tg_gateway_ip_addrs_step: 0.0.0.1
  gateway_ip_addrs: ['1.1.0.2', '2.2.0.2']
  gateway_ip_addrs_step: 0.0.0.1
measurement:
  NDR: 0.001
  PDR: 0.1
  load_epsilon: 0.1
"""
"""Configuration files of these command lines in the manual."""
