"""Name the original in every file of tau2 that derives from it, and in PROVENANCE.md: one list.

    python -m scripts.provenance           # check
    python -m scripts.provenance --write   # write the lines and the table anew

Each file that follows the original's behaviour says so in its first docstring, in one line of the
same form. Everything else in the package is ours alone; ``review`` is, as a whole.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "maseval" / "benchmark" / "tau2"
PAGE = PACKAGE / "PROVENANCE.md"
BEGIN, END = "<!-- table: scripts/provenance.py -->\n", "<!-- end of table -->\n"

# The release and the original's files; after each, ours that follow them.
SOURCES = """
v0.2.0, data/tau2/: data/files.py
v0.2.0, src/tau2/agent/llm_agent.py: agent.py default_benchmark.py
v0.2.0, src/tau2/data_model/message.py: formats/message.py
v0.2.0, src/tau2/data_model/simulation.py: formats/simulation.py conversation/recording.py
    results/reading.py results/recorded.py results/writing.py world/trajectory.py
v0.2.0, src/tau2/data_model/tasks.py: world/tasks.py
v0.2.0, src/tau2/domains/*/environment.py: domains/domain.py
v0.2.0, src/tau2/domains/*/tools.py: domains/arithmetic.py
v0.2.0, src/tau2/domains/*/utils.py: data_loader.py
v0.2.0, src/tau2/domains/airline/: domains/airline/__init__.py
v0.2.0, src/tau2/domains/airline/data_model.py: domains/airline/models.py
v0.2.0, src/tau2/domains/airline/tools.py: domains/airline/tools.py
v0.2.0, src/tau2/domains/retail/: domains/retail/__init__.py
v0.2.0, src/tau2/domains/retail/data_model.py: domains/retail/models.py
v0.2.0, src/tau2/domains/retail/tools.py: domains/retail/tools.py
v0.2.0, src/tau2/domains/telecom/: domains/telecom/__init__.py
v0.2.0, src/tau2/domains/telecom/*data_model.py: domains/telecom/models.py
v0.2.0, src/tau2/domains/telecom/tools.py: domains/telecom/tools.py
v0.2.0, src/tau2/domains/telecom/user_tools.py: domains/telecom/phone.py
    domains/telecom/user_tools.py
v0.2.0, src/tau2/environment/db.py: world/state/copying.py world/state/hashing.py
    world/state/records.py
v0.2.0, src/tau2/environment/environment.py: environment.py world/world.py
v0.2.0, src/tau2/environment/toolkit.py: domains/base.py
v0.2.0, src/tau2/evaluator/: scoring/case.py scoring/score.py
v0.2.0, src/tau2/evaluator/evaluator_env.py: world/setting.py
v0.2.0, src/tau2/evaluator/evaluator_nl_assertions.py: scoring/judge.py
v0.2.0, src/tau2/metrics/agent_metrics.py: evaluator.py
v0.2.0, src/tau2/orchestrator/orchestrator.py: conversation/orchestrator.py
    conversation/participants.py
v0.2.0, src/tau2/run.py: benchmark.py
v0.2.0, src/tau2/user/user_simulator.py: user.py
v0.2.0, src/tau2/utils/llm_utils.py: texts/original.py
v0.2.0 to v1.0.1, src/tau2/: domains/releases.py texts/extraction.py texts/texts.py versions.py
v1.0.1, src/tau2/data_model/simulation.py: results/layout.py
v1.0.1, src/tau2/domains/banking_knowledge/: domains/banking_knowledge/__init__.py
    domains/banking_knowledge/variants.py
v1.0.1, src/tau2/domains/banking_knowledge/data_model.py: domains/banking_knowledge/models.py
v1.0.1, src/tau2/domains/banking_knowledge/tools.py: domains/banking_knowledge/accounts.py
    domains/banking_knowledge/credit_cards.py domains/banking_knowledge/debit_card_use.py
    domains/banking_knowledge/debit_cards.py domains/banking_knowledge/deposit_images.py
    domains/banking_knowledge/desk.py domains/banking_knowledge/tools.py
    domains/banking_knowledge/transactions.py domains/banking_knowledge/user_tools.py
v1.0.1, src/tau2/gym/: gym.py episode.py
v1.0.1, src/tau2/knowledge/: domains/banking_knowledge/documents.py
"""

# Ours alone; files without code are, too.
OURS = (
    *("app/", "players/", "rescoring/", "review/", "domains/library/", "data/__init__.py"),
    *("agent_brief.py", "certify.py", "conversation/continuation.py", "conversation/turns.py"),
    *("domains/registration.py", "overrides.py", "remote_state.py", "texts/loading.py"),
    *("perturbation.py", "results/recorded.py", "results/trajectories.py", "scoring/rule.py"),
    *("verifiers.py", "wording.py"),
)


def sources() -> dict[str, str]:
    """Return the original that each of our files follows, as its line says it."""
    joined = SOURCES.strip().replace("\n    ", " ").splitlines()
    rows = [line.rsplit(": ", 1) for line in joined]
    return {ours: theirs for theirs, files in rows for ours in files.split()}


def line_for(theirs: str) -> str:
    return f"After tau2-bench {theirs} (MIT, Sierra Research)."


def table() -> str:
    """Return the table of PROVENANCE.md."""
    grouped = defaultdict(list)
    for ours, theirs in sources().items():
        grouped[theirs].append(f"`{ours}`")
    rows = [f"| {', '.join(ours)} | {theirs} |\n" for theirs, ours in grouped.items()]
    return "".join(["| ours | tau2-bench |\n", "|---|---|\n", *rows])


def complaints(package: Path = PACKAGE) -> Iterator[str]:
    """Yield each file that names another original than the list, or none, or is not in it."""
    known = sources()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        module = ast.parse(path.read_text(encoding="utf-8"))
        lines = (ast.get_docstring(module) or "").splitlines()
        if name in known:
            if lines.count(line_for(known[name])) != 1:
                yield f"{name}: its first docstring lacks the line {line_for(known[name])!r}"
        elif not name.startswith(OURS) and _has_code(module):
            yield f"{name}: is neither among SOURCES nor among OURS of scripts/provenance.py"
    yield from (f"{name}: is not there" for name in known if not (package / name).is_file())
    if package == PACKAGE and table() not in PAGE.read_text(encoding="utf-8"):
        yield "PROVENANCE.md: its table is another one"


def _has_code(module: ast.Module) -> bool:
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in module.body)


def write() -> None:
    """Write the line into every file, and the table into the page."""
    for name, theirs in sources().items():
        path = PACKAGE / name
        text = path.read_text(encoding="utf-8")
        opening, doc, rest = text.split('"""', 2)
        if line_for(theirs) not in doc.splitlines():
            path.write_text(
                f'{opening}"""{doc.rstrip()}\n\n{line_for(theirs)}\n"""{rest}', encoding="utf-8"
            )
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    found = list(complaints())
    print("\n".join(found))
    sys.exit(bool(found))
