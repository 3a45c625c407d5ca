"""The lines about dead letters: how many there are, and the commands that show and replay them."""

import shlex

from gralha.cli.connect import default_bootstrap_servers
from gralha.cli.pipeline_options import DEFAULT_CHECKPOINTS
from gralha.pipelines.state_files import State


def letters_text(state: State, checkpoints: str) -> list[str]:
    """The lines about the dead letters of a run. Empty if there are none."""
    count = state.progress.dead_letters_total if state.progress is not None else 0
    if not count:
        return []
    if state.dead_letters_topic is None:
        were = "1 record was" if count == 1 else f"{count:,} records were"
        return [f"{state.pipeline}: {were} dropped, because they did not fit the schema (dead_letters=None)"]
    letters = f"{count:,} dead letter{'' if count == 1 else 's'}"
    servers = state.bootstrap_servers
    replay = f"gralha pipeline replay-dead-letters {state.pipeline}{_where(servers, checkpoints)}"
    return [
        f"{state.pipeline}: {letters} in the topic {state.dead_letters_topic}",
        f"  show them:      {show_command(state.dead_letters_topic, servers)}",
        f"  after the fix:  {replay}",
    ]


def show_command(topic: str, bootstrap_servers: str) -> str:
    """The command that prints the dead letters of a topic, with their reasons."""
    return (
        f"kafka-console-consumer --bootstrap-server {bootstrap_servers} --topic {topic} --from-beginning "
        "--property print.headers=true"
    )


def _where(bootstrap_servers: str, checkpoints: str) -> str:
    """The options without which a command would look in the wrong place."""
    servers = bootstrap_servers if bootstrap_servers != default_bootstrap_servers() else None
    folder = shlex.quote(checkpoints) if checkpoints != DEFAULT_CHECKPOINTS else None
    named = {"--bootstrap-server": servers, "--checkpoints": folder}
    return "".join(f" {name} {value}" for name, value in named.items() if value)
