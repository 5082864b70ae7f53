"""Sentences of doubts about trials, by code."""

from collections.abc import Mapping

QUOTA_REMEDY = "allow this container two CPUs (docker run --cpus 2, resources.limits.cpu: 2, CPUQuota=200%)"
"""The fix for trials with the doubt `cpu_throttled`."""

DOUBTS: Mapping[str, tuple[str, ...]] = {
    "aborted": (
        "TRex stopped sending after {sent_s:duration} of {duration_s:duration} without a request from nodrop; another "
        "client may use the server",
        "stopped early on request",
    ),
    "burst_fast": (
        "up to {ahead_count:frame_count} of the burst left ahead of its rate, which may be why it lost some",
    ),
    "burst_rate": ("the tester sends bursts at {rate_pps:pps}, the line rate is {required_pps:pps} each way",),
    "burst_slow": ("the tester stalled: the burst left at {rate_pps:pps} instead of {required_pps:pps}",),
    "clock_jump": (
        "the wall clock was set by {jump_s:duration} during the trial; latency and times may be off by as much",
    ),
    "counters_frozen": (
        "TRex could not assign any of {received_count:count} frames received at port {port} to a stream; the SUT may "
        "rewrite the IP identification that TRex uses (trex.flow_stats: false counts by port)",
    ),
    "cpu_throttled": (
        "the CPU quota of {cpu_count:g} CPUs stopped tester or SUT for {throttled_s:duration} of CPU time",
    ),
    "cpu_steal": ("the hypervisor stole {steal_ratio:ratio} of CPU time",),
    "disturbed": (
        "other work disturbed {disturbed_s:duration} ({disturbed_ratio:ratio} of the trial), without which "
        "{undisturbed_loss_ratio:ratio} of the frames are lost: {culprits}",
        "other work disturbed {disturbed_s:duration} ({disturbed_ratio:ratio} of the trial), without which "
        "{undisturbed_loss_ratio:ratio} of the frames are lost",
        "other work disturbed {disturbed_s:duration} ({disturbed_ratio:ratio} of the trial), which is left out: "
        "{culprits}",
        "other work disturbed {disturbed_s:duration} ({disturbed_ratio:ratio} of the trial), which is left out",
    ),
    "engine_died": ("{error}, {elapsed_s:.2f} s into the trial, {offered_count:frame_count} sent",),
    "generator_gone": ("{error}; {elapsed_s:.2f} s into the trial, {offered_count:frame_count} sent",),
    "held_up": (
        "the tester, on time for most frames, stalled for up to {longest_s:duration}; its {unsent_count:count} unsent "
        "frames would decide this trial",
    ),
    "misdelivered": (
        "{misdelivered_count:count} of {compared_count:frame_count} whose headers were compared arrived with others "
        "than the SUT must write: those of another subscriber or next hop",
    ),
    "offered_short": (
        "{unsent_count:count} of {intended_count:frame_count} ({unsent_ratio:ratio}) were not sent in time: "
        "{generator} fell behind its schedule; they count as lost",
        "{unsent_count:count} of {intended_count:frame_count} ({unsent_ratio:ratio}) were not sent in time; they count "
        "as lost",
    ),
    "queue_full": ("TRex's send queues were full {full_count:time_count} while it sent {offered_count:frame_count}",),
    "receiver_starved": ("a receive queue was not read for {unread_s:duration}; it fills in {fill_s:duration}",),
    "sender_drops": (
        "TRex dropped {dropped_count:frame_count} in its send queues, or could not send them, but counted them as sent",
    ),
    "sender_late": (
        "{generator} fell {late_s:duration} behind its schedule and caught up in a burst",
        "the tester fell {late_s:duration} behind its schedule and caught up in a burst",
    ),
    "sender_stalled": (
        "the tester stalled {stall_count:time_count}, for up to {longest_s:duration}; it catches up at most "
        "{catch_up_s:duration} and did not send {unsent_count:frame_count}",
    ),
    "stopped_for_late": (
        "stopped for lost frames, all but {lost_count:count} of which then arrived; the next trial waits longer for "
        "late frames",
    ),
    "sut_preempted": (
        "other work kept the SUT off its CPU for {waited_s:duration} ({waited_ratio:ratio} of the trial)",
    ),
    "tester_busy": (
        "TRex's sending threads ({thread_count}) were busy for {sender_busy_ratio:ratio} of their time",
        "TRex's receiving thread was busy for {receiver_busy_ratio:ratio} of its time",
    ),
    "tester_drops": (
        "{generator}'s ports dropped {dropped_count:frame_count} on arrival (ierrors)",
        "the tester dropped {dropped_count:frame_count} in its own receive path",
    ),
    "tester_preempted": (
        "the tester waited {waited_s:duration} for its CPU because of other work ({waited_ratio:ratio} of the trial)",
    ),
}
