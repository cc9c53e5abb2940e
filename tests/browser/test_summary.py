"""The first screen of a run: what was evaluated, every trial, and why some failed."""

from playwright.sync_api import expect

from maseval.report import write_report
from maseval.runs import RunFolder
from tests.browser.runs import planned
from tests.report.builders import broken, said, simulated

WRONG = ["agent: wrong arguments", "wrong arguments: cancel_order"]


def test_every_trial_is_in_the_strip_those_that_fail_most_first(visit, tmp_path):
    finished = [
        simulated("0", 0),
        simulated("0", 1),
        simulated("1", 0, reward=0.0, labels=["agent: missing write", "missing call: refund"]),
        simulated("1", 1, reward=0.0, labels=["agent: missing write", "missing call: refund"]),
        simulated("2", 0, reward=0.0, labels=["agent: missing write", "missing call: refund"]),
        simulated("2", 1),
        simulated("3", 0, reward=0.0, labels=WRONG),
        simulated("3", 1),
    ]
    visited = visit(write_report(finished, tmp_path / "report.html", title="A run"))
    page = visited.open()

    strip = page.get_by_role("img", name="8 trials of 4 tasks, 4 failed")
    squares = {
        each.get_attribute("class"): each.get_attribute("d").count("M")
        for each in strip.locator("path").all()
    }
    assert squares == {"pass": 4, "reason-0": 3, "reason-1": 1}
    why = page.locator(".why")
    expect(why.locator(".clusters")).to_have_text(["2 tasks: missing call: refund"])
    expect(why.locator(".bar.reason-1")).to_have_count(1)
    expect(page.locator(".headline")).to_contain_text("passes 50.0 % of 4 retail tasks")

    strip.click(position={"x": 4, "y": 4})
    visited.wait_for_simulation("retail/1/0")
    page.keyboard.press("Escape")
    why.get_by_role("button", name="missing call: refund").click()
    expect(page.locator("output.status")).to_have_text("3 of 8 simulations")


def test_a_run_without_a_verdict_says_why_and_how_to_resume_it(visit, serve, tmp_path):
    error = {"error_type": "ProviderError", "error_message": "Connection refused; check base_url"}
    finished = [broken("0", 0, domain="retail", status="provider_error", error=error)]
    with RunFolder.open(tmp_path / "runs" / "down", planned(finished)) as folder:
        folder.append(finished[0])

    page = visit(serve(tmp_path / "runs").url).open("/run/down")

    top = page.locator(".headline")
    expect(top).to_contain_text("No simulation has a verdict. The first ended with ProviderError")
    expect(top).to_contain_text("Connection refused; check base_url")
    expect(top).to_contain_text(f"--output {tmp_path / 'runs' / 'down'}")
    expect(page.locator("table.tasks td").last).to_have_text("–")  # noqa: RUF001


def test_forty_fast_keys_make_forty_moves(visit, tmp_path):
    finished = [simulated(str(at), 0) for at in range(60)]
    visited = visit(write_report(finished, tmp_path / "report.html"))
    page = visited.open("#retail/0/0")
    visited.wait_for_simulation()

    page.evaluate(
        "for (let at = 0; at < 40; at += 1) dispatchEvent(new KeyboardEvent('keydown', {key: 'j'}))"
    )

    visited.wait_for_simulation("retail/40/0")


def test_a_sentence_that_most_tasks_begin_with_is_left_out_of_their_rows(visit, tmp_path):
    notes = [
        "You call the bank. Your card is lost.",
        "You call the bank. A fee is wrong.",
        "Hi. It.",
    ]
    finished = [
        simulated(str(at), 0, title=each, messages=[said("user", "x")])
        for at, each in enumerate(notes)
    ]
    page = visit(write_report(finished, tmp_path / "report.html")).open()
    expect(page.locator(".tasks .note")).to_have_text(
        ["Your card is lost.", "A fee is wrong.", "Hi. It."]
    )
