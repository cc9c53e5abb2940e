import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.seeding import DefaultSeedGenerator, SeedingError

seeds = st.integers()
words = st.text(min_size=1, max_size=20)
repetitions = st.integers(0, 1000)


def repetition(
    global_seed: int = 42, task_id: str = "task-1", rep_index: int = 0
) -> DefaultSeedGenerator:
    return DefaultSeedGenerator(global_seed).for_task(task_id).for_repetition(rep_index)


def expected(*components: int | str) -> int:
    """The rule, worked out another way: eight hex digits without their sign bit."""
    digest = hashlib.sha256(":".join(map(str, components)).encode("utf-8")).hexdigest()
    return int(digest[:8], 16) % 2**31


@given(seeds, words, repetitions, words)
def test_a_seed_is_the_documented_hash(seed, task_id, rep_index, name):
    generator = repetition(seed, task_id, rep_index)
    assert generator.derive_seed(name) == expected(seed, task_id, rep_index, name)
    assert generator.derive_seed(name, per_repetition=False) == expected(seed, task_id, name)
    assert 0 <= generator.derive_seed(name) <= 0x7FFFFFFF


def test_known_seeds_do_not_change_between_releases():
    generator = repetition(42, "task-1", 0)
    assert generator.derive_seed("agent") == 492866423
    assert generator.child("tools").derive_seed("weather") == 1092972840
    assert generator.derive_seed("shared", per_repetition=False) == 1494712153


def test_without_a_global_seed_nothing_is_seeded_or_logged():
    generator = DefaultSeedGenerator()
    assert generator.derive_seed("agent") is None
    assert generator.for_task("t").for_repetition(0).child("a").derive_seed("b") is None
    assert generator.seed_log == {}


def test_a_seed_needs_its_task_and_its_repetition():
    generator = DefaultSeedGenerator(1)
    with pytest.raises(SeedingError, match=r"task_id not set. Call for_task\(\) first."):
        generator.derive_seed("agent")
    with pytest.raises(SeedingError, match=r"rep_index not set. Call for_repetition\(\) first."):
        generator.for_task("t").derive_seed("agent")
    assert generator.for_task("t").for_repetition(0).derive_seed("agent") is not None


def test_a_child_extends_the_path_and_shares_the_log():
    generator = repetition()
    grandchild = generator.child("tools").child("weather")
    seed = grandchild.derive_seed("sun")

    assert seed == expected(42, "task-1", 0, "tools/weather/sun")
    assert generator.seed_log == grandchild.seed_log == {"tools/weather/sun": seed}


def test_the_configuration_tells_scope_and_seeds():
    generator = repetition(7, "t", 2)
    seed = generator.derive_seed("agent")
    config = generator.gather_config()

    assert config.pop("gathered_at")
    assert config == {
        "type": "DefaultSeedGenerator",
        "global_seed": 7,
        "task_id": "t",
        "rep_index": 2,
        "seeds": {"agent": seed},
    }


def test_a_subclass_may_bring_its_own_rule_and_stays_itself():
    class Counting(DefaultSeedGenerator):
        def _compute_seed(self, full_path, components):
            return len(full_path) * 1000 + len(components)

    generator = Counting(1).for_task("t").for_repetition(0).child("ab")
    assert generator.derive_seed("c") == 4004
    assert generator.derive_seed("c", per_repetition=False) == 4003
