"""A Grafana dashboard over metrics that Prometheus scrapes from `nodrop serve` or reads from `--openmetrics` files."""

from nodrop.export.dashboards.grafana import Dashboard, GrafanaPanel, Query, Variable
from nodrop.export.dashboards.labels import ALLOWED, LATENCY, LIMIT, LOAD, LOAD_BY_SIZE, LOSS, RUNNING, TRIALS

SIZE = 'frame_size=~"$frame_size"'
GOAL = f'{SIZE}, goal=~"$goal"'
LOWER = f'nodrop_goal_load_pps{{{GOAL}, bound="lower"}}'


def build_dashboard() -> Dashboard:
    """Build the dashboard: the current run, the last results, and their validity."""
    return Dashboard(
        uid="nodrop-openmetrics",
        title="nodrop",
        meaning="Runs of nodrop in Prometheus: the last run of each frame size, and the current run.",
        source="prometheus",
        variables=(
            Variable("frame_size", "Frame size", "label_values(nodrop_run_info, frame_size)"),
            Variable("goal", "Goal", "label_values(nodrop_goal_load_pps, goal)"),
        ),
        rows={"Current run": CURRENT, "Results": RESULTS, "Validity": VALIDITY},
        since="now-24h",
    )


CURRENT = (
    GrafanaPanel(
        *("Measuring", "Whether a run is in progress.", "stat", ""),
        (Query("nodrop_running", now=True),),
        width=4,
        texts=(("0", "idle"), ("1", "measuring")),
    ),
    GrafanaPanel(
        *(RUNNING.title, RUNNING.meaning, "timeseries", RUNNING.unit),
        (
            Query("nodrop_running_trial_load_pps", "trial"),
            Query("nodrop_running_goal_load_pps", "{{goal}} {{bound}}"),
        ),
        width=14,
    ),
    GrafanaPanel(
        *(
            "Loss in the current trial",
            "Frames known to be lost so far, as a share of sent frames.",
            "timeseries",
            "ratio",
        ),
        (Query("nodrop_running_trial_lost_frames / (nodrop_running_trial_offered_frames > 0)", "lost"),),
        width=6,
    ),
)
RESULTS = (
    GrafanaPanel(
        *(LOAD_BY_SIZE.title, LOAD_BY_SIZE.meaning, "bargauge", LOAD_BY_SIZE.unit),
        (Query(LOWER, "{{goal}}, {{frame_size}} bytes", now=True),),
        width=8,
    ),
    GrafanaPanel(
        *(LOAD.title, LOAD.meaning, "timeseries", LOAD.unit),
        (Query(LOWER, "{{goal}}, {{frame_size}} bytes"),),
        width=16,
    ),
    GrafanaPanel(
        *(LATENCY.title, LATENCY.meaning, "timeseries", "seconds"),
        (
            Query(
                f'max by (frame_size, at, statistic) (nodrop_latency_seconds{{{SIZE}, statistic=~"p50|p99|max"}})',
                "{{statistic}} at {{at}}, {{frame_size}} bytes",
            ),
        ),
    ),
    GrafanaPanel(
        *(LOSS.title, LOSS.meaning, "timeseries", LOSS.unit),
        (
            Query(f'nodrop_goal_loss_ratio{{{GOAL}, bound="lower"}}', "{{goal}}, {{frame_size}} bytes"),
            Query(f"nodrop_goal_allowed_loss_ratio{{{GOAL}}}", f"{{{{goal}}}} {ALLOWED}, {{{{frame_size}}}} bytes"),
            Query(f"nodrop_fixed_loss_ratio{{{SIZE}}}", "fixed rate, {{frame_size}} bytes"),
        ),
    ),
)
VALIDITY = (
    GrafanaPanel(
        *(LIMIT.title, LIMIT.meaning, "table", ""),
        (Query(f"nodrop_goal_limit{{{GOAL}}} == 1", now=True),),
    ),
    GrafanaPanel(
        *(TRIALS.title, TRIALS.meaning, "bargauge", "frames"),
        (Query(f"sum by (verdict) (nodrop_run_trials{{{SIZE}}})", "{{verdict}}", now=True),),
        width=6,
    ),
    GrafanaPanel(
        *("Dropped by the tester", "Received frames that the tester dropped.", "stat", "frames"),
        (Query(f"nodrop_run_tester_drop_frames{{{SIZE}}}", "{{frame_size}} bytes", now=True),),
        width=6,
    ),
)
