"""``maseval judge``: models as judges, asked, measured, and corrected by people's labels."""

from maseval.cli.command_line import command_group

app = command_group(
    places={
        "label": "maseval.cli.judge.label:label",
    },
    help="Judges: ask a model about a run, measure its error, correct its numbers by labels.",
    shown=(("maseval judge label last --by kim", "label conversations, to correct its number"),),
)
