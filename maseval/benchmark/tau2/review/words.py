"""Patterns for what a text does (asks, agrees, declines, refuses) and which call it is about.

The patterns are English, as the policies and the personas are. They only ever support a rule that
also looks at the calls: none of them decides by itself.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from maseval.benchmark.tau2.formats.message import Tau2ToolCall

# Several rules read the same texts of a conversation, one after the other.
_REMEMBERED = 1024
OWNERS = ("user_id", "customer_id")
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
# What is said of a thing that somebody does not want: "insurance is declined".
UNWANTED = (
    r"(?:is|are|be|being|'s) (?:\w{1,15} ){0,2}(?:declined|refused|rejected|turned down"
    r"|unwanted|unnecessary|undesired|(?:not|n't) (?:\w+ )?(?:desired|wanted|wished(?: for)?|needed"
    r"|required|requested|necessary|accepted|agreed to|approved|granted|authori[sz]ed|confirmed))\b"
)
_COMMON = {
    *("set", "reservation", "order", "pending", "delivered", "item", "items", "user", "data"),
    *("details", "method", "status", "preference", "settings", "mode", "to", "by", "id", "line"),
}
_SAID_AS: Mapping[str, str] = {
    "update": "updat|chang|upgrad|downgrad|modif|add|switch|remov|mov|alter|amend|rebook|reschedul",
    "modify": "modif|chang|updat|mov|swap|switch|replac|adjust|exchang|correct|fix|edit|set|put"
    "|ship|us(?:e|ing)|cancel(?:l?ing)? (?:the|just|only)",
    "exchange": "exchang|swap|switch|replac|modif|chang|trad(?:e|ing)",
    "return": "return|refund|reimburs"
    r"|(?:tak|giv|send|sent|go|com|bring|accept)\w{0,4} (?:[\w#]+ ){0,2}back\b",
    "cancel": "cancel|annul|call(?:ed|ing)? off",
    "book": "book",
    "send": "send|sent|issu|offer|receiv|get",
    "certificate": "certificat|compensat|voucher",
    "flights": "flight|cabin|class|econom|business|nonstop|itinerar|seat|trip|leg|segment"
    "|upgrad|downgrad",
    "baggages": "bag|suitcase|luggage",
    "passengers": "passenger|name",
    "address": "address",
    "payment": "pay|bill",
    "enable": "enabl|turn|activat|switch",
    "toggle": "toggl|turn|switch|enabl|disabl",
    "refuel": "refuel|add|top|fill|load|recharg|boost",
}


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})")


_ASKS = _words(
    r"c(?<!^to c)onfirm\b|your (?:\w+ )?confirmation|proceed\b|go ahead|would you like|shall i"
    r"|should i|do you want|yes ?/ ?no|yes or no|reply\W+yes|y/n\b|do you (?:agree|consent|accept"
    r"|approve)\b|if you(?:'d| would) like me to|may i (?:proceed|go|book|cancel|make|process"
    r"|change|take (?:it|that)|assume)|are you (?:\w+ ){0,3}agreed\b"
    r"|(?:type|reply|enter|write|send)\b[^.?!\n]{1,30} to (?:approve|accept|agree|submit)\b"
    r"|want me to\b|(?:say|simple) yes\b|ready for me to\b"
    r"|your (?:explicit )?(?:approval|consent|go-ahead|permission|agreement|word\b|ok(?:ay)?\b)"
    r"|is that (?:ok|okay|fine)|(?:are you|would you be) (?:all )?(?:ok|okay|happy|fine|comfortable"
    r"|ready|sure|content|willing|satisfied|in agreement)\b|would you (?:allow|permit|wish|want)\b"
    r"|whether (?:you (?:would|want|wish|agree|accept)|i may)\b|this what you (?:had|want|wish)"
    r"|you (?:ok|okay|good|all right|alright|fine) with\b|(?:all right|alright) with you\b"
    r"|(?:does|do|would|is|are) (?:that|this|these|it|everything|the details?)(?: all)?(?: be)?"
    r" (?:sound|look (?:good|right|correct|ok)|work\b|suit|correct|right|acceptable|agreeable"
    r"|satisfactory|in order)\b|(?<![^\s])(?:add|book|cancel"
    r"|continue|change|make|send|process|do|agreed?|accept) (?:it|this|that|them|the \w{2,20})\?"
)
# "..., ok?", "Swap?": a few words that are no question for a choice, for help or for a transfer.
_SHORT_QUESTION = re.compile(
    r"(?:^|[.,;:!)-] ?)(?!wh|how|any|else|human|transfer|is there|does that help|make sense)"
    r"(?:[\w']{1,12} ){0,2}(?!human|colleague|agent)[\w']{1,12}\?\W*$"
)
# "How would you like to proceed?" asks for a choice, and a yes is no answer to it.
_LEAVES_OPEN = _words(
    r"(?:confirm )?(?:how|what|where|when)(?: else)? "
    r"(?:would you|do you|should (?:i|we)|you(?:'d| would)?) ?"
    r"(?:like|want|prefer|wish)?(?: (?:me|us))?(?: to)? (?:proceed|do|go|handle|continue|move)"
)
_CHOICE = re.compile(
    r"\b(?:which|what(?! you (?:had|want|wish|mean))|how many|whose)\b[^.!?\n]{0,200}\?"
)
# "Let's proceed with it" is no question.
_EXPECTS = re.compile(
    r"\bconfirm|\byes\b|\b(?:let me know|tell me|say)\b|\b(?:if|should|whether|unless) you\b"
    r"|\b(?:shall|should|may|can) (?:i|we)\b"
)
_CLOSES = _words(
    *("anything else", r"any (?:other|more|further)", r"further (?:assist|help|question)"),
    *("feel free", r"need (?:more|any|further) ", r"have a (?:great|good|nice|wonderful)"),
    *("reach out", "you're welcome", "contact us"),
)
_REFUSES = _words(
    r"(?:i|we)(?:'m| am| are)? (?:\w+ )?(?:unable to|cannot|can't|can not|not able to)",
    r"(?:not|only|isn't|aren't|n't be) (?:\w+ )?(?:possible|allowed|permitted|eligible)\b",
    r"(?:cannot|can't|may not) be (?:modif|chang|cancel|exchang|return|process|remov)",
    r"can only be (?:modif|chang|cancel|exchang|return|process|remov)\w{0,8}\b(?! once)",
    r"(?:against|according to|based on|per) (?:our|the) (?:\w+ )?polic",
    r"polic(?:y|ies) (?:does|do) ?n[o']t",
    r"(?:won't|will not|wouldn't) be (?:able to|possible)",
    r"(?:does not|doesn't|do not|don't) (?:allow|permit|qualify|meet the|support)",
    r"(?:must|have to|need to) (?:\w+ )?(?:refuse|decline|deny|reject|say no)",
    r"(?:is|are|be) (?:\w+ )?(?:refused|declined|denied|rejected)\b|beyond (?:the|my|our) ",
    r"(?:not an option|no (?:way|option) (?:to|for)|prohibit|outside (?:of )?(?:my|our|the) )",
    r"i(?:'m| am) sorry, but",
)
_TRANSFERS = _words(
    *("transfer", r"human\b", "escalat", "live agent", r"colleague"),
    r"(?:connect|hand|pass|put) y(?:ou|a) (?:over |through |across )?(?:to|with) (?:an? |them\b)",
    "put you through",
)


@lru_cache(maxsize=_REMEMBERED)
def asks(text: str) -> bool:
    """Return True if a text asks for a confirmation; offers of further help are none."""
    # Most texts ask at their end.
    return any(map(_is_question, sentences(text.lower())[::-1]))


def _is_question(sentence: str) -> bool:
    found = "?" in sentence and _SHORT_QUESTION.search(sentence)
    found = found or (_ASKS.search(sentence) and _ASKS.search(_LEAVES_OPEN.sub("", sentence)))
    return bool(found) and not _CLOSES.search(sentence)


def expects_a_yes(sentence: str) -> bool:
    """Return True if a sentence in lower case asks for a yes or no, and leaves no other choice."""
    expects = "?" in sentence or _EXPECTS.search(sentence)
    return bool(expects) and not _CHOICE.search(sentence) and asks(sentence)


def closes(text: str) -> bool:
    """Return True if a text only offers further help or says goodbye."""
    return bool(_CLOSES.search(text.lower()))


def refusal(text: str) -> bool:
    return bool(_REFUSES.search(text.lower()))


_ENDS = (". ", "! ", "? ")


@lru_cache(maxsize=_REMEMBERED)
def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences and lines of a text."""
    return tuple(each for line in divide(text).split("\n") if (each := line.strip()))


def divide(text: str) -> str:
    """Return a text with each sentence on a line of its own, and every word where it was."""
    for end in _ENDS:
        text = text.replace(end, f"{end[0]}\n")
    return text


def speaks_of_a_transfer(text: str) -> bool:
    return bool(_TRANSFERS.search(text.lower()))


def telling_values(value: object) -> Iterator[str]:
    """Yield the texts in a call's arguments that can be recognised elsewhere: ids, names, dates."""
    match value:
        case str() if len(value) >= 3:
            yield value
        case dict():
            for each in value.values():
                yield from telling_values(each)
        case list():
            for each in value:
                yield from telling_values(each)


def spellings(value: str) -> list[str]:
    """Return the ways to write a value, in lower case; a date also with the name of its month."""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", value)
    if found is None or not 1 <= int(found[2]) <= 12:
        return [value.lower()]
    year, month, day = found[1], MONTHS[int(found[2]) - 1], str(int(found[3]))
    names = (month, month[:3])
    ordered = [form for name in names for form in (f"{name} {day}, {year}", f"{day} {name} {year}")]
    return [value, *ordered, f"{found[2]}/{found[3]}/{year}"]


def mentions(text: str, value: str) -> bool:
    """Return True if a value stands in a text by itself, not as a part of a longer word."""
    return stands_in(text.lower(), value.lstrip("#").lower())


def stands_in(lower: str, bare: str) -> bool:
    """Return True if a text in lower case has a word as it is, and not as a part of another."""
    at = lower.find(bare)
    while at >= 0:
        before, after = lower[at - 1 : at], lower[at + len(bare) : at + len(bare) + 1]
        decimal = before == "." and lower[at - 2 : at - 1].isdigit()
        joined = before in ("_", "-") or after in ("_", "-") or decimal
        if not (before.isalnum() or after.isalnum() or joined):
            return True
        at = lower.find(bare, at + 1)
    return False


def says_the_like(text: str, tool: str) -> bool:
    """Return True if a text says what a tool's name says, in these or in other words."""
    patterns, lower = _topic(tool), text.lower()
    return bool(patterns) and all(each.search(lower) for each in patterns)


def says_part_of_it(text: str, tool: str) -> bool:
    """Return True if a text has one of the words of a tool's name, or another for it."""
    lower = text.lower()
    return any(each.search(lower) for each in _topic(tool))


def record(call: Tau2ToolCall) -> str | None:
    """Return the record a call is about: its first argument, unless that is a person."""
    first, value = next(iter(call["arguments"].items()), (None, None))
    return value if isinstance(value, str) and first not in OWNERS else None


@lru_cache(maxsize=256)
def _topic(tool: str) -> list[re.Pattern[str]]:
    # "Bicycle -> the blue one": an arrow stands for the verb.
    arrow = {"modify": "|->", "exchange": "|->"}
    words = topic_words(tool)
    return [re.compile(rf"\b(?:{said_as(word)}){arrow.get(word, '')}") for word in words]


def topic_words(tool: str) -> list[str]:
    """Return the words of a tool's name that say what it does."""
    return [word for word in tool.split("_") if word not in _COMMON]


def said_as(word: str) -> str:
    """Return the beginnings of the words that people use for a word of a tool's name."""
    return _SAID_AS.get(word, word[:5])
