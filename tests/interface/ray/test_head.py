"""The head of a cluster, which may go away while a run is under way."""

import logging
import socket

import pytest

from maseval.core.exceptions import RunStoppedError
from maseval.interface.ray.engine import Head
from tests.waiting import wait_until


def test_a_head_that_is_gone_stops_the_run_with_what_to_do(caplog):
    listener = socket.create_server(("127.0.0.1", 0))
    head = Head(listener.getsockname(), between=0.01, patience=0.1)
    head.check()
    listener.close()

    wait_until(lambda: head.is_lost)
    with pytest.raises(RunStoppedError, match=r"at 127\.0\.0\.1 was lost.*same command again"):
        head.check()
    # Nobody may be able to check, as Ray itself waits for the head.
    wait_until(lambda: "was lost" in caplog.text)
    assert caplog.records[-1].levelno == logging.ERROR


def test_a_head_that_is_left_is_not_missed(caplog):
    listener = socket.create_server(("127.0.0.1", 0))
    with Head(listener.getsockname(), between=0.01, patience=0.0) as head:
        pass
    listener.close()

    head.check()
    assert caplog.text == "" and not head.is_lost
