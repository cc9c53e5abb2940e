"""Labels of people on conversations that a judge was asked about, and the numbers they correct."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from maseval import commands, frames
from maseval.app.judging.label import Labelling, begin_labelling, find_label_question, read_answer
from maseval.app.results.labelled import JudgedShare
from maseval.commands import compare, report, show, tau2
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Simulation
from maseval.runs import RunFolder
from tests.app.judging.runs import broken_in_truth, judge_passes
from tests.cli.commandline import maseval
from tests.noisy_runs import noisy_run
from tests.report.reading import index_of

TRIALS = 5


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return noisy_run(tmp_path_factory.mktemp("labelled") / "run", 0.02, trials=TRIALS).folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A run whose conversations are drawn in the same order in each test."""
    copy = shutil.copytree(made, tmp_path / "run")
    (copy / "labels.jsonl").write_text('{"labels": 1, "salt": "always the same"}\n')
    return copy


def is_wrong(one: Simulation) -> bool:
    """A judge that errs on purpose: it flags half of what is all right."""
    return not broken_in_truth(one) and one.trial % 2 == 0


def label_all(labelling: Labelling, until: int = 10**6) -> None:
    for one in labelling.remaining[:until]:
        labelling.add(one, "broken" if broken_in_truth(one) else "kept")


def shares_of(run: Path, judge: str = "a-judge") -> JudgedShare:
    return {each.judge: each for each in show(run).judged_shares if "pass^1" in each.name}[judge]


def test_a_judge_that_errs_is_corrected_to_the_truth(run):
    passes = judge_passes(run, errs=is_wrong)
    every = len(RunFolder.read(run).recorded)
    truth = sum(not broken_in_truth(one) for one in passes) / every
    raw = shares_of(run)
    assert raw.corrected is None
    assert "its error is not measured" in str(raw)
    assert raw.raw / raw.total != pytest.approx(truth)

    labelling = begin_labelling(run, "kim", numbers=30)
    assert len(labelling.chosen) == 30
    flagged = sum(labelling.answers[one] == "broken" for one in labelling.chosen)
    assert flagged == 15  # half among the flagged, half among the others
    label_all(labelling)

    found = shares_of(run).corrected
    assert found.here.low <= truth <= found.here.high
    assert found.like_these.low < found.here.low < found.here.high < found.like_these.high
    assert abs(found.share - truth) < abs(raw.raw / raw.total - truth)

    every_label = begin_labelling(run, "kim", numbers=1000)
    label_all(every_label)
    known = shares_of(run).corrected
    assert (known.share, known.here.half_width) == (pytest.approx(truth), pytest.approx(0))


def test_labels_resume_where_they_stopped_and_more_can_be_drawn(run):
    judge_passes(run, errs=is_wrong)
    first = begin_labelling(run, "kim", numbers=10)
    label_all(first, 4)
    again = begin_labelling(run, "kim", numbers=10)
    assert again.chosen == first.chosen
    assert again.remaining == [one for one in first.chosen[4:]]
    assert set(begin_labelling(run, "kim", numbers=20).chosen) > set(first.chosen)
    assert begin_labelling(run, "lee", numbers=10).remaining == first.chosen


def test_a_conversation_that_is_run_again_needs_a_new_label(run):
    judge_passes(run)
    labelling = begin_labelling(run, "kim", numbers=6)
    label_all(labelling)
    log = run / "log.jsonl"
    stored = RunFolder.read(run)
    one = labelling.chosen[0]
    before = stored.content_key(one)
    log.write_bytes(log.read_bytes() + _line_again(log, one))
    assert RunFolder.read(run).content_key(one) != before
    assert one not in begin_labelling(run, "kim", numbers=6).labelled


def _line_again(log: Path, one: Simulation) -> bytes:
    from maseval.core.storage.records import seal_json

    for line in log.read_bytes().splitlines():
        record = json.loads(line)
        if (record.get("task_id"), record.get("repeat_idx")) == (one.task_id, one.trial):
            del record["crc"]
            record["ended_at"] = "2030-01-01T00:00:00+00:00"
            return seal_json(json.dumps(record)) + b"\n"
    raise AssertionError("the log has no such line")


def test_labels_of_one_judge_do_not_count_for_another(run):
    judge_passes(run, "one", errs=is_wrong)
    judge_passes(run, "two", errs=lambda one: one.trial == 0)
    with pytest.raises(ConfigurationError, match="2 judges were asked about policy: one, two"):
        begin_labelling(run, "kim")
    label_all(begin_labelling(run, "kim", judge="one", numbers=20))
    assert shares_of(run, "one").corrected is not None
    assert shares_of(run, "two").labels == 0


def test_labels_alone_need_no_judge(run):
    labelling = begin_labelling(run, "kim", numbers=1000)
    label_all(labelling)
    found = shares_of(run, "")
    truth = sum(not broken_in_truth(one) for one in labelling.chosen) / found.total
    assert found.corrected.share == pytest.approx(truth)
    assert "judged by" not in str(found)


def test_undecided_conversations_are_a_part_of_their_own(run):
    judge_passes(run, undecided=lambda one: one.trial == 1)
    labelling = begin_labelling(run, "kim", numbers=15)
    kinds = {labelling.answers[one] for one in labelling.chosen}
    assert kinds == {"kept", "broken", None}
    label_all(labelling)
    found = shares_of(run)
    assert found.undecided
    assert found.corrected is not None


def test_two_labellers_who_contradict_each_other_widen_the_interval(run):
    judge_passes(run)
    for by in ("kim", "lee"):
        label_all(begin_labelling(run, by, numbers=1000))
    labelling = begin_labelling(run, "lee", numbers=1000)
    exact = shares_of(run).corrected.here
    assert exact.half_width == pytest.approx(0)
    assert "kim and lee agree on" in labelling.agreements[0]
    for one in labelling.chosen[:4]:
        labelling.add(one, "kept" if broken_in_truth(one) else "broken")
    assert shares_of(run).corrected.here.half_width > 0.01
    assert "kappa" in begin_labelling(run, "lee").agreements[0]


@pytest.mark.parametrize(
    ("given", "means"), [("k", "kept"), ("BROKEN", "broken"), ("u", "unsure"), (" kep ", "kept")]
)
def test_the_first_letter_is_enough(run, given, means):
    question = find_label_question(RunFolder.read(run), "policy")
    assert read_answer(question, given) == means


@pytest.mark.parametrize("given", ["", "x", "keptt"])
def test_another_word_is_no_answer(run, given):
    question = find_label_question(RunFolder.read(run), "policy")
    with pytest.raises(ConfigurationError, match="give one of kept, broken, unsure"):
        read_answer(question, given)


def test_what_cannot_be_labelled_is_named(run):
    with pytest.raises(ConfigurationError, match="choose one of policy, cause"):
        begin_labelling(run, "kim", about="weather")
    judge_passes(run)
    with pytest.raises(ConfigurationError, match="asked were: a-judge"):
        begin_labelling(run, "kim", judge="other")
    gold = tau2.run(domain="library", agent="gold", output=run.parent / "gold").folder
    with pytest.raises(ConfigurationError, match="no conversation"):
        begin_labelling(gold, "kim", about="cause")


# The command.


def labelled(run: Path, *arguments: str, typed: str | None = None) -> Any:
    from typer import testing

    from maseval.cli.app import app

    words = ["judge", "label", str(run), "--by", "kim", *arguments]
    return testing.CliRunner().invoke(app, words, input=typed, prog_name="maseval")


def test_the_command_asks_hides_the_judge_and_stops_at_q(run):
    judge_passes(run)
    found = labelled(run, "-n", "6", typed="k\nall well\nx\nb\n\nq\n")
    assert found.exit_code == 0, found.output
    first, _, rest = found.stdout.partition("Did the agent keep the policy")
    assert "a-judge" not in first
    assert "reward" not in first
    assert "a-judge answered:" in rest
    assert "'x' is no answer" in rest
    assert "2 of 6 conversations labelled; the same command resumes" in rest
    labels = begin_labelling(run, "kim", numbers=6).labelled.values()
    assert sorted((each.answer, each.note) for each in labels) == [
        ("broken", None),
        ("kept", "all well"),
    ]


def test_the_end_of_the_input_stops_as_well(run):
    found = labelled(run, "-n", "4", typed="k\n")
    assert found.exit_code == 0, found.output
    assert "0 of 4 conversations labelled" in found.stdout


def test_labels_come_from_a_file_all_or_none(run, tmp_path):
    judge_passes(run, errs=is_wrong)
    drawn = json.loads(labelled(run, "-n", "20", "--json").stdout)
    assert [*drawn["chosen"][0]] == ["domain", "task_id", "trial", "answer"]
    lines = [
        {**one, "answer": "broken" if (len(one["task_id"]) + one["trial"]) % 3 == 0 else "kept"}
        for one in drawn["chosen"]
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in [*lines, {"answer": "kept"}]))
    refused = labelled(run, "-n", "20", "--labels", str(file))
    assert refused.exit_code != 0
    assert "line 21" in refused.stderr
    assert not begin_labelling(run, "kim", numbers=20).labelled
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    taken = labelled(run, "-n", "20", "--labels", str(file))
    assert taken.exit_code == 0, taken.output
    assert "20 of 20 conversations labelled." in taken.stdout
    assert "corrected by 20 labels" in taken.stdout


def test_every_command_shows_the_corrected_number(run, tmp_path):
    judge_passes(run, errs=is_wrong)
    label_all(begin_labelling(run, "kim", numbers=30))
    share, [*others, number] = shares_of(run), show(run).scores
    assert number.counted == f"{share.name}, judged by a-judge and corrected"
    assert number.pass_hat[1].value == share.corrected.share
    assert number.pass_hat[1].interval == share.corrected.like_these
    assert (number.domain, number.tasks) == (others[0].domain, others[0].tasks)
    table = [each for each in frames.scores(run) if each["counted"] == number.counted]
    assert [each["value"] for each in table] == [share.corrected.share]
    sentence = str(share)
    assert "corrected by 30 labels" in sentence
    assert sentence[:60] in maseval("show", run).stdout.replace("\n", " ").replace("  ", " ")
    assert sentence in index_of(report(run, tmp_path / "page.html"))["results"]["notes"]
    other = noisy_run(tmp_path / "other", 0.3, trials=TRIALS).folder
    assert any(sentence in note for note in compare([run, other]).notes)
    [found, *_] = show(run).to_dict()["judged"]
    assert found["corrected"]["here"]["low"] < found["corrected"]["share"]


# The plan.


def test_the_plan_needs_no_label_and_writes_none(run):
    judge_passes(run)
    before = sorted(path.name for path in run.iterdir())
    plan = commands.plan_labels(run)
    assert sorted(path.name for path in run.iterdir()) == before
    assert plan.assumed
    widths = [each.with_judge for each in plan.rows]
    assert widths == sorted(widths, reverse=True)
    shown = maseval("plan", run, "--labels").stdout
    assert "assumed: 90% of these do count" in shown
    assert "labels: an interval" in shown


def test_the_plan_learns_from_labels_and_says_when_they_alone_are_better(run):
    # As good as a coin: it flags every second trial.
    judge_passes(run, errs=lambda one: broken_in_truth(one) != bool(one.trial % 2))
    label_all(begin_labelling(run, "kim", numbers=1000))
    plan = commands.plan_labels(run)
    assert not plan.assumed
    assert any(each.alone_is_better for each in plan.rows)
    assert "--judge none" in " ".join(plan.lines)
    assert "by labels alone" not in " ".join(commands.plan_labels(run, judge="none").lines)


def test_the_plan_of_labels_takes_one_run(run):
    found = maseval("plan", run, "--labels", "--difference", "5")
    assert found.exit_code == 2
    assert "--labels takes one run" in found.stderr
