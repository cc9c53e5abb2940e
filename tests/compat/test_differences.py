"""Every difference from MASEval that the manual lists is shown by a test, and none is made up."""

import re
from pathlib import Path

import pytest

from maseval import (
    BenchmarkCallback,
    ScriptedModelAdapter,
    SequentialTaskQueue,
    Task,
    TaskProtocol,
)
from maseval.benchmark.tau2 import compute_pass_at_k, compute_pass_hat_k
from maseval.core.call_policy import CallPolicy
from maseval.core.provider_errors import OverloadedError
from tests.core.worlds import Shop

CHECKOUT = Path(__file__).parents[2]

# A row of the table, and the test that shows it: its file and its name.
ROWS = """\
`timeout_seconds`
    core/engine/test_scheduling
    test_a_repetition_that_overruns_is_given_up_and_the_others_finish
`max_retries`, `timeout_action`
    core/engine/test_scheduling
    test_the_protocol_says_what_to_do_with_a_timeout
a provider that fails
    compat/test_differences
    test_a_provider_that_fails_is_asked_again
several workers
    core/engine/test_scheduling
    test_start_events_fire_when_a_repetition_starts
`fail_on_*` with several workers
    core/test_benchmark
    test_a_flag_stops_the_run_at_its_kind_of_failure_and_keeps_what_is_finished
`on_run_end` after `fail_on_*`
    core/test_benchmark
    test_a_flag_stops_the_run_at_its_kind_of_failure_and_keeps_what_is_finished
adaptive queues
    core/engine/test_scheduling
    test_an_adaptive_queue_hands_out_each_task_once_to_many_workers
dicts as tasks
    compat/test_differences
    test_a_dict_keeps_all_parts_of_its_task
two tasks of one id
    core/task/test_plan
    test_two_tasks_with_one_id_are_refused
the list given as `callbacks`
    compat/test_differences
    test_the_callers_list_of_callbacks_stays_as_it_is
`add_callback`
    core/test_benchmark
    test_an_added_callback_and_a_function_of_the_handler_hear_every_event
a user who is done
    core/test_benchmark
    test_agents_and_user_take_turns_until_the_user_is_done
stop tokens of a user
    core/test_user
    test_a_stop_token_ends_the_conversation_and_is_not_heard
`AgenticLLMUser` without `initial_query`
    core/test_user
    test_without_one_the_model_speaks_first
components made in other threads
    core/engine/test_scheduling
    test_a_component_made_in_a_bare_thread_belongs_nowhere_and_the_error_says_so
`DISCOQueue(anchor_points_path=)`
    core/task/test_subset
    test_a_pickle_is_not_read_and_the_way_out_is_named
results of chosen tasks
    app/results/test_estimate
    test_the_commands_of_one_run_say_so
a `FileResultLogger` used twice
    core/callbacks/test_result_logger
    test_runs_within_one_second_have_files_of_their_own
JSONL of `FileResultLogger`
    core/callbacks/test_result_logger
    test_what_all_reports_share_is_stored_once
a killed process
    core/engine/test_process
    test_kill_9_leaves_every_finished_report_on_disk
`import maseval`, `Benchmark()`
    compat/test_differences
    test_no_process_is_started_to_list_packages
a report's further keys
    compat/test_differences
    test_a_report_has_further_keys
Claude: `input_tokens`
    interface/inference/test_anthropic
    test_what_came_from_the_cache_is_input_and_priced_as_such
Claude: `tool_choice="none"`
    interface/inference/test_anthropic
    test_tools_and_choice_take_anthropics_form
Gemini: ids of tool calls
    interface/inference/test_google_genai
    test_ids_stay_unique_in_a_long_conversation
`HuggingFaceModelScorer(trust_remote_code=)`
    interface/inference/test_huggingface_scorer
    test_nothing_is_loaded_before_the_first_question
agents of several turns
    interface/agents/test_every_adapter
    test_the_conversation_is_remembered_over_the_turns_of_a_telecom_task
messages of agents in traces
    interface/agents/test_every_adapter
    test_messages_have_openais_form
pass@k
    compat/test_differences
    test_pass_at_k_does_not_depend_on_the_order_of_reports
k above a task's number of trials
    compat/test_differences
    test_a_k_above_the_trials_of_a_task_is_left_out
tau2: verdicts
    contract/test_evaluations_contract
    test_every_recorded_evaluation_comes_out_the_same
tau2: assertions in words without a judge
    benchmark/tau2/test_evaluator
    test_without_a_judge_assertions_are_skipped_unless_the_reward_depends_on_them
tau2: a tool that does not exist
    benchmark/tau2/test_benchmark
    test_unknown_tools_and_malformed_arguments_are_answered_and_score_the_same_in_replay
tau2: tools that a subclass of the environment adds or wraps
    benchmark/tau2/test_overrides
    test_what_an_added_tool_writes_past_the_originals_is_not_counted_and_said
tau2: texts of errors
    compat/test_tau2_statements
    test_4_the_environment
tau2: telecom policy
    benchmark/tau2/test_environment
    test_the_policy_variants_of_telecom
tau2: `db_changed` of telecom
    compat/test_tau2_statements
    test_4_the_environment
tau2: `max_invocations`
    benchmark/tau2/test_benchmark
    test_a_frameworks_steps_count_like_anybodys
tau2: limits of 50 turns and 50 tool calls
    benchmark/tau2/world/test_trajectory
    test_a_limit_of_tool_calls_given_with_the_agents_data_holds_in_a_run
tau2: retail order ids without `#`
    benchmark/tau2/domains/test_published_domains
    test_retail_leaves_a_whole_number_whole_and_may_be_lenient_about_order_ids
tau2: functions named in tasks
    benchmark/tau2/domains/test_telecom
    test_a_task_file_cannot_reach_what_is_not_meant_for_it
tau2: a toolkit without a database
    compat/test_behaviour
    test_a_toolkit_without_a_database_is_refused
tau2: `split="hard"`
    benchmark/tau2/test_data_loader
    test_every_listed_split_has_tasks_and_any_other_is_refused_with_the_list
tau2 and MACS: data
    benchmark/macs/test_data_loader
    test_files_come_from_the_pinned_commit
texts of tools
    contract/test_texts_contract
    test_our_tools_in_the_originals_words_are_its_schemas
MACS: judging
    contract/macs/test_judging_contract
    test_every_recorded_answer_is_read_and_scored_as_recorded
MACS: tools of one name in several groups
    benchmark/macs/test_environment
    test_equal_actions_are_one_tool_and_unequal_ones_carry_their_group
MACS: failed calls of tools
    benchmark/macs/test_tool
    test_failed_calls_are_recorded_too_so_that_the_judge_sees_them
MACS: means
    benchmark/macs/test_metrics
    test_a_failed_agent_lowers_the_means_as_it_lowers_the_rate
"""
_LINES = ROWS.splitlines()
SHOWN_BY = {
    row: (file.strip(), name.strip())
    for row, file, name in zip(_LINES[::3], _LINES[1::3], _LINES[2::3], strict=True)
}


def listed_differences():
    text = (CHECKOUT / "docs" / "migrating.md").read_text(encoding="utf-8")
    table = text.partition("### What is different on purpose")[2].partition("\n### ")[0]
    return re.findall(r"^\| (.+?) \|", table, re.M)[1:]


def test_the_manual_lists_what_the_tests_show():
    assert [row for row in listed_differences() if not set(row) <= set("-|")] == list(SHOWN_BY)


@pytest.mark.parametrize(("file", "name"), dict.fromkeys(SHOWN_BY.values()))
def test_the_test_of_a_difference_is_there(file, name):
    assert f"def {name}(" in (CHECKOUT / "tests" / f"{file}.py").read_text(encoding="utf-8")


class Asking(Shop):
    """Asks a model whose provider is overloaded so often, without waiting in between."""

    def __init__(self, failures, **options):
        super().__init__(**options)
        self.failures = failures

    def run_agents(self, agents, task, environment, query):
        busy = OverloadedError("", provider="acme")
        model = ScriptedModelAdapter([*[busy] * self.failures, "done"])
        model.policy = CallPolicy(sleep=lambda seconds: None)
        return model.generate(query)


def test_a_provider_that_fails_is_asked_again():
    [late] = Asking(5).run([Task("a")], {})
    [never] = Asking(6).run([Task("a")], {})

    assert (late["status"], late["final_answer"]) == ("success", "done")
    assert never["status"] == "provider_error"


def test_a_dict_keeps_all_parts_of_its_task():
    described = {"query": "q", "id": "7", "user_data": {"u": 1}, "protocol": {"priority": 3}}

    [task] = SequentialTaskQueue.from_list([described])

    assert (task.id, task.user_data, task.protocol) == ("7", {"u": 1}, TaskProtocol(priority=3))


def test_the_callers_list_of_callbacks_stays_as_it_is():
    given = [BenchmarkCallback()]

    assert len(Shop(callbacks=given, progress_bar=True).callbacks) == 2 and len(given) == 1


def test_no_process_is_started_to_list_packages(monkeypatch):
    def refuse(*args, **kwargs):
        assert "pip" not in str(args)
        raise FileNotFoundError("no git either")

    monkeypatch.setattr("subprocess.run", refuse)

    assert "pytest" in Shop().benchmark_level_config["packages"]


def test_a_report_has_further_keys():
    [report] = Shop(seed=3).run([Task("a")], {})

    further = ["final_answer", "run_id", "started_at", "duration_seconds", "seed", "attempts"]
    assert list(report)[9:] == further and (report["final_answer"], report["seed"]) == ("did a", 3)


def trials(*passed):
    """Reports of task ``a`` with these outcomes, and two passes of task ``b``."""
    outcomes = [*(("a", each) for each in passed), ("b", True), ("b", True)]
    return [
        {"task_id": task, "repeat_idx": at, "status": "success", "eval": [{"passed": each}]}
        for at, (task, each) in enumerate(outcomes)
    ]


def test_pass_at_k_does_not_depend_on_the_order_of_reports():
    first, last = trials(True, False, False), trials(False, False, True)

    assert compute_pass_at_k(first, [1]) == compute_pass_at_k(last, [1])
    assert compute_pass_at_k(first, [1])["pass@1"] == pytest.approx((1 / 3 + 1) / 2)


def test_a_k_above_the_trials_of_a_task_is_left_out(caplog):
    reports = trials(True, True, True)

    assert compute_pass_hat_k(reports, [2, 3]) == {"pass^2": 1.0}
    assert compute_pass_at_k(reports, [3]) == {} and "pass@3 left out" in caplog.text
