"""Announcer: every callback hears every event; one that fails stops nothing."""

import pytest

from maseval import BenchmarkCallback
from maseval.core.callbacks import FileResultLogger
from maseval.core.engine.run import Announcer
from maseval.core.exceptions import OutputExistsError
from tests.core.worlds import Diary, Shop, failing, tasks

HOOKS = [
    *("on_run_start", "on_task_start", "on_task_repeat_start"),
    *("on_task_repeat_end", "on_task_end", "on_run_end"),
]


def test_hooks_get_what_is_told_by_position_and_events_by_keyword():
    heard = []

    class Listener(BenchmarkCallback):
        def on_task_repeat_start(self, *args):
            heard.append(args)

        def on_event(self, event_name, **data):
            heard.append((event_name, data))

    shop = Shop(callbacks=[Listener()])
    shop.callback_handler.register(
        lambda event_name, **data: heard.append(("function", event_name, data))
    )
    Announcer(shop).announce("on_task_repeat_start", task="t", repeat_idx=2)

    told = {"task": "t", "repeat_idx": 2}
    assert heard == [
        (shop, "t", 2),
        ("on_task_repeat_start", told),
        ("function", "on_task_repeat_start", told),
    ]


def test_an_observer_without_a_hook_is_passed_over():
    Announcer(Shop(callbacks=[object()])).announce("on_run_start")


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("hook", [*HOOKS, "on_event"])
def test_a_callback_that_fails_in_any_hook_is_logged_and_the_run_goes_on(hook, workers, caplog):
    broken, diary = Diary(), Diary()
    setattr(broken, hook, failing(ValueError("no ink")))

    reports = Shop(callbacks=[broken, diary], num_workers=workers).run(tasks("a", "b"))

    assert [report["status"] for report in reports] == ["success", "success"]
    assert len(diary.of("repeat end")) == 2
    assert len(diary.of("run end")) == 1
    records = [r for r in caplog.records if r.name == "maseval.core.benchmark"]
    assert f"Callback Diary.{hook}() failed: no ink" in {r.getMessage() for r in records}
    assert all(r.levelname == "ERROR" and r.exc_info for r in records)


def test_a_function_of_the_handler_that_fails_is_logged_too(caplog):
    shop = Shop()
    shop.callback_handler.register(failing(ValueError("no ink")))

    assert shop.run(tasks("a"))[0]["status"] == "success"
    assert "failing.<locals>.fail() failed: no ink" in caplog.text


def test_a_function_may_leave_the_handler_while_it_is_called():
    heard = []
    shop = Shop()
    handler = shop.callback_handler

    def once(event_name, **data):
        heard.append(event_name)
        handler.deregister(once)

    handler.register(once)
    handler.register(lambda event_name, **data: heard.append("second"))
    Announcer(shop).announce("on_run_start")

    assert heard == ["on_run_start", "second"]


def test_a_callback_may_refuse_a_run_before_anything_has_run(tmp_path):
    (tmp_path / "results.jsonl").write_text("{}\n")
    logger = FileResultLogger(output_dir=tmp_path, filename_pattern="results.jsonl")

    with pytest.raises(OutputExistsError, match="already exists"):
        Shop(callbacks=[logger], progress_bar=False).run(tasks(2))
