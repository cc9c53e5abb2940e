"""``maseval judge``: judge models as instruments. To add a command, name its place here."""

from maseval.cli.command_line import command_group

app = command_group(
    places={
        "ask": "maseval.cli.judge.commands:ask",
        "calibrate": "maseval.cli.judge.commands:calibrate",
    },
    help="Let a model judge what only language shows, and measure how far it is right.",
    shown=(
        ("maseval judge calibrate --judge openai/gpt-4.1", "how often this judge is right"),
        ("maseval judge ask last --judge openai/gpt-4.1", "did the agent keep the policy?"),
        ("maseval judge ask last --judge openai/gpt-4.1 --about cause", "who failed?"),
    ),
)
