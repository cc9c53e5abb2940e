"""The reliability sheet as tables and lines, and as an HTML page of its own."""

import html
from collections.abc import Iterator, Mapping, Sequence

from maseval.app.comparing.blocks import Block, LinesBlock, TableBlock
from maseval.app.comparing.reliability import ReliabilitySheet, Unit, Values
from maseval.core.words import count_of, in_percent, in_points, percent, round_half_up
from maseval.stats.intervals import OVER_CLUSTERS, OVER_TASKS

_FIRST = 12


def sheet_blocks(sheet: ReliabilitySheet) -> list[Block]:
    """Return the notes, the sheet, how systems differ, who did harm, and what is missing."""
    blocks: list[Block] = [
        LinesBlock(sheet.notes, "note"),
        _sheet_of_one(sheet) if len(sheet.systems) == 1 else _sheet_of_many(sheet),
        LinesBlock([*_explanations(sheet)], "aside"),
        *([_differences(sheet)] if sheet.differences else []),
        LinesBlock([*_harm_lines(sheet)][:_FIRST], more=max(0, len(sheet.harmful) - _FIRST)),
        LinesBlock([f"Not measured. {line}." for line in sheet.missing], "aside"),
    ]
    return [each for each in blocks if isinstance(each, TableBlock) or each.lines]


def _sheet_of_one(sheet: ReliabilitySheet) -> TableBlock:
    [rows] = sheet.systems.values()
    lines = [
        [
            *(row.group, row.name, row.grade),
            *(_number(row.value, row.unit), _span(row.values, row.unit)),
            *(str(len(row.values.values)), str(row.trials)),
            "" if row.published is None else f"{round_half_up(row.published, 3):.3f}",
        ]
        for row in rows
    ]
    columns = ("", "measure", "grade", "value", "95% CI", "tasks", "trials", "published")
    return TableBlock(columns, _group_once(lines), names=3)


def _group_once(lines: Sequence[list[str]]) -> list[list[str]]:
    """Leave out the name of a group that the line above has."""
    groups = [line[0] for line in lines]
    return [
        ["" if at and groups[at - 1] == line[0] else line[0], *line[1:]]
        for at, line in enumerate(lines)
    ]


def _sheet_of_many(sheet: ReliabilitySheet) -> TableBlock:
    every = {(row.group, row.name): None for rows in sheet.systems.values() for row in rows}
    lines = []
    for group, name in every:
        cells = []
        for system in sheet.systems:
            row = sheet.row(name, system)
            cells.append(
                ""
                if row is None
                else f"{_number(row.value, row.unit)}\n{_span(row.values, row.unit)}"
            )
        lines.append([group, name, *cells])
    return TableBlock(("", "measure", *sheet.systems), _group_once(lines), names=2)


def _differences(sheet: ReliabilitySheet) -> TableBlock:
    rows = [
        [
            f"{each.measure}, {each.names[0]} \u2212 {each.names[1]}",
            _number(each.values.mean, each.unit, signed=True),
            _span(each.values, each.unit),
            str(len(each.values.values)),
        ]
        for each in sheet.differences
    ]
    return TableBlock(
        ("measure", "difference", "95% CI", "tasks"), rows, "Differences, paired by task"
    )


def _explanations(sheet: ReliabilitySheet) -> Iterator[str]:
    rows = [row for rows in sheet.systems.values() for row in rows]
    over = OVER_CLUSTERS if any(row.values.places for row in rows) else OVER_TASKS
    yield (
        f"Mean over tasks, 95% CI {over}. Proven: from databases and records; judged: a "
        "model gave verdicts; asked: the agent's own confidence. Published: the value by the "
        "definition of arXiv 2602.16666, where it differs."
    )
    alone = len(sheet.systems) == 1
    yield from (f"{row.name}: {row.note}" for row in rows if row.note and alone)


def _harm_lines(sheet: ReliabilitySheet) -> Iterator[str]:
    for each in sheet.harmful:
        who = f"{each.run}, " if len(sheet.systems) > 1 else ""
        first, more = each.harms[0], len(each.harms) - 1
        rest = f" (and {count_of(more, 'further harm')})" if more else ""
        yield f"Harm in {who}{each.simulation}: {first}{rest}"


def _number(value: float | None, unit: Unit, *, signed: bool = False) -> str:
    if value is None:
        return ""
    sign = "+" if signed and value > 0 else ""
    match unit:
        case "share":
            return in_points(value) if signed else percent(value)
        case "points":
            return in_points(value)
        case "money":
            return f"{sign}{value:,.2f}"
    # Adding zero turns -0.0 into 0.0, which needs no sign.
    return f"{sign}{round_half_up(value, 3) + 0.0:.3f}"


def _span(values: Values, unit: Unit) -> str:
    span = values.interval()
    if span is None:
        return "no interval"
    if unit in ("share", "points"):
        return f"[{in_percent(span.low)}, {in_percent(span.high)}]"
    return f"[{_number(span.low, unit)}, {_number(span.high, unit)}]"


_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;"
    "color:#222;background:#fff}table{border-collapse:collapse;margin:1em 0}"
    "th,td{padding:.2em .8em;text-align:left;border-bottom:1px solid #ddd;white-space:pre-line}"
    "td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}.aside{color:#666}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}}"
)


def sheet_page(sheet: ReliabilitySheet) -> str:
    """Return the sheet as an HTML page that loads nothing and runs nothing."""
    title = f"Reliability of {', '.join(sheet.systems)}"
    body = "\n".join(map(_block_html, sheet_blocks(sheet)))
    # Names of runs are foreign text: should one ever get past the escaping, nothing runs.
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{html.escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def _block_html(block: Block) -> str:
    if isinstance(block, LinesBlock):
        more = [f"and {block.more} more"] if block.more else []
        return "\n".join(
            f'<p class="{block.style}">{html.escape(line)}</p>' for line in [*block.lines, *more]
        )
    caption = f"<caption>{html.escape(block.title)}</caption>" if block.title else ""
    head = _row_html(block.columns, "th", block.names)
    rows = "\n".join(_row_html(row, "td", block.names) for row in block.rows)
    return f"<table>{caption}<thead>{head}</thead><tbody>\n{rows}\n</tbody></table>"


def _row_html(cells: Sequence[str], tag: str, names: int) -> str:
    kinds: Mapping[bool, str] = {True: ' class="number"', False: ""}
    found = (
        f"<{tag}{kinds[at >= names]}>{html.escape(cell)}</{tag}>" for at, cell in enumerate(cells)
    )
    return f"<tr>{''.join(found)}</tr>"
