"""``maseval tau2``: the benchmark's commands. To add one, name its file here."""

from maseval.cli.command_line import command_group

app = command_group(
    places={
        "run": "maseval.cli.tau2.run:run",
        "play": "maseval.cli.tau2.play:play",
        "branch": "maseval.cli.tau2.play:branch",
        "mcp": "maseval.cli.tau2.play:mcp",
        "audit": "maseval.cli.tau2.tasks:audit",
        "errata": "maseval.cli.tau2.tasks:errata",
        "certify": "maseval.cli.score:certify",
        "verify": "maseval.cli.score:verify",
        "tasks": "maseval.cli.tau2.tasks:tasks",
        "data": "maseval.cli.tau2.tasks:data",
    },
    help="tau2-bench, three releases: agents in customer service, scored by what they did.",
    shown=(
        ("maseval tau2 run --domain retail --agent gold", "run the reference solutions"),
        ("maseval tau2 play retail", "play the agent yourself, no key needed"),
        ("maseval tau2 tasks --domain airline", "which tasks there are"),
        ("maseval tau2 audit", "where to read its numbers with care"),
    ),
)
