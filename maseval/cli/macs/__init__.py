"""``maseval macs``: the benchmark's commands. To add one, write its file and name it here."""

from maseval.cli.command_line import command_group

app = command_group(
    places={
        "run": "maseval.cli.macs.commands:run",
        "rates": "maseval.cli.macs.commands:rates",
        "score": "maseval.cli.macs.commands:score",
        "data": "maseval.cli.macs.commands:data",
    },
    help="MACS: teams of agents on enterprise tasks, judged by assertions.",
    shown=(
        (
            "maseval macs run --domain travel --agent-model openai/gpt-4.1 "
            "--user-model openai/gpt-4.1",
            "the original's team of agents, every agent played by a model",
        ),
        ("maseval macs score conversations/travel --domain travel", "judge finished conversations"),
        ("maseval macs data fetch", "fetch the data, once"),
        ("maseval macs rates last", "the latest run: its four rates, with error bars"),
        ("maseval show last", "its tasks and conversations"),
    ),
)
