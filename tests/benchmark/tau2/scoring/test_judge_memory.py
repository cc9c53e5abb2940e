"""What judges have said, in the process that keeps it and in others."""

import pickle

from maseval.benchmark.tau2.scoring.judge import JudgeMemory


def test_in_another_process_known_replies_are_known_and_new_ones_are_handed_over(tmp_path):
    memory = JudgeMemory(tmp_path / "judged.jsonl")
    memory.keep("asked before", "judge", "yes")

    away = pickle.loads(pickle.dumps(memory.for_worker()))
    away.prepare()
    away.keep("new", "judge", "no")

    assert (away.reply("asked before"), away.reply("new")) == ("yes", "no")
    assert memory.reply("new") is None
    assert away.take_new_replies() == [("new", "judge", "no")] and away.take_new_replies() == []
    assert JudgeMemory(memory.path).reply("new") is None


def test_nothing_is_written_where_a_process_must_not_write(tmp_path):
    away = JudgeMemory(tmp_path / "judged.jsonl").for_worker()

    away.keep("new", "judge", "no")

    assert list(tmp_path.iterdir()) == []
