"""A conversation that explains itself: the verdict, where it was decided, and what was changed."""

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from maseval.commands import report as write_page
from maseval.commands import tau2
from maseval.report import write_report
from tests.browser.hostile import ALIVE
from tests.browser.waiting import eventually
from tests.frames.recordings import team_run
from tests.report.builders import answered, call, said, simulated
from tests.report.reading import index_of, packets_of


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run with failures."""
    folder = tmp_path_factory.mktemp("talk")
    arguments = {"error_rate": 0.6}
    tau2.run(domain="library", agent="noisy", agent_args=arguments, output=folder / "run")
    return write_page(folder / "run", folder / "report.html")


def decided_by_a_change(page: Page) -> Any:
    """A failure whose deciding message changed a field: its task, explanation and moment."""
    for task, (detail,) in zip(index_of(page)["tasks"], packets_of(page), strict=True):
        explanation = detail.get("explanation") or {}
        for each in detail["timeline"]["messages"]:
            changed = any(call["changed"] for call in each["calls"])
            if changed and each["index"] == explanation.get("message"):
                return task, explanation, each
    return pytest.fail("no such failure in the run")


@pytest.fixture
def failed(visit: Callable[..., Any], noisy: Path) -> tuple[Any, Any, Any, Any]:
    """A failed simulation, opened, with what is known of it."""
    task, explanation, moment = decided_by_a_change(noisy)
    visited = visit(noisy)
    page = visited.open(f"#{task['domain']}/{task['id']}/0")
    return page, visited.wait_for_simulation(), explanation, moment


def test_the_verdict_is_a_line_that_leads_to_the_deciding_message(failed):
    _, panel, explanation, moment = failed

    line = panel.locator(".verdict-line")
    expect(line).to_contain_text("failed")
    expect(line).to_contain_text(explanation["label"]["name"])
    line.get_by_role("button", name=f"message {moment['index']}").click()

    decided = panel.locator(f"[data-message='{moment['index']}']")
    expect(decided).to_be_focused()
    expect(decided.locator(".lost-mark")).to_contain_text("First wrong step")
    expect(panel.locator(".lost-here")).to_have_count(1)


def test_where_it_was_lost_the_wrong_argument_stands_beside_the_expected_one(visit, tmp_path):
    wanted = {"order_id": "#W1", "items": ["1", "2"], "payment": {"id": "card_9"}, "a": 1, "b": 2}
    given = {**wanted, "payment": {"id": "card_7"}, "long": [*range(20)]}
    talk = [said("user", "Pay."), said("assistant", None, call("pay", **given)), answered("no")]
    action = {
        "requestor": "assistant",
        "name": "pay",
        "arguments": {**wanted, "long": [*range(20)]},
    }
    check = {"action": action, "action_match": False}
    explanation = {"label": {"name": "agent: invented value"}, "message": 1}
    lost = simulated("1", reward=0.0, messages=talk, explanation=explanation)
    lost["eval"][0]["reward_info"]["action_checks"] = [check]
    visited = visit(write_report([lost], tmp_path / "report.html"))
    visited.open("#retail/1/0")
    here = visited.wait_for_simulation().locator(".lost-here")

    expect(here.locator(".fault tbody tr")).to_have_count(1)
    expect(here.locator(".fault tbody tr > *")).to_have_text(["payment.id", '"card_9"', '"card_7"'])
    expect(here.locator(".call .given mark")).to_have_text('"id": "card_7"')


def test_the_conversation_comes_before_what_the_verdict_rests_on(failed):
    _, panel, _, _ = failed
    titles = panel.locator(".part > h3").all_text_contents()
    assert titles[:3] == ["Conversation", "Verdict", "Explanation"]


def test_a_change_stands_beside_its_call_and_the_wrong_ones_are_marked(failed):
    _, panel, explanation, moment = failed
    changed = [each for call in moment["calls"] for each in call["changed"]]
    wrong = {each["place"] for each in explanation["fields"]}

    lines = panel.locator(f"[data-message='{moment['index']}'] .changes li")
    expect(lines).to_have_count(len(changed))
    expect(lines.first).to_contain_text(changed[0]["place"])
    marked = panel.locator(f"[data-message='{moment['index']}'] .changes li.wrong")
    expect(marked).to_have_count(sum(each["place"] in wrong for each in changed))


def test_time_travel_works_in_a_file_from_any_message(failed):
    page, panel, _, moment = failed
    panel.locator(f"[data-message='{moment['index']}']").get_by_role(
        "button", name="databases"
    ).click()

    expect(panel.locator(".travel-bar output")).to_contain_text(f"Message {moment['index']} of")
    changed = panel.locator(".worlds .world").filter(has_text="This message changed")
    expect(changed.locator("tbody tr")).not_to_have_count(0)
    expect(page).to_have_url(re.compile(f"/m{moment['index']}"))


def test_a_hint_comes_with_the_keyboard_and_goes_with_escape(failed):
    page, panel, _, _ = failed
    hint = page.locator("#hint")
    panel.locator(".verdict-line .chip").focus()
    expect(hint).to_contain_text("the reward is below 1")
    expect(panel.locator(".verdict-line .chip")).to_have_attribute("aria-describedby", "hint")

    page.keyboard.press("Escape")
    expect(hint).to_be_hidden()
    expect(panel).to_be_visible()
    panel.locator(".blame").hover()
    expect(hint).to_be_visible()


TEXT = """# A **plan**

Two things, *both* `free`:
- one
  1. inner
- two <b>bold</b>

| a | b |
|---|---|
| 1 | **2** |

```
keep   *this*
```
> quoted
[site](javascript:alert(1)) and __init__ stay
"""


def test_markdown_is_drawn_and_can_be_read_as_it_was_written(visit, tmp_path):
    path = write_report([simulated(messages=[said("user", TEXT)])], tmp_path / "report.html")
    visited = visit(path)
    page = visited.open("#retail/0/0")
    message = visited.wait_for_simulation().locator("[data-message='0']")

    expect(message.locator(".heading strong")).to_have_text("plan")
    expect(message.locator("em")).to_have_text("both")
    expect(message.locator("p code")).to_have_text("free")
    expect(message.locator(".markdown > ul > li")).to_have_count(2)
    expect(message.locator(".markdown li ol li")).to_have_text("inner")
    expect(message.locator(".markdown td").last).to_have_text("2")
    expect(message.locator(".code")).to_have_text("keep   *this*")
    expect(message.locator("blockquote")).to_have_text("quoted")
    expect(message).to_contain_text("two <b>bold</b>")
    expect(message).to_contain_text("site (javascript:alert(1)) and __init__ stay")
    assert page.evaluate(ALIVE) == []

    page.get_by_role("button", name="Raw text").click()
    eventually(message.locator(".prose").text_content, TEXT)
    expect(message.locator(".markdown")).to_have_count(0)


@pytest.mark.parametrize("sign", ["> ", "- ", "**", "`", "[", "|", "  " * 3 + "* ", "1. "])
def test_no_text_is_too_odd_to_be_drawn(visit, tmp_path, sign):
    line = sign * (3000 // len(sign)) + "end"
    odd = "\n".join([line, *[" " * depth + sign + "x" for depth in range(60)]])
    path = write_report([simulated(messages=[said("user", odd)])], tmp_path / "report.html")
    visited = visit(path)
    visited.open("#retail/0/0")
    expect(visited.wait_for_simulation().locator("[data-message='0']")).to_contain_text("end")


def test_no_word_beside_a_fence_of_code_is_lost(visit, tmp_path):
    odd = "```python never mind\ncode\n``` but this\nmore\n```\nafter"
    path = write_report([simulated(messages=[said("user", odd)])], tmp_path / "report.html")
    visited = visit(path)
    visited.open("#retail/0/0")
    written = visited.wait_for_simulation().locator("[data-message='0'] .markdown")
    expect(written.locator("small")).to_have_text("python never mind")
    expect(written.locator(".code")).to_have_text("code\n``` but this\nmore")
    expect(written.locator("p")).to_have_text("after")


def test_the_policy_is_the_one_that_was_recorded_or_the_page_says_that_it_is_not(visit, tmp_path):
    usual, alone = "# Be kind", "# Be alone"

    def told(task, policy):
        settings = {} if policy is None else {"policy_sha256": sha256(policy.encode()).hexdigest()}
        return simulated(task, config={"environment": settings})

    finished = [told("0", usual), told("1", alone), told("2", "# Be strict"), told("3", None)]
    path = write_report(finished, tmp_path / "told.html", policies={"retail": [usual, alone]})
    visited = visit(path)

    def read(task):
        visited.open(f"#retail/{task}/0")
        section = visited.wait_for_simulation(f"retail/{task}/0").locator(".part.policy")
        section.locator("summary").click()
        return section

    for task, words in (("0", "Be kind"), ("1", "Be alone")):
        section = read(task)
        expect(section).to_contain_text("The policy that the agent was given")
        expect(section).to_contain_text(words)
        expect(section.get_by_role("note")).to_have_count(0)
    expect(read("2").get_by_role("note")).to_contain_text("Not the text that the agent was given")
    expect(read("3").get_by_role("note")).to_contain_text("does not say which policy")


def test_a_model_call_has_its_parts_in_tabs_and_says_which_turn_it_was(visit, tmp_path):
    talk = [said("user", "Hi", second=1), said("assistant", "Hello", second=5, cost=0.5)]
    logged = {"timestamp": "2025-01-01T10:00:02", "generation_params": {"temperature": 0.5}}
    asked = simulated("1", messages=talk)
    asked["traces"]["models"] = {"agent_model": {"model_id": "lab/one", "logs": [logged]}}
    visited = visit(write_report([asked], tmp_path / "report.html"))
    page = visited.open("#retail/1/0")
    visited.wait_for_simulation().get_by_text("Model call").click()

    expect(page.locator("summary", has_text="Model call")).to_contain_text("turn 1 of 1")
    shown = page.get_by_role("tabpanel")
    expect(shown).to_contain_text("temperature")
    page.get_by_role("tab", name="Request").press("ArrowRight")
    expect(shown).to_have_text("Hello")
    page.get_by_role("tab", name="Usage").click()
    expect(shown).to_contain_text("$0.50")
    page.get_by_role("tab", name="Raw").click()
    expect(shown).to_contain_text("2025-01-01T10:00:02")


def test_the_agents_of_a_team_have_lanes_and_the_one_that_decided_is_marked(visit, flaws, tmp_path):
    pytest.importorskip("openai")  # a rehearsal is asked for by its protocol
    visited = visit(write_page(team_run(tmp_path / "run").folder, tmp_path / "team.html"))
    page = visited.open("#library/owes_too_much_for_a_hold/0")
    panel = visited.wait_for_simulation()

    lost, reader = panel.locator(".lost-here"), panel.locator("[data-message='2']")
    expect(lost.locator("strong").first).to_contain_text("writer")
    expect(panel.locator(".among strong").first).to_have_text("supervisor")
    expect(panel.locator(".among")).to_contain_text(["to reader", "to writer", "writer"])
    lanes = {each.evaluate("e => getComputedStyle(e).borderLeftColor") for each in (lost, reader)}
    assert len(lanes) == 2
    decided = panel.locator(".part.team tr", has_text="decided")
    expect(decided).to_have_count(1)
    expect(decided.locator("th")).to_contain_text("writer")
    assert flaws(page) == [] and visited.noise == []
