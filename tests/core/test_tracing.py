import json
from datetime import datetime

import pytest

from maseval.core.tracing import ConfigurableMixin, TraceableMixin, now


class Pump(TraceableMixin, ConfigurableMixin):
    def gather_traces(self):
        return {**super().gather_traces(), "strokes": 3}


def test_now_is_the_local_time():
    before = datetime.now()
    assert before <= datetime.fromisoformat(now()) <= datetime.now()


@pytest.mark.parametrize("gather", [Pump().gather_traces, Pump().gather_config])
def test_a_component_tells_its_class_and_the_time(gather):
    gathered = gather()
    assert gathered["type"] == "Pump"
    assert datetime.fromisoformat(gathered["gathered_at"]) <= datetime.now()
    json.dumps(gathered)


def test_a_subclass_extends_what_is_told():
    assert list(Pump().gather_traces()) == ["type", "gathered_at", "strokes"]
    assert list(Pump().gather_config()) == ["type", "gathered_at"]
