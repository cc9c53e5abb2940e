"""Reading back what a report page holds."""

import base64
import gzip
import json
import re

from maseval.report.index import unpack


def index_of(path):
    """What the page knows at once."""
    found = re.search(r'id="index">(.*?)</script>', path.read_text(), re.S)
    return json.loads(found[1])


def rows_of(index):
    """A row for each simulation of an index."""
    columns = unpack(index["simulations"])
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def packets_of(path):
    """The details, by task."""
    found = re.findall(r'class="packet">(.*?)</script>', path.read_text(), re.S)
    packets = [json.loads(gzip.decompress(base64.b64decode(each))) for each in found]
    return [[{**packet["common"], **trial} for trial in packet["trials"]] for packet in packets]
