"""`gralha pipeline plan FILE`: prints what a run would do, and whether it can start."""

import json
import tempfile
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gralha.cli.json_output import VERSION
from gralha.cli.pipeline_choice import chosen_pipelines, failed, run_options, say_if_watched
from gralha.cli.pipeline_session import CommandSpark, parse_conf
from gralha.pipelines.planning import Plan, TopicPlan
from gralha.pipelines.running import plan_all


def command(options: Namespace) -> int:
    """Prints the plan of each pipeline. Returns 1 if one of them cannot start."""
    conf = {"spark.ui.enabled": "false", **parse_conf(options.conf)}
    with (
        tempfile.TemporaryDirectory(prefix="gralha-pipeline-plan-") as folder,
        CommandSpark(
            *(options.master, "gralha pipeline plan", conf, Path(folder, "spark.log")),
            keeps_log=False,
            is_verbose=options.verbose,
            say=say_if_watched,
            before_start=lambda: _checked(options),
        ) as spark,
    ):
        pipelines = chosen_pipelines(options, spark)
        settings = run_options(options)
        plans = plan_all(pipelines, spark.session(), settings)
    if options.json:
        print("\n".join(json.dumps(to_json(plan)) for plan in plans), flush=True)
    else:
        print("\n\n".join("\n".join(describe(plan)) for plan in plans), flush=True)
    problems = [problem for plan in plans for problem in plan.problems]
    return failed([f"Cannot start: {problem}" for problem in problems]) if problems else 0


def _checked(options: Namespace) -> Mapping[str, str]:
    run_options(options)
    return {}


def describe(plan: Plan) -> list[str]:
    """The lines of one plan, without its problems."""
    pipeline = plan.pipeline
    lines = [f"{pipeline.name}  ({_short(pipeline.file)}:{pipeline.line})"]
    for one in plan.inputs:
        lines += _row("reads", f"{one.name}: {', '.join(map(_topic, one.topics))}")
        # All inputs have the same columns from _key on, so they are left out.
        lines += _row("", one.schema.partition(", _key STRING")[0])
        if one.watermark:
            lines += _row("", f"watermark: {one.watermark[0]}, at most {one.watermark[1]} late")
    lines += [line for operator in plan.stateful for line in _row("state", str(operator))]
    for output in plan.outputs:
        new = ", does not exist yet" if output.topic and output.topic.partitions is None else ""
        lines += _row(
            "writes", f"{output.description}{new}, {pipeline.output_mode} mode, {pipeline.guarantee}"
        )
    if plan.output_schema:
        lines += _row("", plan.output_schema)
    lines += _row(
        "dead letters", _topic(plan.dead_letters) if plan.dead_letters else "none: bad records are dropped"
    )
    lines += _row("trigger", pipeline.trigger or "as soon as the previous batch is done")
    lines += _row("checkpoint", f"{plan.checkpoint}: {_verdict(plan)}")
    lines += [line for change in plan.changes for line in _row("", f"- {change.sentence}")]
    return lines + [line for warning in plan.warnings for line in _row("warning", warning)]


def to_json(plan: Plan) -> dict[str, Any]:
    """A plan as a JSON object. Names are those of the declaration."""
    return {
        "version": VERSION,
        "pipeline": plan.pipeline.name,
        "file": plan.pipeline.file,
        "line": plan.pipeline.line,
        "can_start": plan.can_start,
        "problems": list(plan.problems),
        "warnings": list(plan.warnings),
        "inputs": [asdict(one) for one in plan.inputs],
        "outputs": [asdict(one) for one in plan.outputs],
        "output_schema": plan.output_schema,
        "output_mode": plan.pipeline.output_mode,
        "guarantee": plan.pipeline.guarantee,
        "state": [str(operator) for operator in plan.stateful],
        "dead_letters": asdict(plan.dead_letters) if plan.dead_letters else None,
        "trigger": plan.pipeline.trigger,
        "checkpoint": plan.checkpoint,
        "verdict": plan.verdict,
        "next_batch": plan.next_batch,
        "changes": [asdict(change) for change in plan.changes],
    }


def _row(name: str, text: str) -> list[str]:
    return [f"  {name:<14}{text}"]


def _topic(topic: TopicPlan) -> str:
    if topic.partitions is None:
        return f"topic {topic.topic}, does not exist yet"
    return f"topic {topic.topic}, {topic.partitions} partition{'' if topic.partitions == 1 else 's'}"


def _verdict(plan: Plan) -> str:
    if plan.verdict == "new":
        return "starts fresh"
    if plan.verdict == "resume":
        return f"resumes with batch {plan.next_batch}"
    return "cannot resume"


def _short(file: str) -> str:
    """A path as a person types it in this folder."""
    folder, path = Path.cwd(), Path(file)
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)
