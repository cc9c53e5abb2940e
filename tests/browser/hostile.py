"""Texts that try to come alive, and reports full of them."""

import json
from typing import Any

from tests.report.builders import answered, call, report, said, simulated

PAYLOADS = {
    "script": "<script>window.__pwned = 1; alert(1)</script>",
    "end of block": "</script><script>window.__pwned = 1</script>",
    "end of title": "</title></style><script>window.__pwned = 1</script>",
    "comment": "<!--<script>window.__pwned = 1</script>-->",
    "open comment": "<!-- --!> <![CDATA[ ]]> <?x ?>",
    "event handler": "<img src=x onerror=window.__pwned=1>",
    "attribute": '" onmouseover="window.__pwned=1" x=\'` autofocus onfocus=window.__pwned=1 \'',
    "svg": "<svg/onload=window.__pwned=1><animate onbegin=alert(1) attributeName=x>",
    "frame": "<iframe srcdoc='<script>parent.__pwned=1</script>'></iframe>",
    "address": "javascript:window.__pwned=1",
    "data address": "data:text/html,<script>parent.__pwned=1</script>",
    "remote": "<link rel=stylesheet href=http://127.0.0.1:9/><img src=http://127.0.0.1:9/>",
    "form": "<form action=javascript:alert(1)><button autofocus>x</button></form>",
    "base": "<base href=http://127.0.0.1:9/><meta http-equiv=refresh content='0;url=x:'>",
    "style": "</style><style>*{display:none}</style>",
    "template": "${window.__pwned=1} {{constructor.constructor('alert(1)')()}} $title $script",
    "entity": "&lt;script&gt;&#60;img src=x&#62; &amp;",
    "json": '"}];window.__pwned=1;//\\u003cscript\\u003e',
    "prototype": "__proto__",
    "mutation": "<math><mtext><style><!--</style><img title='--><img src onerror=alert(1)>'>",
}
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "noscript", "div", "main", "aside"),
    *("script", "header", "h1", "h2", "h3", "h4", "p", "button", "section", "dl", "dt", "dd"),
    *("details", "summary", "table", "thead", "tbody", "tr", "th", "td", "ul", "ol", "li", "span"),
    *("svg", "rect", "line", "circle", "small", "b", "i", "strong", "code", "input", "select"),
    *("option", "label", "output", "a", "footer", "kbd", "nav", "mark"),
    *("g", "desc", "text", "polyline", "polygon", "path", "figure", "figcaption"),
}


def hostile_reports(text: str) -> list[dict[str, Any]]:
    """Reports in which everything that could come from outside says the same thing."""
    told = [
        said("assistant", text),
        said("user", text),
        said("assistant", text, call(text, text, text, **{text: [text, {text: text}]})),
        answered(text, text, error=True),
        said(text, text),
        said("assistant", None, call("get_order", "c9")),
        answered(json.dumps({"result": text}), "c9"),
    ]
    error = {"error_type": text, "error_message": text, "traceback": text, "details": {text: text}}
    attempt = {"status": text, "error": error, "usage": {}}
    action = {"name": text, "requestor": text, "arguments": {text: text}}
    info = {
        "reward": 0.0,
        "db_check": {"db_match": False},
        "action_checks": [{"action": action, "action_match": False}],
        "communicate_checks": [{"info": text, "met": False, "justification": text}],
        "nl_assertions": [{"nl_assertion": text, "met": False, "justification": text}],
        "env_assertions": [
            {"env_assertion": {"func_name": text, "env_type": text, "message": text}, "met": False}
        ],
        "reward_basis": ["DB", text],
        "reward_breakdown": {text: 0.0},
        "info": {"note": text},
    }
    one = simulated(
        text,
        domain=text,
        messages=told,
        ended=text,
        labels=[text],
        explanation={
            "summary": text,
            "label": {"name": text, "rule": text, "evidence": [text]},
            "fields": [{"place": text, "expected": text, "found": text, "remedy": text}],
            "sections": [{"title": text, "lines": [text, f"  message 3 {text}"]}],
        },
        error=error,
        attempts=[attempt],
        run_id=text,
        seed=text,
        usage={"models": {text: {"cost": 1.0}}},
        config={
            "models": {text: {"model_id": text}, "agent_model": {"model_id": text}},
            "user": {"scenario": text},
            "benchmark": {text: text, "tau2": {text: text}, "packages": {"maseval": text}},
        },
        task={"query": text, "metadata": {"domain": text, text: text, "split": text}},
        eval=[{"reward": 0.0, "passed": False, "reward_info": info}, {text: text, "passed": False}],
    )
    other = report(text, status=text, domain=text, passed=None, final_answer=text)
    return [one, other]


# What would have come alive: anything that runs, loads or lays out by itself.
ALIVE = """() => [...document.querySelectorAll("*")]
  .flatMap((element) => [...element.attributes].map((attribute) => [element, attribute]))
  .filter(([element, { name, value }]) => name.startsWith("on")
    || (name === "style" && !/^(--share: [0-9.e-]+|left: [0-9.]+px; top: [0-9.]+px);$/.test(value))
    || (name === "src" && element.closest("head") === null)
    || (name === "href" && element.closest("head") === null
      && !/^(#|\\/(?!\\/)|[a-z]+\\.html(\\?|$))/.test(value)))
  .map(([, { name }]) => name)"""
