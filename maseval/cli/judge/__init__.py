"""``maseval judge``: models as judges, asked, measured, and corrected by people's labels."""

from maseval.cli.command_line import command_group

app = command_group(
    places={
        "ask": "maseval.cli.judge.commands:ask",
        "calibrate": "maseval.cli.judge.commands:calibrate",
        "label": "maseval.cli.judge.commands:label",
    },
    help="Judges: ask a model about a run, measure its error, correct its numbers by labels.",
    shown=(
        ("maseval judge calibrate --judge openai/gpt-4.1", "how often this judge is right"),
        ("maseval judge ask last --judge openai/gpt-4.1", "did the agent keep the policy?"),
        ("maseval judge ask last --judge openai/gpt-4.1 --about cause", "who failed?"),
        ("maseval judge label last --by kim", "label conversations, to correct its number"),
    ),
)
