"""What code written for MASEval does: hooks it overrides, shapes it hands over."""

import base64
import json
from collections.abc import Mapping
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest

from examples.booking import BookingBenchmark, MeetingRooms, load_tasks
from maseval import (
    AgentAdapter,
    AgentCallback,
    BenchmarkCallback,
    ChatResponse,
    EnvironmentCallback,
    LLMUser,
    ScriptedModelAdapter,
)
from maseval.benchmark.tau2 import DefaultTau2Agent, RetailTools, Tau2User, TelecomDB, TelecomTools
from maseval.benchmark.tau2.domains.telecom import sync
from maseval.benchmark.tau2.domains.telecom.models import TelecomUserDB
from maseval.benchmark.tau2.domains.telecom.user_tools import TelecomUserTools
from maseval.benchmark.tau2.formats.message import from_chat
from maseval.benchmark.tau2.texts.original import scenario_text
from maseval.compat.message_utils import (
    count_tokens_estimate,
    create_audio_content,
    create_file_content,
    create_image_file_content,
    create_image_from_numpy,
    create_image_from_pil,
    create_multimodal_message,
    create_text_content,
    create_tool_call,
    extract_text_content,
    has_images,
    has_tool_calls,
)
from maseval.core.callbacks import (
    FileResultLogger,
    MessageTracingCallback,
    ProgressBarCallback,
    ResultLogger,
    TqdmProgressBarCallback,
    read_reports,
)

WHAT, HOW = ("task_id", "repeat_idx", "status", "error"), ("traces", "config", "usage")
NINE_KEYS = (*WHAT, *HOW, "eval", "task")


class Everything(EnvironmentCallback, AgentCallback):
    def __init__(self) -> None:
        self.seen = []

    def on_event(self, event_name: str, **data: object) -> None:
        self.seen.append((event_name, sorted(data)))


class Echo(AgentAdapter):
    def _run_agent(self, query: str) -> Any:
        return query


def test_an_observer_of_all_events_needs_one_method():
    watching = Everything()
    MeetingRooms({}, [watching])
    Echo(None, "echo", callbacks=[watching]).run("hello")

    assert watching.seen == [
        ("on_setup_start", ["environment"]),
        ("on_setup_end", ["environment"]),
        ("on_run_start", ["agent"]),
        ("on_run_end", ["agent", "result"]),
    ]


class OldBar(ProgressBarCallback):
    def __init__(self) -> None:
        super().__init__()
        self.drawn = []

    def _initialize_progress_bar(self) -> None:
        self.drawn.append(f"0/{self.total}")

    def _update_description(self, desc: str) -> None:
        self.drawn.append(desc)

    def _update_progress(self, current: int, status: str) -> None:
        self.drawn.append(f"{current}: {status}")

    def _close_progress_bar(self) -> None:
        self.drawn.append("closed")


def test_a_progress_bar_with_the_hooks_of_maseval_is_drawn():
    bar = OldBar()
    BookingBenchmark(callbacks=[bar]).run(load_tasks()[:2])

    assert bar.drawn[1:] == [
        "0/2",
        "Running BookingBenchmark",
        "1: 1/1 Successful",
        "2: 2/2 Successful",
        "closed",
    ]
    assert (bar.desc, TqdmProgressBarCallback().desc) == ("Running BookingBenchmark", None)


class OldLogger(ResultLogger):
    def log_iteration(self, report: Mapping[str, object]) -> None:
        pass

    def finalize(self) -> None:
        pass

    def validate(self) -> bool:
        return True


@pytest.mark.parametrize("make", [OldBar, OldLogger])
def test_callbacks_take_a_benchmark_whose_tasks_are_a_plain_list(make):
    benchmark = BookingBenchmark(n_task_repeats=3, progress_bar=False)
    benchmark.tasks = [load_tasks()[0], SimpleNamespace(id="any")]
    callback = make()
    callback.on_run_start(benchmark)
    callback.on_run_end(benchmark, [])

    planned = callback.total if make is OldBar else len(callback.expected)
    assert planned == 6


class Configured(BenchmarkCallback):
    def __init__(self, level: int) -> None:
        self.level = level

    def gather_config(self) -> dict[str, int]:
        return {"level": self.level}


def test_a_callback_that_has_a_configuration_is_in_the_report():
    benchmark = BookingBenchmark(callbacks=[Configured(1), Configured(2)], progress_bar=False)
    [report] = benchmark.run(load_tasks()[:1])

    assert report["config"]["callbacks"] == {
        "Configured": {"name": "Configured", "level": 1},
        "Configured_2": {"name": "Configured_2", "level": 2},
    }
    assert "Configured" not in report["traces"]["callbacks"]


class Impatient(LLMUser):
    def respond(self, message: str) -> str:
        answer = super().respond(message)
        self._stopped = True
        return answer


def test_a_user_may_be_stopped_by_its_subclass():
    model = ScriptedModelAdapter(['{"text": "Thanks."}'])
    user = Impatient("u", model, {}, "", initial_query="Hello", max_turns=9)

    assert user.respond("Hi") == "Thanks."
    assert user.is_done() and user.termination_reason.value == "user_terminated"
    user._stopped = False
    assert not user.is_done()


def test_a_customer_of_tau2_may_be_stopped_by_its_subclass():
    user = Tau2User(ScriptedModelAdapter(["Bye."]), "", guidelines="")
    user._stopped = True

    assert user.is_done() and user._stopped


@pytest.mark.parametrize("arguments", ['{"number": 4}', {"number": 4}])
def test_a_model_may_give_its_tool_calls_flat(arguments):
    flat = [{"id": "1", "name": "double", "arguments": arguments}]
    model = ScriptedModelAdapter([ChatResponse(tool_calls=flat), "8 it is."])

    def double(number: int) -> str:
        """Double it."""
        return str(2 * number)

    agent = DefaultTau2Agent({"double": double}, "", model)

    assert agent.run("Twice 4?") == "8 it is."
    assert [message["content"] for message in agent.get_messages()][2] == "8"
    assert agent.get_messages()[1]["tool_calls"][0]["function"]["name"] == "double"
    assert agent.get_messages()[2] == {"role": "tool", "tool_call_id": "1", "content": "8"}


def test_a_flat_call_with_arguments_in_json_is_read_like_a_nested_one():
    def message(call):
        return {"role": "user", "content": None, "tool_calls": [call]}

    flat = {"id": "1", "name": "look", "arguments": '{"where": "up"}'}
    nested = {"id": "1", "function": {"name": "look", "arguments": '{"where": "up"}'}}

    [read] = from_chat([message(flat)])
    assert read["tool_calls"] == from_chat([message(nested)])[0]["tool_calls"]
    assert read["tool_calls"][0]["arguments"] == {"where": "up"}
    assert read["tool_calls"][0]["requestor"] == "user"


def test_instructions_need_no_domain():
    whole = {"domain": "retail", "reason_for_call": "A refund.", "task_instructions": "Be brief."}
    parts = {key: value for key, value in whole.items() if key != "domain"}

    assert scenario_text(None, parts) == scenario_text(None, whole).replace(
        "\tDomain: retail\n", ""
    )


def test_reports_without_a_run_id_are_logged_and_traced(tmp_path):
    benchmark = BookingBenchmark(progress_bar=False)
    old = [{key: each[key] for key in NINE_KEYS} for each in benchmark.run(load_tasks()[:2])]
    logger, tracer = FileResultLogger(tmp_path, "old.jsonl"), MessageTracingCallback(tmp_path / "m")
    logger.on_run_start(benchmark)
    for report in old:
        logger.on_task_repeat_end(benchmark, report)
        tracer.on_task_repeat_end(benchmark, report)
    logger.on_run_end(benchmark, old)

    assert [each["task_id"] for each in read_reports(tmp_path / "old.jsonl")] == ["pair", "trio"]
    assert len(list((tmp_path / "m").iterdir())) == 2


def test_a_result_file_is_opened_by_the_first_report_where_no_run_has_started(tmp_path):
    logger = FileResultLogger(tmp_path, "r.jsonl")
    for number in range(2):
        logger.log_iteration({"task_id": "a", "repeat_idx": number})
    logger.finalize()

    assert [each["repeat_idx"] for each in read_reports(tmp_path / "r.jsonl")] == [0, 1]
    assert json.loads((tmp_path / "r.meta.json").read_text())["lines_written"] == 2


@pytest.mark.parametrize("toolkit", [RetailTools, TelecomTools, TelecomUserTools])
def test_a_toolkit_without_a_database_is_refused(toolkit):
    with pytest.raises(ValueError, match="Database has not been initialized"):
        toolkit(db=None)


def test_the_phone_of_telecom_belongs_to_the_company_it_is_made_with():
    company = TelecomDB()
    before = company.get_hash()
    assert company.user_db is None

    phone = TelecomUserTools(company)
    phone.toggle_airplane_mode()

    assert phone.db is company.user_db and company.user_db.device.airplane_mode
    assert TelecomUserTools(company).db is company.user_db
    assert company.get_hash() == before and "user_db" not in company.model_dump()
    assert company.copy_deep().user_db is None


def test_a_coupled_company_points_at_its_phone_in_copies_and_after_an_update_too():
    company, phone = TelecomTools(TelecomDB()), TelecomUserTools(TelecomUserDB())
    sync(company, phone)
    assert company.db.user_db is phone.db

    memo = {}
    copy, its_phone = company.twin(memo), phone.twin(memo)
    assert copy.db.user_db is its_phone.db is not phone.db
    phone.update_db({"surroundings": {"is_abroad": True}})
    sync(company, phone)
    assert company.db.user_db is phone.db and company.db.user_db.surroundings.is_abroad


class _Picture:
    def save(self, file: BytesIO, format: str) -> None:
        file.write(b"bytes of " + format.encode())


def test_messages_of_several_parts(tmp_path):
    (tmp_path / "cat.png").write_bytes(b"meow")
    by_address = create_image_file_content(tmp_path / "cat.png")
    by_content = create_image_file_content(tmp_path / "cat.png", encode_base64=True)
    message = create_multimodal_message("user", [create_text_content("Look:"), by_content])

    assert by_address["image_url"]["url"].startswith("file:///")
    assert base64.b64decode(by_content["image_url"]["url"].partition(",")[2]) == b"meow"
    assert create_image_from_pil(_Picture())["image_url"]["url"].startswith(
        "data:image/png;base64,"
    )
    assert create_file_content("a.pdf")["mime_type"] == "application/pdf"
    assert create_audio_content("a.wav")["type"] == "audio"
    assert extract_text_content(message) == "Look:" and has_images(message)
    assert not has_images({"content": "text"}) and not has_tool_calls(message)


def test_an_array_becomes_an_image():
    numpy, pillow = pytest.importorskip("numpy"), pytest.importorskip("PIL.Image")
    pixels = numpy.array([[0, 255], [255, 0]], dtype="uint8")

    image = create_image_from_numpy(pixels)

    content = base64.b64decode(image["image_url"]["url"].partition(",")[2])
    assert (numpy.asarray(pillow.open(BytesIO(content))) == pixels).all()


def test_a_string_is_a_part_that_is_text(tmp_path):
    image = {"type": "image_file", "image_file": {"file_id": "f"}}
    message = create_multimodal_message("user", ["Look:", image])

    assert message["content"] == [create_text_content("Look:"), image]
    assert has_images(message) and not has_images({"content": ["Look:"]})
    assert (
        extract_text_content({"role": "user", "content": ["Look:", image, "Now."]}) == "Look: Now."
    )


def test_the_arguments_of_a_tool_call_may_be_json_already():
    call = create_tool_call("look", '{"where": "up"}', call_id="c1")

    assert call == create_tool_call("look", {"where": "up"}, call_id="c1")


def test_tokens_are_estimated_by_the_length_of_texts_and_calls():
    call = create_tool_call("look", {"where": "up"})
    assert json.loads(call["function"]["arguments"]) == {"where": "up"}
    assert len(call["id"]) == len("call_") + 24

    assert count_tokens_estimate([{"role": "user", "content": "12345678"}]) == 6
    assert count_tokens_estimate([{"role": "assistant", "content": "", "tool_calls": [call]}]) == 8
