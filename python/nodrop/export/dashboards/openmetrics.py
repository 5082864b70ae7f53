"""A Grafana dashboard over what Prometheus scrapes of `nodrop serve`, or reads of `--openmetrics` files."""

from nodrop.export.dashboards.grafana import Dashboard, GrafanaPanel, Query, Variable
from nodrop.export.dashboards.labels import ALLOWED, LATENCY, LIMIT, LOAD, LOAD_BY_SIZE, LOSS, RUNNING, TRIALS

SIZE = 'frame_size=~"$frame_size"'
GOAL = f'{SIZE}, goal=~"$goal"'
LOWER = f'nodrop_goal_load_pps{{{GOAL}, bound="lower"}}'


def build_dashboard() -> Dashboard:
    """What runs, what the last runs found, and how far it can be trusted."""
    return Dashboard(
        uid="nodrop-openmetrics",
        title="nodrop",
        meaning="Runs of nodrop as Prometheus sees them: the last one of each frame size, and the one that goes on.",
        source="prometheus",
        variables=(
            Variable("frame_size", "Frame size", "label_values(nodrop_run_info, frame_size)"),
            Variable("goal", "Goal", "label_values(nodrop_goal_load_pps, goal)"),
        ),
        rows={"Now": NOW, "Found": FOUND, "Trust": TRUST},
        since="now-24h",
    )


NOW = (
    GrafanaPanel(
        *("Measuring", "Whether a run goes on.", "stat", ""),
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
        *("Loss of the trial that goes on", "Frames certainly lost so far, of those sent.", "timeseries", "ratio"),
        (Query("nodrop_running_trial_lost_frames / (nodrop_running_trial_offered_frames > 0)", "lost"),),
        width=6,
    ),
)
FOUND = (
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
        width=12,
    ),
    GrafanaPanel(
        *(LOSS.title, LOSS.meaning, "timeseries", LOSS.unit),
        (
            Query(f'nodrop_goal_loss_ratio{{{GOAL}, bound="lower"}}', "{{goal}}, {{frame_size}} bytes"),
            Query(f"nodrop_goal_allowed_loss_ratio{{{GOAL}}}", f"{{{{goal}}}} {ALLOWED}, {{{{frame_size}}}} bytes"),
            Query(f"nodrop_fixed_loss_ratio{{{SIZE}}}", "fixed rate, {{frame_size}} bytes"),
        ),
        width=12,
    ),
)
TRUST = (
    GrafanaPanel(
        *(LIMIT.title, LIMIT.meaning, "table", ""),
        (Query(f"nodrop_goal_limit{{{GOAL}}} == 1", now=True),),
        width=12,
    ),
    GrafanaPanel(
        *(TRIALS.title, TRIALS.meaning, "bargauge", "frames"),
        (Query(f"sum by (verdict) (nodrop_run_trials{{{SIZE}}})", "{{verdict}}", now=True),),
        width=6,
    ),
    GrafanaPanel(
        *("Dropped by the tester", "Frames that came back and that the tester itself lost.", "stat", "frames"),
        (Query(f"nodrop_run_tester_drop_frames{{{SIZE}}}", "{{frame_size}} bytes", now=True),),
        width=6,
    ),
)
