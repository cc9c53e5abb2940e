"""The plugin, loaded by pytest in suites of its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

# What is loaded before a suite runs within this process is not loaded again by each of them.
import maseval.benchmark.tau2.app.running.run
import maseval.benchmark.tau2.players  # noqa: F401
import pytest_maseval.evaluation  # noqa: F401

pytest_plugins = "pytester"

PAGE = Path(__file__).parents[2] / "docs" / "pytest.md"
TASKS = "domain='library', tasks=['first_waiver', 'renewal_somebody_waits'], "
SUITE = """
    import pytest

    @pytest.mark.maseval({options})
    def test_agent(maseval):
        {body}
"""


@pytest.fixture(autouse=True)
def light(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out a plugin of others that takes as long to import as pytest itself."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:langsmith_plugin")


def outcome(pytester: pytest.Pytester, suite: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(suite)
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)


def outcome_of(
    pytester: pytest.Pytester, body: str, *arguments: str, options: str = TASKS + "at_least=0.8"
) -> pytest.RunResult:
    return outcome(pytester, SUITE.format(body=body, options=options), *arguments)


def test_an_agent_that_passes_everything_meets_the_rate_of_one(pytester: pytest.Pytester) -> None:
    body = "assert maseval.check('gold').pass_1 == 1"
    result = outcome_of(pytester, body, options=TASKS + "at_least=1")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*pass^1 100.0%*at least 100.0%: reached"])


@pytest.mark.parametrize(("tasks", "trials", "at_least"), [(2, 4, 0.5), (3, 3, 0.6), (1, 1, 0.1)])
def test_what_cannot_be_decided_fails_with_what_would_decide_it(
    pytester: pytest.Pytester, tasks: int, trials: int, at_least: float
) -> None:
    options = f"domain='library', num_tasks={tasks}, trials={trials}, at_least={at_least}"
    suite = f"""
        import pytest

        @pytest.mark.maseval({options})
        def test_agent(maseval):
            maseval.check("noop")

        @pytest.mark.maseval({options}, allow_undecided=True)
        def test_of_an_author_who_says_otherwise(maseval):
            maseval.check("noop")
        """
    result = outcome(pytester, suite)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        ["*pass^1 0.0%*: not decided; *would decide it*", "allow_undecided=True *"]
    )


def test_an_agent_shown_to_miss_the_rate_fails_its_test(pytester: pytest.Pytester) -> None:
    options = "domain='library', at_least=0.9"
    result = outcome_of(pytester, "maseval.check('noop')", options=options)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*pass^1 0.0%*at least 90.0%: missed", "maseval show *"])


def test_one_bad_trial_does_not_fail_a_test(pytester: pytest.Pytester) -> None:
    options = "at_least=0.6, agent_args={'error_rate': 0.5}, seed=3, trials=3, allow_undecided=True"
    options = TASKS + options
    result = outcome_of(pytester, "print(maseval.check('noisy').pass_1)", "-s", options=options)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("1.0")
    result.stdout.fnmatch_lines(["*not decided*"])


def test_an_agent_may_be_a_function_of_the_test_module(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest

        def silent(brief):
            return lambda message: "I cannot help with that."

        @pytest.mark.maseval(domain="library", tasks=["first_waiver"], user="scripted")
        def test_agent(maseval):
            assert maseval.run(silent).pass_1 == 0
        """
    result = outcome(pytester, suite)
    result.assert_outcomes(passed=1)


def test_what_cannot_be_evaluated_is_not_called_a_bad_agent(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest
        from maseval.core.provider_errors import OverloadedError

        def broken(brief):
            raise OverloadedError("no route to the model", provider="acme")

        @pytest.mark.maseval(domain="library", tasks=["first_waiver"], user="scripted", at_least=1)
        def test_agent(maseval):
            maseval.check(broken)
        """
    result = outcome(pytester, suite)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["the agent could not be evaluated: 1 of 1 *no route to the model*"]
    )


def test_the_marks_of_a_class_and_of_its_test_are_put_together(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest

        @pytest.mark.maseval(domain="library", tasks=["first_waiver"], trials=3)
        class TestAgent:
            @pytest.mark.maseval(trials=2)
            def test_agent(self, maseval):
                assert maseval.run("gold").result.summary.overall.recorded == 2
        """
    outcome(pytester, suite).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("'retail'", "*takes its options by name*"),
        ("tasks=['1']", "*no domain to evaluate in*"),
        ("domain='library', at_least=8", "*at_least is 8; give a share from 0 to 1*"),
        ("domain='library', at_least='80%'", "*at_least is '80%'; give a share from 0 to 1*"),
        ("domain='library', alpha=0.9", "*alpha is 0.9; give a chance below 0.5*"),
        ("domain='library', at_leat=0.8", "*without an option 'at_leat'; did you mean 'at_least'?"),
        ("domain='library', output='runs/x'", "*without an option 'output'*"),
        ("domain='library', measure='safe'", "*no measure 'safe'; choose among without breaches*"),
        ("domain='library', tasks='no_such_task'", "*no_such_task*"),
    ],
)
def test_a_wrong_mark_says_what_is_wrong(
    pytester: pytest.Pytester, mark: str, message: str
) -> None:
    result = outcome_of(pytester, "maseval.check('gold')", "--maseval-runs", "kept", options=mark)
    assert result.ret == 1
    result.stdout.fnmatch_lines([message])
    assert not Path(pytester.path, "kept").exists()


def test_a_call_may_ask_for_something_else_than_its_mark(pytester: pytest.Pytester) -> None:
    body = "maseval.check('noop', tasks='first_waiver', at_least=0)"
    result = outcome_of(pytester, body, options=TASKS + "at_least=1, trials=20")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*0 of 20 simulations, tasks: 1"])


def test_a_marked_test_that_evaluates_nothing_fails(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest

        @pytest.mark.maseval(domain="library", at_least=0.9)
        def test_agent():
            pass
        """
    result = outcome(pytester, suite)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*let it take the fixture*"])


def test_a_check_without_a_rate_fails(pytester: pytest.Pytester) -> None:
    result = outcome_of(pytester, "maseval.check('noop')", options=TASKS)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*check has no pass rate*at_least=0.8*"])


def test_a_marked_test_that_takes_the_fixture_and_never_uses_it_fails(
    pytester: pytest.Pytester,
) -> None:
    result = outcome_of(pytester, "assert maseval")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*evaluates nothing: call maseval.check*"])


@pytest.mark.data
def test_another_measure_takes_the_place_of_the_verdict(
    pytester: pytest.Pytester, tau2_data: Path
) -> None:
    """Gold fails task 2 by its corrected criteria; no verdict on task 7 can be right."""
    options = "domain='airline', tasks=['1', '2', '7'], at_least=1, measure='over sound tasks'"
    suite = f"""
        import pytest

        @pytest.mark.maseval({options})
        def test_sound(maseval):
            maseval.check("gold")

        @pytest.mark.maseval({options})
        def test_official(maseval):
            assert maseval.check("gold", measure=None).pass_1 == 1
        """
    result = outcome(pytester, suite)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_official: pass^1 100.0%*3 of 3 simulations, tasks: 3; *: reached",
            "*test_sound: over sound tasks^1 50.0%*1 of 2 simulations, tasks: 2; *: missed",
        ]
    )


def test_a_run_under_a_rate_that_it_misses_warns(pytester: pytest.Pytester) -> None:
    result = outcome_of(pytester, "maseval.run('noop')", "-W", "default")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*maseval.check() would have failed*missed*"])


def test_no_tasks_are_not_all_tasks(pytester: pytest.Pytester) -> None:
    options = "domain='library', tasks=[], at_least=0.8"
    result = outcome_of(pytester, "maseval.check('gold')", options=options)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*tasks is [[]], which names no task*"])


@pytest.mark.parametrize("options", [TASKS + "at_leest=1", "at_least=1", "'library'"])
def test_a_traceback_has_no_lines_of_the_plugin(pytester: pytest.Pytester, options: str) -> None:
    result = outcome_of(pytester, "maseval.check('gold')", options=options)
    assert result.ret == 1
    assert "evaluation.py" not in result.stdout.str() and "pytest_maseval" not in str(
        result.outlines
    )


def test_a_rehearsal_is_checked_by_its_checklist(pytester: pytest.Pytester) -> None:
    pytest.importorskip("openai")
    agent = "lambda brief: lambda query: brief.chat_model().generate(query)"
    options = TASKS + "rehearse='gold', allow=['tasks']"
    result = outcome_of(pytester, f"maseval.check({agent})", options=options)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Missed (schemas): tool schemas equal 0 of 13*"])


def test_tests_whose_names_look_alike_keep_runs_of_their_own(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest

        @pytest.mark.parametrize("how", ["a/b", "a-b", "x" * 99])
        @pytest.mark.parametrize("why", ["y" * 99])
        @pytest.mark.parametrize("who", ["z" * 99])
        @pytest.mark.maseval(domain="library", tasks="first_waiver")
        def test_agent(maseval, how, why, who):
            assert maseval.run("gold").result.ran == 1
        """
    outcome(pytester, suite, "--maseval-runs", "kept").assert_outcomes(passed=3)


def test_kept_runs_are_resumed(pytester: pytest.Pytester) -> None:
    body = "print('ran', maseval.check('gold').result.ran)"
    first, again = (
        outcome_of(pytester, body, "-s", "--maseval-runs", "kept", options=TASKS + "at_least=1")
        for _ in range(2)
    )
    first.stdout.fnmatch_lines(["*ran 2*"])
    again.stdout.fnmatch_lines(["*ran 0*"])
    assert list(Path(pytester.path, "kept").rglob("log.jsonl"))


def test_evaluations_of_parallel_workers_are_all_listed(pytester: pytest.Pytester) -> None:
    result = outcome_of(pytester, "maseval.check('gold')", "-n", "1", options=TASKS + "at_least=1")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*pass^1 100.0%*"])


def test_the_plugin_can_be_left_out(pytester: pytest.Pytester) -> None:
    result = outcome_of(pytester, "pass", "-p", "no:maseval")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'maseval' not found*"])


def test_the_suites_of_the_documentation_pass(pytester: pytest.Pytester) -> None:
    found = re.findall(r'```python title="(\w+)\.py"\n(.*?)```', PAGE.read_text("utf-8"), re.S)
    pytester.makepyfile(**dict(found))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)
    shown = re.search(r"pass\^1 75.0%.*?: reached", PAGE.read_text("utf-8"), re.S)
    assert shown is not None
    assert shown[0].replace("\n", " ") in result.stdout.str()


def test_loading_the_plugin_does_not_load_the_package() -> None:
    code = "import sys, pytest_maseval; print('maseval' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_an_agent_that_ends_the_process_with_0_is_no_green_suite(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("""
        import os
        import pytest

        @pytest.mark.maseval(domain="library", num_tasks=1, user="scripted", at_least=0.5)
        def test_agent(maseval):
            maseval.check(lambda brief: lambda query: os._exit(0))
    """)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist")

    assert result.ret == 1


def test_ctrl_c_ends_the_suite_and_not_one_evaluation(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import os
        import signal
        import pytest

        @pytest.mark.maseval(domain="library", num_tasks=1, user="scripted", at_least=0.5)
        def test_agent(maseval):
            maseval.check(lambda brief: lambda query: os.kill(os.getpid(), signal.SIGINT))

        def test_next():
            pass
    """)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    assert result.ret == 2
    result.stdout.fnmatch_lines("*interrupted; maseval show *")
    assert "passed" not in result.stdout.str()
