"""The report in a real browser: it shows what it should, and nothing in it comes alive."""

import re
import socket
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from maseval.report import write_report
from maseval.stats import Outcome, pass_plot, summarise
from tests.browser.hostile import ALIVE, ALLOWED, PAYLOADS, hostile_reports
from tests.browser.waiting import eventually, unfold
from tests.report.builders import answered, broken, call, report, said, simulated

TELECOM = "[mobile]roaming|off[None]"


def domain_filter(page: Page) -> Any:
    return page.get_by_role("combobox", name="Domain")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    finished = [
        simulated("0", 0),
        simulated("0", 1, reward=0.0, labels=["agent: missing write"]),
        simulated("12", 0, reward=0.0, ended="max_steps"),
        broken("12", 1, domain="retail"),
        simulated(TELECOM, 0, domain="telecom"),
    ]
    return write_report(finished, tmp_path / "report.html", title="A run")


def expect_rows(page: Page, *names: str) -> None:
    rows = page.locator("table.tasks tbody tr:visible .id")
    expect(rows).to_have_count(len(names))
    for number, name in enumerate(names):
        expect(rows.nth(number)).to_have_text(name)


def expect_status(page: Page, words: str) -> None:
    expect(page.locator("output.status")).to_have_text(words)


def test_the_page_opens_quietly_and_shows_the_run(visit, run):
    page = visit(run).open()

    expect(page).to_have_title("A run")
    expect(page.locator(".totals")).to_contain_text("3 tasks · 5 simulations")
    expect(page.locator(".cell.pass")).to_have_count(2)
    expect(page.locator(".cell.error")).to_have_count(1)
    expect(page.locator(".pairs").first).to_contain_text("lab/agent-1")
    expect(page.locator("table.results tbody tr")).to_have_count(3)
    expect(page.locator("table.results .interval .band")).to_have_count(3)  # however wide


def test_the_policy_is_in_force(visit, run):
    visited = visit(run)
    page = visited.open()

    refused = page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.append("window.__pwned = 1");
          document.body.append(script);
          try { document.body.innerHTML = "<b>x</b>"; } catch { return true; }
        }"""
    )

    assert refused
    assert page.evaluate("window.__pwned") is None
    # The browser says that it stopped them; it says it while it is asked something.
    eventually(lambda: bool(page.title()) and len(visited.noise) >= 2)
    visited.noise.clear()


def test_no_load_gets_through_even_if_something_asked_for_one(visit, run):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        visited = visit(run)
        page = visited.open()
        page.evaluate(
            """async (address) => {
              const refused = new Promise((done) => {
                const seen = new Set(["img-src", "style-src-elem", "connect-src"]);
                addEventListener("securitypolicyviolation", ({ effectiveDirective }) =>
                  seen.delete(effectiveDirective) && seen.size === 0 && done());
              });
              const [image, sheet] = ["img", "link"].map((name) => document.createElement(name));
              image.src = `${address}/x.png`;
              Object.assign(sheet, { rel: "stylesheet", href: `${address}/x.css` });
              document.body.append(image, sheet);
              await fetch(address).catch(() => {});
              await refused;
            }""",
            f"http://127.0.0.1:{server.getsockname()[1]}",
        )
        with pytest.raises(BlockingIOError):  # nobody has knocked
            server.accept()
    visited.noise.clear()
    visited.requests.clear()


@pytest.mark.parametrize(
    ("act", "rows", "cells"),
    [
        (lambda page: page.fill("#search", "mobile"), [TELECOM], 1),
        (lambda page: page.fill("#search", "no such task"), [], 0),
        (lambda page: page.click("button.chip.pass"), ["0", TELECOM], 2),
        (lambda page: page.click("button.chip.error"), ["12"], 1),
        (lambda page: domain_filter(page).select_option("telecom"), [TELECOM], 1),
        (lambda page: page.get_by_label("Termination").select_option("max_steps"), ["12"], 1),
        (lambda page: page.get_by_label("Label").select_option("agent: missing write"), ["0"], 1),
    ],
)
def test_filters_leave_what_they_name(visit, run, act, rows, cells):
    page = visit(run).open()

    act(page)

    expect_rows(page, *rows)
    expect(page.locator("table.tasks tbody tr:visible .cell:not(.dim)")).to_have_count(cells)
    expect_status(page, f"{cells} of 5 simulations")


def test_tasks_can_be_ordered_by_success(visit, run):
    page = visit(run).open()
    page.get_by_label("Order").select_option("fewest passed")
    expect_rows(page, "12", "0", TELECOM)


def test_a_click_opens_the_conversation(visit, run):
    visited = visit(run)
    page = visited.open()

    page.locator(".cell.fail").first.click()
    panel = visited.wait_for_simulation("retail/0/1")

    expect(page).to_have_url(re.compile("#retail/0/1$"))
    said_by = panel.locator(".message-head strong")
    expect(said_by).to_have_text(["Agent", "User", "Agent", "Agent", "Agent", "User"])
    expect(panel.locator(".message.user .prose").first).to_have_text("Please cancel my order.")
    expect(panel.locator(".call .tool")).to_have_text(["get_order", "cancel_order"])
    assert panel.locator(".call .answer").first.text_content() == (
        '{\n  "order_id": "#W1",\n  "status": "pending"\n}'
    )
    expect(panel.locator(".tag.write")).to_have_count(1)


def test_a_failed_simulation_shows_which_check_decided(visit, run):
    visited = visit(run)
    visited.open("#retail/0/1")
    panel = visited.wait_for_simulation()

    verdict = panel.locator(".part.verdict")
    expect(verdict).to_contain_text("Reward 0 = DB")
    decisive = verdict.locator("details", has_text="End state")
    expect(decisive).to_have_attribute("open", "")
    informed = verdict.locator("details", has_text="Information given")
    expect(informed).to_contain_text("not scored")


def test_a_failed_simulation_is_explained_beside_its_verdict(visit, tmp_path):
    wrong = {"place": "orders[#W1].status", "expected": '"paid"', "found": "null", "message": 4}
    explanation = {
        "label": {"name": "agent: wrong arguments", "rule": "wrong arguments", "evidence": []},
        "fields": [wrong, {**wrong, "place": "orders[#W1].reason"}],
        "sections": [{"title": "What would have made it pass", "lines": ["  leave out message 4"]}],
    }
    failed = simulated("0", 0, reward=0.0, explanation=explanation)
    visited = visit(write_report([failed], tmp_path / "report.html"))
    page = visited.open("#retail/0/0")
    visited.wait_for_simulation()

    section = page.locator(".part.explanation")
    expect(section).to_contain_text("agent: wrong arguments")
    places = ["orders[#W1].status", "orders[#W1].reason"]
    expect(section.locator("tbody th")).to_have_text(places)
    expect(section.locator("td[rowspan='2']")).to_have_count(1)
    section.get_by_role("button", name="message 4").last.click()
    expect(page.locator("[data-message='4']")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_plots_are_drawn_in_the_colours_of_the_page(visit, tmp_path, scheme):
    outcomes = [Outcome("retail", str(task), 0, passed=task > 1) for task in range(9)]
    plots = [pass_plot({name: summarise(outcomes) for name in ("careful", "hurried")})]
    path = write_report([report()], tmp_path / "report.html", plots=plots)

    page = visit(path, color_scheme=scheme).open()

    page.get_by_text("Plot", exact=True).click()
    plot = page.locator(".plots svg")
    expect(plot).to_contain_text("hurried")
    assert plot.bounding_box()["width"] > 300
    marks = plot.locator("g.mark circle, text.ink")
    colours = marks.evaluate_all("(marks) => marks.map((each) => getComputedStyle(each).fill)")
    assert len(set(colours)) == 2 and "rgb(0, 0, 0)" not in colours


def test_a_check_leads_to_the_message_it_rests_on(visit, run):
    visited = visit(run)
    page = visited.open("#retail/0/0")
    panel = visited.wait_for_simulation()

    panel.locator("summary", has_text="Reference actions").click()
    panel.locator(".checks .jump").click()

    expect(page.locator("[data-message='4']")).to_be_focused()


@pytest.mark.parametrize(("link", "message"), [("m6", "6"), ("m5", "4")])
def test_the_link_of_a_message_opens_its_simulation_and_marks_it(visit, run, link, message):
    visited = visit(run)
    page = visited.open(f"#retail/0/1/{link}?outcome=fail")
    visited.wait_for_simulation()

    # A tool's answer stands in the message that called it.
    expect(page.locator(".message.marked")).to_have_attribute("data-message", message)
    expect(page.locator(".message.marked")).to_be_focused()
    expect(page).to_have_url(re.compile(rf"#retail/0/1/{link}\?outcome=fail$"))


def test_every_message_has_its_link(visit, run):
    visited = visit(run)
    page = visited.open("#retail/0/1")
    panel = visited.wait_for_simulation()
    section = panel.locator(".part.conversation").element_handle()

    panel.get_by_role("link", name="Link to message 4").click()

    expect(page.locator(".message.marked")).to_have_attribute("data-message", "4")
    expect(page).to_have_url(re.compile("#retail/0/1/m4$"))
    assert section.evaluate("(section) => section.isConnected")  # nothing was drawn anew
    panel.get_by_role("link", name="Link to message 1").click()
    expect(page.locator(".message.marked")).to_have_attribute("data-message", "1")


def test_a_message_says_what_it_took(visit, run):
    visited = visit(run)
    visited.open("#retail/0/1")
    asked = visited.wait_for_simulation().locator("[data-message='2']")

    spent = asked.locator(".message-head small")
    expect(spent).to_have_text("#2 · +4.0 s · took 2.0 s · $0.002")
    expect(asked.locator(".call-head")).to_have_text(re.compile(r"26\.0 s$"))


def test_an_error_is_shown_with_its_traceback_folded(visit, run):
    visited = visit(run)
    visited.open("#retail/12/1")
    panel = visited.wait_for_simulation()

    expect(panel.locator(".part.error")).to_contain_text("the agent fell over")
    expect(panel.locator(".part.error .code")).to_have_count(0)
    panel.locator("summary", has_text="Traceback").click()
    expect(panel.locator(".part.error .code")).to_contain_text("File agent.py")


def test_a_deep_link_opens_a_task_whose_id_has_brackets_and_bars(visit, run):
    visited = visit(run)
    page = visited.open()
    link = page.locator(".cell", has_text="✓").last.get_attribute("href")

    page.goto("about:blank")
    visited.requests.clear()
    visited.open(link)

    expect(visited.wait_for_simulation().locator("h2")).to_contain_text(TELECOM)
    assert re.fullmatch(r"#telecom/[\w%]+[\w%.-]*/0", link)


@pytest.mark.parametrize("link", ["#nothing/of/ours", "#%", "#%E0%A4%A", "#<img src=x>"])
def test_an_address_that_names_nothing_opens_nothing(visit, run, link):
    page = visit(run).open(link)
    expect(page.locator("#panel")).to_be_hidden()


def test_the_keyboard_walks_through_the_simulations(visit, run):
    visited = visit(run)
    page = visited.open()

    for key, name in (("j", "retail/0/0"), ("j", "retail/0/1"), ("k", "retail/0/0")):
        page.keyboard.press(key)
        visited.wait_for_simulation(name)
        expect(page).to_have_url(re.compile(f"#{name}$"))
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    expect(page.locator('.cell[href="#retail/0/0"]')).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator('.cell[href="#retail/0/1"]')).to_be_focused()
    page.keyboard.press("Enter")
    visited.wait_for_simulation("retail/0/1")
    expect(page).to_have_url(re.compile("#retail/0/1$"))


def test_a_click_is_not_lost_where_filters_change_at_that_moment(visit, run):
    visited = visit(run)
    page = visited.open()
    page.evaluate(
        """() => {
          document.querySelector(".tasks .cell.fail").click();
          const change = (choice) => choice.dispatchEvent(new Event("change"));
          document.querySelectorAll("select").forEach(change);
        }"""
    )
    visited.wait_for_simulation("retail/0/1")


def test_the_keyboard_walks_only_through_what_the_filters_leave(visit, run):
    visited = visit(run)
    page = visited.open()
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("12")
    expect(page).to_have_url(re.compile("words=12"))
    page.keyboard.press("Escape")
    expect(page.locator("#search")).not_to_be_focused()
    page.keyboard.press("j")
    visited.wait_for_simulation("retail/12/0")
    expect(page).to_have_url(re.compile(r"#retail/12/0\?words=12$"))


def test_letters_typed_into_the_search_are_no_commands(visit, run):
    page = visit(run).open()
    page.focus("#search")
    page.keyboard.type("jk/")
    expect(page.locator("#search")).to_have_value("jk/")
    expect(page.locator("#panel")).to_be_hidden()


def paper(page: Page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_dark_follows_the_system_and_the_button(visit, run):
    light = paper(visit(run, color_scheme="light").open())
    page = visit(run, color_scheme="dark").open()
    dark = paper(page)
    assert light != dark

    page.click("button.theme")
    eventually(lambda: paper(page), light)
    page.click("button.theme")
    eventually(lambda: paper(page), dark)


def test_paper_shows_the_open_conversation_alone(visit, run):
    visited = visit(run)
    page = visited.open("#retail/0/0")
    visited.wait_for_simulation()

    page.emulate_media(media="print")

    expect(page.locator("#overview")).to_be_hidden()
    expect(page.locator(".message.user").first).to_be_visible()


def hostile_run(text: str, folder: Path) -> Path:
    """A report in which everything that could come from outside says the same thing."""
    summary = {"rows": [{"name": text, "tasks": 1, text: {"value": 0.5}}], "notes": [text]}
    plots = [pass_plot({text: summarise([Outcome(text, text, 0, passed=True)])})]
    path = folder / "report.html"
    return write_report(hostile_reports(text), path, title=text, summary=summary, plots=plots)


@pytest.mark.parametrize("text", PAYLOADS.values(), ids=PAYLOADS)
def test_hostile_text_stays_text_wherever_it_stands(visit, tmp_path, text):
    visited = visit(hostile_run(text, tmp_path))
    page = visited.open()
    scripts = page.locator("script").count()

    page.locator(".cell").first.click()
    panel = visited.wait_for_simulation()
    unfold(page)
    page.mouse.move(300, 300)

    assert page.evaluate("window.__pwned") is None
    tags = set(page.evaluate("[...document.querySelectorAll('*')].map((e) => e.localName)"))
    assert tags <= ALLOWED
    assert page.locator("script").count() == scripts
    assert page.evaluate(ALIVE) == []
    assert page.title().strip() == text.strip()
    assert page.locator("h1").text_content() == text
    assert page.locator("table.tasks .id").first.get_attribute("title") == text
    assert panel.locator(".message.user .prose").text_content() == text
    assert panel.locator(".call .tool").first.text_content() == text
    assert panel.locator(".call.bad .answer").text_content() == text
    assert text in panel.locator(".part.error").text_content()
    assert panel.locator(".evidence").last.text_content() == text
    assert "".join(page.locator(".counts").all_text_contents()).count(text) >= 2


UNSEEN = {
    "null": ("a\x00b", r"a\u{0}b"),
    "escape": ("a\x1b[31mb", r"a\u{1B}[31mb"),
    "carriage return": ("a\rb", r"a\u{D}b"),
    "right-to-left override": ("a\u202egnp.exe", r"a\u{202E}gnp.exe"),
    "isolates": ("\u2066a\u2069", r"\u{2066}a\u{2069}"),
    "zero width": ("pass\u200bword\ufeff", r"pass\u{200B}word\u{FEFF}"),
    "separators": ("a\u2028b\u2029c", r"a\u{2028}b\u{2029}c"),
    "tags": ("a\U000e0041\U000e0042", r"a\u{E0041}\u{E0042}"),
    "lone surrogate": ("a\ud800b", r"a\u{D800}b"),
    "soft hyphen": ("a\u00adb", r"a\u{AD}b"),
    "joiner between letters": ("a\u200db", r"a\u{200D}b"),
    "emoji keep their joiners": ("👩\u200d💻 ✈\ufe0f", "👩\u200d💻 ✈\ufe0f"),
    "other scripts": ("ответ שלום 答え", "ответ שלום 答え"),
    "lines and tabs": ("a\n\tb", "a\n\tb"),
}


@pytest.mark.parametrize(("text", "shown"), UNSEEN.values(), ids=UNSEEN)
def test_characters_that_cannot_be_seen_are_made_visible(visit, tmp_path, text, shown):
    visited = visit(hostile_run(text, tmp_path))
    page = visited.open()
    page.locator(".cell").first.click()
    panel = visited.wait_for_simulation()

    assert page.locator("h1").text_content() == shown
    assert page.locator("table.tasks .id").first.get_attribute("title") == shown
    assert panel.locator(".message.user .prose").text_content() == shown
    assert panel.locator(".call .tool").first.text_content() == shown


def test_a_huge_text_is_cut_until_it_is_asked_for(visit, tmp_path):
    huge = "a word" * 12_500
    told = [said("user", huge), said("assistant", None, call("get_order")), answered(huge)]
    visited = visit(write_report([simulated(messages=told)], tmp_path / "report.html"))
    page = visited.open("#retail/0/0")
    panel = visited.wait_for_simulation()

    assert len(panel.text_content()) < 20_000
    panel.get_by_role("button", name="Show all: 75,000 characters").click()
    more = panel.locator(".message.user .more")
    more.click()
    expect(more).to_contain_text("9,000 characters left")
    more.click()
    shown = page.locator(".message.user .prose")
    eventually(lambda: len(shown.text_content()), len(huge))


def test_long_numbers_in_json_keep_every_digit(visit, tmp_path):
    result = '{"id":12345678901234567890,"price":40.0,"none":{},"list":[],"text":"{a, b: \\"c\\"}"}'
    told = [said("assistant", None, call("get_order")), answered(result)]
    visited = visit(write_report([simulated(messages=told)], tmp_path / "report.html"))
    visited.open("#retail/0/0")

    assert visited.wait_for_simulation().locator(".answer").text_content() == (
        '{\n  "id": 12345678901234567890,\n  "price": 40.0,\n  "none": {},\n  "list": [],\n'
        '  "text": "{a, b: \\"c\\"}"\n}'
    )


def test_a_damaged_packet_is_named_and_the_others_open(visit, run):
    document = run.read_text(encoding="utf-8")
    run.write_text(
        document.replace('class="packet">H4s', 'class="packet">XXX', 1), encoding="utf-8"
    )
    visited = visit(run)
    page = visited.open("#retail/0/0")
    expect(visited.wait_for_simulation()).to_contain_text("damaged")

    page.evaluate("location.hash = '#retail/12/0'")
    expect(page.locator("#panel .message.user")).not_to_have_count(0)


def test_an_empty_run_is_a_page_too(visit, tmp_path):
    page = visit(write_report([], tmp_path / "report.html")).open()
    page.keyboard.press("j")
    expect(page.locator(".totals")).to_contain_text("0 simulations")


def test_a_run_of_any_benchmark_can_be_read(visit, tmp_path):
    told = [{"role": "user", "content": "A room?"}, {"role": "assistant", "content": "Ash."}]
    finished = report(
        "pair",
        traces={"agents": {"desk": {"messages": told}}},
        eval=[{"passed": True, "booked": {"Ash": [10]}}],
    )
    visited = visit(write_report([finished], tmp_path / "report.html"))
    visited.open("#pair/0")
    panel = visited.wait_for_simulation()

    expect(panel.locator(".part.verdict")).to_contain_text("booked")
    expect(panel.locator(".message .prose")).to_have_text(["A room?", "Ash."])


def test_a_very_long_table_draws_what_is_near(visit, tmp_path):
    finished = [report(str(task), passed=task % 7 > 0) for task in range(2_000)]
    visited = visit(write_report(finished, tmp_path / "report.html"))
    page = visited.open()
    rows = page.locator("table.tasks tr:has(.cell)")
    eventually(lambda: rows.count() < 1_000)

    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(page.locator(".id").last).to_have_text("1999")
    eventually(lambda: rows.count() < 1_500)

    visited.open("#1000/0")
    visited.wait_for_simulation("1000/0")
    expect(page.locator(".cell[aria-current]")).to_have_attribute("href", "#1000/0")
    page.focus(".cell[aria-current]")
    page.keyboard.press("ArrowDown")
    expect(page.locator('.cell[href="#1001/0"]')).to_be_focused()
    page.keyboard.press("Enter")
    visited.wait_for_simulation("1001/0")
    page.click("button.chip.fail")
    expect_status(page, "286 of 2,000 simulations")
    page.keyboard.press("n")
    visited.wait_for_simulation("1008/0")
