"""Judges 40 conversations with several threads: ``python -m tests.core.judging RECORD SENT``.

Each request that reaches the model is a line in the file SENT. It resumes what RECORD holds.
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from pydantic import BaseModel

from maseval.core.judge import Judge, Question
from maseval.core.judge_record import JudgeRecord
from maseval.core.scripted import ScriptedModelAdapter

CONVERSATIONS = 40


class Found(BaseModel):
    """What was broken."""

    broken: list[str]


QUESTION = Question("policy", "Policy\n---\nConversation {{number}}", Found)


def main(record_file: str, sent: str) -> None:
    record = JudgeRecord(record_file)
    log = os.open(sent, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def judge(number: int) -> None:
        def answer(messages, tools):
            os.write(log, f"{number}\n".encode())
            time.sleep(0.002)
            # Every fourth is unreadable at first.
            return "what?" if number % 4 == 0 and len(messages) == 2 else '{"broken": []}'

        key = {"domain": "d", "task_id": str(number), "trial": 0}
        Judge(ScriptedModelAdapter(answer), record=record).ask(QUESTION, key, number=str(number))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(judge, range(CONVERSATIONS)))


if __name__ == "__main__":
    main(*sys.argv[1:])
