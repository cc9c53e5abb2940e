"""Values laid aside on disk come back as they were."""

import gc
from concurrent.futures import ThreadPoolExecutor

from maseval.core.storage.files import Scratch


def test_values_come_back_in_any_order_and_to_many_threads():
    values = [{"said": "ü\ud800\n" * number, "nan?": [None, 1e400]} for number in range(50)]
    aside = Scratch()

    with ThreadPoolExecutor(4) as pool:
        places = list(pool.map(aside.put, values))
        found = list(pool.map(aside.get, reversed(places)))

    assert found == values[::-1]


def test_the_file_is_closed_with_its_object():
    aside = Scratch()
    file = aside._file
    del aside
    gc.collect()

    assert file.closed
