"""``maseval tau2``: the benchmark's commands. To add one, write its file and name it here."""

import typer

from maseval.cli.examples import examples
from maseval.cli.tau2 import data, export, run, score, show, tasks

app = typer.Typer(
    help="tau2-bench v0.2.0: agents in customer service, scored by what they did.",
    epilog=examples(
        ("maseval tau2 run --domain retail --agent gold", "run the reference solutions"),
        ("maseval tau2 tasks --domain airline", "what is there to be solved"),
        ("maseval tau2 score results.json", "do recorded rewards hold up?"),
    ),
    no_args_is_help=True,
)
app.command(epilog=run.EXAMPLES, context_settings=run.SETTINGS)(run.run)
app.command(epilog=score.EXAMPLES)(score.score)
app.command(epilog=export.EXAMPLES)(export.export)
app.command(epilog=tasks.EXAMPLES)(tasks.tasks)
app.command(epilog=show.EXAMPLES)(show.show)
app.add_typer(data.app, name="data")
