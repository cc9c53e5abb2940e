"""banking_knowledge without the recorded vectors: variants, what they need, what is kept."""

import json
import shutil
from pathlib import Path

import pytest

from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.domains.banking_knowledge import banking
from maseval.benchmark.tau2.domains.banking_knowledge.desk import answer, listing
from maseval.benchmark.tau2.domains.banking_knowledge.documents import (
    BM25,
    Document,
    KeptVectors,
    KnowledgeBase,
    NotReadyError,
    Shell,
)
from maseval.benchmark.tau2.domains.banking_knowledge.models import BankingDB
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.core.exceptions import ConfigurationError
from maseval.core.providers import register_embedder


@pytest.fixture
def db(tmp_path: Path) -> BankingDB:
    rows = {"u1": {"user_id": "u1", "name": "Ada"}, "u2": {"user_id": "u2", "name": "Bea"}}
    path = tmp_path / "db.json"
    path.write_text(json.dumps({"users": {"data": rows, "notes": "n"}}))
    return BankingDB.load(path)


def test_a_row_is_shared_until_it_is_taken_to_be_changed(db, tmp_path):
    other, before = BankingDB.load(tmp_path / "db.json"), db.get_hash()

    db.users["u1"]["name"] = "Eve"

    assert other.users.view("u1")["name"] == "Ada"
    assert db.get_hash() != other.get_hash() == before
    with pytest.raises(TypeError):
        other.users.view("u1")["name"] = "Eve"


def test_initial_data_is_laid_over_the_tables_and_the_rest_stays_shared(db):
    laid = db.overlay({"users": {"data": {"u1": {"age": 3}, "u3": {"name": "Cleo"}}}})

    assert laid.users.view("u1") == {"user_id": "u1", "name": "Ada", "age": 3}
    assert list(laid.users) == ["u1", "u2", "u3"]
    assert laid.users.notes == "n" and list(db.users) == ["u1", "u2"]
    assert laid.users.own.keys() == {"u1", "u3"}
    with pytest.raises(ValueError, match="nonsense"):
        db.overlay({"nonsense": {}})


def test_a_value_is_pasted_into_the_question_as_in_the_original(db):
    assert "Found 1 record(s)" in listing("users", db.users, "name", "Ada")
    assert "Found 2 record(s)" in listing("users", db.users, "name__ne", 'x", "name__ne": "y')
    assert "Error: Invalid JSON" in listing("users", db.users, "name", 'A"')


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1 , \n }', "Expecting property name enclosed in double quotes: line 2 column 2"),
        ('{"a": [1, 2 , ]}', "Expecting value: line 1 column 15 (char 14)"),
        ('{"a" 1}', "Expecting ':' delimiter: line 1 column 6 (char 5)"),
    ],
)
def test_wrong_json_is_answered_in_the_same_words_by_every_python(text, problem, db):
    assert answer("users", db.users, text).startswith(f"Error: Invalid JSON: {problem}")


def test_bm25_prefers_the_document_with_the_rarer_word():
    others = [f"loan {number}" for number in range(8)]
    scores = BM25(["a fee of the card", "a card", *others]).scores("fee card")

    assert scores[0] > scores[1] > scores[2] == scores[3] == 0


def test_a_text_that_is_no_regular_expression_is_searched_as_it_is():
    knowledge = KnowledgeBase([Document("a", "A", "what ((now"), Document("b", "B", "nothing")])

    assert [hit.document.id for hit in knowledge.matching("((", 10)] == ["a"]


def test_a_variant_is_part_of_the_name_and_unknown_ones_are_refused():
    assert banking("bm25").name == "banking_knowledge@bm25"
    assert DOMAINS["banking_knowledge"].toolkit._tool_types.keys() >= {"shell"}
    with pytest.raises(ConfigurationError, match="Unknown retrieval variant: 'bm52'"):
        banking("bm52")
    with pytest.raises(ConfigurationError, match="no search option 'topk'"):
        banking("bm25", topk=3)


def test_the_tools_without_a_search_have_the_originals_name():
    tools = object.__new__(banking("no_knowledge").toolkit)

    with pytest.raises(AttributeError, match="'KnowledgeToolsPlain' object has no attribute 'x'"):
        tools.task_function("x")


def test_the_release_before_does_not_have_it_and_says_which_has():
    with pytest.raises(ConfigurationError, match=r"choose that version .--data-version 1\.0\.1"):
        release_named("0.2.0").domain("banking_knowledge@bm25")


def test_without_a_sandbox_a_shell_is_refused_and_never_run_bare(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda program: None)

    with pytest.raises(NotReadyError, match="install bubblewrap"):
        Shell([], writable=True)
    with pytest.raises(NotReadyError, match=r"terminal_use cannot search here.*bm25_grep"):
        banking("terminal_use").require_ready()


def test_without_a_key_for_embeddings_a_variant_names_those_that_need_none(
    monkeypatch, shared_data
):
    monkeypatch.setenv("MASEVAL_TAU2_TEXTS", str(shared_data / "tau2-texts"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(NotReadyError, match="openai_embeddings cannot search here"):
        banking("openai_embeddings").require_ready()
    banking("bm25_grep").require_ready()


class Counting:
    model_id = "m"

    def __init__(self) -> None:
        self.asked = []

    def embed(self, texts: list[str]) -> list[list[float]]:
        self.asked.append(list(texts))
        return [[3.0, 4.0] for _ in texts]


def test_vectors_are_kept_on_disk_by_model_and_text(tmp_path):
    embedder = Counting()
    register_embedder("local", lambda name: embedder)
    path = tmp_path / "vectors"

    first = KeptVectors(path).of("local/m", ["a", "b"])
    again = KeptVectors(path).of("local/m", ["b", "c"])

    assert first == [[0.6, 0.8], [0.6, 0.8]] and again == first
    assert embedder.asked == [["a", "b"], ["c"]]
    KeptVectors(path).of("local/n", ["a"])
    assert embedder.asked[-1] == ["a"]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize(
    "command",
    [
        "cat '/etc/passwd'",
        "echo x > new.md && cat new.md",
        "env | grep -i key",
        "bash -c 'cat < /dev/tcp/127.0.0.1/80'",
        "ls '/home' '/root'",
    ],
)
def test_a_command_sees_nothing_of_the_machine_and_changes_nothing(command, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "key-in-the-environment")
    answer = Shell([Document("a", "A", "text")], writable=False).run(command)

    assert answer.startswith(("Error", "No matches", "Command failed")), answer


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_what_a_command_writes_lasts_as_long_as_its_folder_and_no_longer():
    shell = Shell([Document("a/b", "A", "text")], writable=True)

    assert shell.run("echo kept > new.md") == "(no output)"
    assert shell.run("cat new.md INDEX.md").startswith("kept\n# Knowledge Base Index")
    folder = Path(shell._folder)
    del shell
    assert not folder.exists()
