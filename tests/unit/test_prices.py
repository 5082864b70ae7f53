"""Prices from runs whose truth is known: synthetic figures, and entire suites against simulated forwarders."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.hosts import Shape, host
from tests.running import NullStage
from tests.unit.test_charts import require_sound
from tests.verdicts import rate, run

from nodrop.analysis.rule_costs import (
    CostBound,
    RuleCost,
    RuleCostTable,
    RuleOutcome,
    compute_rule_costs,
    derive_impact,
)
from nodrop.charts import rule_cost as pictured
from nodrop.cli import main
from nodrop.model.plan import Plan
from nodrop.model.rule_cost import BASELINE_VARIANT, PlacementRule, RuleCostPlan
from nodrop.model.summary import Measure, Summary
from nodrop.report.document.blocks import Section
from nodrop.report.document.rule_cost import build_rule_cost_blocks, format_cost, format_cost_range
from nodrop.report.impact import format_impact
from nodrop.report.markdown import render_markdown_sections
from nodrop.run.execute import RunEnvironment
from nodrop.run.rule_cost import build_cost_table, is_worth_running, plan_rule_costs
from nodrop.run.rule_cost.plans import RuleCostRequest
from nodrop.run.rule_cost.rules import HostMeans
from nodrop.run.suite import execute_suite
from nodrop.simulation import SimulatedMeasurer
from nodrop.simulation.varying_capacity import NoisyCapacity
from nodrop.store import suites

RULES = (
    PlacementRule(key="a", text="rule a", why="-", clause="7.2", how="so"),
    PlacementRule(key="b", text="rule b", why="-", clause="7.2", how="so", antagonist="cpu"),
    PlacementRule(key="two", text="2 identical", why="-", clause="8.2.2.5", vnf_count=2),
    PlacementRule(key="no", text="rule no", why="-", clause="7.1", why_not="this host has one node"),
)
PRICING = RuleCostPlan(baseline="tester on CPU 0", goals=("ndr", "pdr_0.5%"), rules=RULES)


def runs(**figures: Sequence[Measure]) -> Mapping[str, list[Summary]]:
    """Return runs of each variant with a figure each, alternating."""
    return {
        variant: [run(repeat * len(figures) + place, each, side=variant) for repeat, each in enumerate(item)]
        for place, (variant, item) in enumerate(figures.items())
    }


def measures_around(mean: float, limit: str = "sut") -> list[Measure]:
    return [rate(mean * factor, limit=limit) for factor in (0.995, 1.0, 1.005)]


def compute_costs(**figures: Sequence[Measure]) -> RuleCostTable:
    return compute_rule_costs(PRICING, runs(**figures))


def cost_of_rule(costs: RuleCostTable, key: str) -> RuleCost:
    return next(price for price in costs.prices if price.rule.key == key)


def test_a_rate_that_is_thirty_percent_lower_is_a_price_of_thirty_percent() -> None:
    price = cost_of_rule(compute_costs(kept=measures_around(1e6), a=measures_around(0.7e6)), "a")
    assert price.outcome is RuleOutcome.COSTS
    assert price.cost == pytest.approx(0.3, abs=1e-3)
    assert price.low is not None
    assert price.high is not None
    assert price.low < 0.3 < price.high < 0.35
    assert format_cost(price) == "30 %"


def test_equal_rates_show_no_cost() -> None:
    price = cost_of_rule(compute_costs(kept=measures_around(1e6), a=measures_around(1e6)), "a")
    assert price.outcome in (RuleOutcome.NOTHING, RuleOutcome.NOT_SHOWN)
    assert price.low is not None
    assert price.high is not None
    assert price.low < 0 < price.high


def test_the_dearest_rule_comes_first_and_the_impossible_ones_are_apart() -> None:
    result = compute_costs(kept=measures_around(1e6), a=measures_around(0.9e6), b=measures_around(0.5e6))
    assert [price.rule.key for price in result.prices] == ["b", "a", "two"]
    assert cost_of_rule(result, "two").outcome is RuleOutcome.NOT_MEASURED
    assert [rule.key for rule in result.impossible] == ["no"]


@pytest.mark.parametrize(
    ("expected", "broken", "bound", "text"),
    [
        ("tester", "sut", CostBound.AT_LEAST, "≥ 40 %"),
        ("sut", "tester", CostBound.AT_MOST, "≤ 40 %"),
        ("tester", "tester", CostBound.NEITHER, "-"),
        ("sut", "shared_cpu", CostBound.AT_MOST, "≤ 40 %"),
    ],
)
def test_what_the_tester_limited_is_only_a_bound(expected: str, broken: str, bound: CostBound, text: str) -> None:
    price = cost_of_rule(compute_costs(kept=measures_around(1e6, expected), a=measures_around(0.6e6, broken)), "a")
    assert (price.bound, format_cost(price)) == (bound, text)
    assert price.outcome in (RuleOutcome.LIMITED, RuleOutcome.COSTS)
    assert (price.low is None) is (bound in (CostBound.AT_MOST, CostBound.NEITHER))
    assert (price.high is None) is (bound in (CostBound.AT_LEAST, CostBound.NEITHER))


def test_a_rule_without_any_load_costs_all_there_is() -> None:
    rule_costs = compute_rule_costs(
        PRICING, {**runs(kept=measures_around(1e6)), "b": [run(50 + place, side="b") for place in range(3)]}
    )
    price = cost_of_rule(rule_costs, "b")
    assert (price.outcome, format_cost(price), format_cost_range(price)) == (RuleOutcome.NO_LOAD, "all", "-")
    assert derive_impact(rule_costs, 1) is not None
    assert "cpu: 1" in format_impact(rule_costs)


def test_a_goal_that_keeping_all_rules_does_not_meet_prices_nothing_so_the_next_one_does() -> None:
    def both(mean: float, with_ndr: bool) -> Measure | tuple[Measure, ...]:
        pdr = rate(mean, key="pdr_0.5%")
        return (rate(mean / 2), pdr) if with_ndr else (pdr,)

    def of(variant: str, *each: Any) -> list[Summary]:
        return [run(place * 7 + len(variant), *measures, side=variant) for place, measures in enumerate(each)]

    rule_costs = compute_rule_costs(
        PRICING,
        {
            BASELINE_VARIANT: of(BASELINE_VARIANT, both(1e6, True), both(1e6, False), both(1.01e6, True)),
            "a": of("a", both(0.5e6, True), both(0.5e6, True), both(0.51e6, True)),
        },
    )
    assert (rule_costs.text, rule_costs.passed_over) == ("PDR_0.5%", ("NDR",))
    assert cost_of_rule(rule_costs, "a").cost == pytest.approx(0.5, abs=0.01)


def test_identical_vnfs_are_priced_by_what_each_of_them_does() -> None:
    result = compute_costs(kept=measures_around(1e6), two=measures_around(1.9e6))
    assert cost_of_rule(result, "two").cost == pytest.approx(0.05, abs=1e-3)
    assert result.identical_count == 2
    assert derive_impact(result, 2) is not None
    assert compute_costs(kept=measures_around(1e6), two=measures_around(1e6)).identical_count == 1
    assert compute_costs(kept=measures_around(1e6), a=measures_around(1e6)).identical_count is None


def test_the_impact_section_promises_the_most_that_was_seen() -> None:
    result = compute_costs(kept=measures_around(1e6), b=measures_around(0.6e6), two=measures_around(1.9e6))
    option = derive_impact(result, 1)
    assert option is not None
    high = cost_of_rule(result, "b").high
    assert high is not None
    assert option.degradation_max_ratio == {"cpu": math.ceil(high * 100) / 100}
    text = format_impact(result)
    assert "impact:\n  option: 1\n  degradation_max_ratio:\n    cpu: 0.4" in text
    assert "#   identical_max_count: 2" in text


@pytest.mark.parametrize("figures", [{}, {"a": [rate(7e5)]}, {"a": measures_around(2e6), "b": measures_around(1e3)}])
def test_its_picture_and_its_texts_are_sound_whatever_was_measured(figures: dict[str, list[Measure]]) -> None:
    result = compute_costs(kept=measures_around(1e6), **figures)
    chart = pictured.build_chart(result)
    require_sound(chart)
    assert "this host has one node" in render_markdown_sections(
        "", [Section(name="", title="", blocks=build_rule_cost_blocks(result))]
    )
    assert any(row["why"] == "this host has one node" for row in chart.data["impossible"])


# Entire suites, with a forwarder of a known rate for each rule.

MACHINE = host(shape=Shape(nodes=1, cores=4, threads=1, reserved_cores=0))
TRUE_RATIO = {"same-core": 0.7, "small-pages": 1.0, "identical-2": 2.0, "identical-3": 2.1, "identical-4": 2.2}


def simulated_environment(plan: Plan, seeds: Random) -> RunEnvironment:
    measurers = []

    def make(plan: Plan, _stage: object) -> SimulatedMeasurer:
        sut = NoisyCapacity(
            capacity_pps=1e6 * TRUE_RATIO.get(plan.variant, 1.0), sd_ratio=0.002, seed=seeds.randrange(2**31)
        )
        measurers.append(SimulatedMeasurer(plan.traffic, sut, 0.1))
        return measurers[-1]

    del plan
    return RunEnvironment(
        open_stage=lambda _plan, _run_id, _on_progress: NullStage(),
        open_generator=make,
        clock=lambda: measurers[-1].now_s if measurers else 0.0,
    )


def test_known_effects_are_found_again_and_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    requested = RuleCostRequest(
        overrides={"results_dir": str(tmp_path), "search.max_load": "4Mpps", "search.width": "1%"},
        rules=["same-core", "small-pages", "identical"],
    )
    planned = plan_rule_costs(requested, MACHINE, range(4), HostMeans(stress_ng=True))
    outcome = execute_suite(
        planned.plans,
        lambda _event: None,
        simulated_environment(planned.plans[0], Random(7)),
        planned.pricing,
        lambda plan, so_far: is_worth_running(planned.pricing, plan, so_far),
    )
    assert not outcome.failures
    cost_table = build_cost_table(outcome.suite, outcome.results)
    dear, free = cost_of_rule(cost_table, "same-core"), cost_of_rule(cost_table, "small-pages")
    assert dear.outcome is RuleOutcome.COSTS
    assert dear.low is not None
    assert dear.high is not None
    assert dear.low <= 0.3 <= dear.high
    assert free.outcome in (RuleOutcome.NOTHING, RuleOutcome.NOT_SHOWN)
    # Three were too slow each time, so four were not tried.
    assert (
        cost_table.identical_count,
        cost_of_rule(cost_table, "identical-3").run_count,
        cost_of_rule(cost_table, "identical-4").run_count,
    ) == (
        2,
        3,
        0,
    )
    stored = suites.load("latest", tmp_path)
    assert stored is not None
    assert build_cost_table(stored.suite, stored.results) == cost_table
    assert main(["vm", "price", "latest", "--results-dir", str(tmp_path), "-o", str(tmp_path / "p.svg")]) == 0
    assert "on the tester's CPU" in capsys.readouterr().out
    assert main(["report", "latest", "--results-dir", str(tmp_path), "-o", str(tmp_path / "r.md")]) == 0
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert "# Cost of each placement rule on this host" in text
    assert "## kept 1 of 3: run" in text
    capsys.readouterr()
    assert main(["show", "latest", "--results-dir", str(tmp_path)]) == 0
    assert "Cost of each placement rule on this host" in capsys.readouterr().out


def test_a_result_that_prices_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vm", "price", "nothing", "--results-dir", str(tmp_path)]) == 2
    assert "not a suite of runs" in capsys.readouterr().err
