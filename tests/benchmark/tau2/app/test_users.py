"""``maseval users``: the simulated user's report, from runs and results files."""

import json

import pytest

from maseval import ScriptedModelAdapter, frames, register_model, tool_call
from maseval.app.results.variants import NOT_READ, user_score
from maseval.commands import compare, report, show, tau2
from maseval.core.finding import Finding
from maseval.runs import Simulation
from tests.cli.commandline import maseval

TASK = "renew_own_not_husbands"
OPENING = "I am Ingrid Solheim. Please renew The Salt Road, and Small Boats for my husband."
SCRIPTS = {
    "clerk": (
        tool_call("get_member", {"card_number": "B 1184 2011"}),
        tool_call("get_account", {"member_id": "M-2011"}),
        "Shall I renew The Salt Road for you?",
        tool_call("renew_loan", {"loan_id": "L-5001"}),
        "It is renewed. I may not renew your husband's book for you.",
    ),
    "hasty": (OPENING, "Yes, please go ahead. ###STOP###"),
    "patient": (OPENING, "Yes, please go ahead.", "That is all, thank you. ###STOP###"),
}
LEFT = "left while agreeing"


def model(name, **options):
    def answer(messages, tools):
        return SCRIPTS[name][sum(each["role"] == "assistant" for each in messages)]

    return ScriptedModelAdapter(answer, model_id=name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs of the same agent, with a user that leaves too early and with one that waits."""
    register_model("play", model)
    folder = tmp_path_factory.mktemp("users")
    for user in ("hasty", "patient"):
        tau2.run(
            domain="library",
            task_id=[TASK],
            agent_model="play/clerk",
            user_model=f"play/{user}",
            output=folder / user,
        )
    return folder


def test_the_command_says_what_it_looks_for_and_what_it_found(folder):
    found = maseval("users", str(folder / "hasty"), str(folder / "patient")).stdout

    assert "Looked for: " in found and LEFT in found
    assert "message 7: the user says yes to the offer of message 6" in found
    assert "play/hasty: a fault in 1 of 1 conversations" in found
    assert "play/patient: a fault in 0 of 1 conversations" in found


def test_json_has_numbers_and_findings(folder):
    (file,) = json.loads(maseval("users", str(folder / "hasty"), "--json").stdout)["files"]

    user = file["user"]
    assert (user["model"], user["faulty"], user["share"]["value"]) == ("play/hasty", 1, 1.0)
    (finding,) = file["simulations"][0]["findings"]
    assert (finding["kind"], finding["message"]) == (LEFT, 7)


def test_the_same_agent_under_two_users_can_be_compared(folder):
    found = compare([folder / "hasty", folder / "patient"])

    assert any("the user model differs" in each for each in found.cautions)
    assert (found.two.main.first, found.two.main.second) == (0.0, 1.0)


def test_a_branch_with_another_user_shows_what_the_fault_cost(folder):
    options = {"task": TASK, "at": 6, "repeats": 2}
    again = tau2.branch(run=folder / "hasty", output=folder / "b1", **options)
    other = tau2.branch(
        run=folder / "hasty", user_model="play/patient", output=folder / "b2", **options
    )

    assert (again.passed, other.passed, other.judged) == (0, 2, 2)


def test_show_report_viewer_and_frames_have_it(folder, tmp_path):
    note = show(folder / "hasty").users
    view = show(folder / "hasty", TASK)
    page = report(folder / "hasty", output=tmp_path / "page.html").read_text()
    pytest.importorskip("starlette")
    from maseval.view.library import Library

    viewed = Library(folder).run("hasty")
    (shown,) = viewed.packet("library", TASK)["trials"]
    viewed_labels = viewed.entries()[0].labels
    (row,) = [row for row in frames.findings(folder / "hasty") if row["source"] == "user"]

    assert [each.kind for each in view.findings if each.source == "user"] == [LEFT]
    assert "The simulated user, checked by rules: play/hasty: a fault in 1 of 1" in note
    assert note in page
    titles = [each["title"] for each in shown["explanation"]["sections"]]
    assert f"The simulated user: {LEFT}" in titles
    assert f"user: {LEFT}" in viewed_labels
    assert (row["user_model"], row["kind"], row["message"]) == ("hasty", LEFT, 7)


def test_a_script_is_no_simulated_user(tmp_path):
    tau2.run(domain="library", task_id=[TASK], agent="gold", output=tmp_path / "gold")

    (found,) = tau2.users([tmp_path / "gold"])
    assert found.user is None and not found.found


def test_shares_count_each_task_once_and_leave_out_what_was_not_read():
    kinds = {("1", 0): ["a"], ("1", 1): [], ("2", 0): [], ("3", 0): [NOT_READ]}
    score = user_score(
        "m",
        {
            Simulation("d", *one): [Finding("user", "user", kind, kind, "") for kind in some]
            for one, some in kinds.items()
        },
    )

    assert (score.conversations, score.read, score.faulty) == (4, 3, 1)
    assert score.kinds == {"a": 1}
    assert score.share.value == 0.25  # of task 1 a half, of task 2 none
    assert score.share.interval is not None
