"""What a sentence does: it asks, agrees, declines, refuses, announces, or says goodbye.

The patterns are English, as the policies and the personas are. They only ever support a rule that
also looks at the calls: none of them decides by itself.
"""

import re
from collections.abc import Iterator

from maseval.benchmark.tau2.formats.message import STOP_TOKENS

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})", re.IGNORECASE)


_ASKS = _words(
    *("confirm", "proceed", "go ahead", "would you like", "shall i", "should i", "do you want"),
    *(r"yes/no", r"yes or no", r"reply\W+yes", r"if you(?:'d| would) like me to"),
)
_REQUESTS = _words(
    r"(?:could|can|would|will) you\b",
    r"please (?:\w+ )?(?:provide|confirm|tell|check|share|specify|reply|try|run|choose|select)",
    r"let me know (?:which|what|how|whether|if you(?:'d| would) like)",
    r"(?:which|what|when|where|do you|did you|are you|may i|shall i|should i)\b[^.!?]*\?",
)
_AGREES = _words(
    *(r"yes\b", r"yeah\b", r"yep\b", r"sure\b", r"ok(?:ay)?\b", r"correct\b", r"i confirm"),
    *(r"please (?:do\b|proceed|go ahead|process|make|cancel|book|update)", "go ahead"),
    *(r"that(?:'s| is) (?:right|correct|fine|exactly)", r"sounds (?:good|great|perfect|fine)"),
    *(r"i(?:'d| would) like to (?:confirm|proceed|go ahead)", r"let's (?:do|proceed|go)"),
)
_DECLINES = _words(
    *(r"(?:don't|do not) (?:want|wish|proceed|think)", "rather not"),
    *("never mind", r"leave (?:it|that|everything)", r"keep (?:it|my|the|everything)", "hold off"),
    *(r"not (?:to )?(?:proceed|going to)", r"won't", "changed my mind", "on second thought"),
    r"(?:i'll|i will|prefer to|rather) (?:just )?wait",
)
_NO = re.compile(r"(?:^|[.!?]\s+)no\b(?! problem)", re.IGNORECASE)
_NARROWS = _words("instead", "actually", r"just (?:the|make|do|for)\b", r"only (?:the|make|do)\b")
_CLOSES = _words(
    *("anything else", r"any (?:other|more|further)", r"further (?:assist|help|question)"),
    *("feel free", r"need (?:more|any|further) ", r"have a (?:great|good|nice|wonderful)"),
    *("reach out", "you're welcome", "contact us"),
)
_LEAVES = _words(
    *(r"that(?:'s| is| will be) all", "nothing else", r"no (?:other|further|more)\b", "all set"),
    *(r"have a (?:great|good|nice)", r"good ?bye", r"bye\b", r"thank(?:s| you)"),
)
_REFUSES = _words(
    r"(?:i|we)(?:'m| am| are)? (?:\w+ )?(?:unable to|cannot|can't|can not|not able to)",
    r"(?:not|only|isn't|aren't|n't be) (?:\w+ )?(?:possible|allowed|permitted|eligible)\b",
    r"(?:cannot|can't|can only|may not) be (?:modif|chang|cancel|exchang|return|process|remov)",
    r"(?:against|according to|based on|per) (?:our|the) (?:\w+ )?polic",
    r"polic(?:y|ies) (?:does|do) ?n[o']t",
    r"i(?:'m| am) sorry, but",
)
_DOUBTS = _words(
    r"(?:cannot|can't|can not|unable to|not able to|could ?n[o']t) "
    r"(?:\w+ )?(?:confirm|verify|determine|find|locate)",
)
_ANNOUNCES = _words(
    *(r"let me (?!know)", r"i(?:'ll| will) (?:now |first |then )?(?!be )", r"i(?:'m| am) going to"),
    *("one moment", r"please (?:hold|wait)", "hold on", "bear with me"),
)
_TRANSFERS = _words("transfer", "human agent")
_WANTS_A_HUMAN = _words("transfer", r"human\b", "supervisor", "real person", "representative")
_WANTS_TO_KNOW = _words(
    *("how (?:much|many|long)", "total", "price", "cost", "amount", "refund", "balance", "sum"),
    *("sav(?:e|ing)", "number", "what", "which", "when", "tell me", "know", "tracking"),
)


def plain(text: str) -> str:
    """A text with straight quotation marks and without the tokens that end a conversation."""
    for token in STOP_TOKENS:
        text = text.replace(token, "")
    return text.replace("\u2019", "'").replace("\u2018", "'").strip()


def _sentences(text: str) -> Iterator[str]:
    """The sentences that are about something: offers of further help are left out."""
    return (each for each in sentences(text) if not _CLOSES.search(each))


def asks(text: str) -> bool:
    """Whether something is to be confirmed."""
    return any(_ASKS.search(each) for each in _sentences(text))


def closes(text: str) -> bool:
    """Whether it is about nothing in particular: further help, a goodbye."""
    return bool(_CLOSES.search(text))


def requests(text: str) -> bool:
    """Whether an answer is needed: a confirmation, a choice, a piece of information."""
    return asks(text) or any(_REQUESTS.search(each) for each in _sentences(text))


def announces(text: str) -> bool:
    """Whether it ends with what the speaker is about to do."""
    return any(_ANNOUNCES.search(each) for each in list(_sentences(text))[-1:])


def agrees(text: str) -> bool:
    """Whether it says yes, anywhere, and nothing that takes it back."""
    return bool(_AGREES.search(plain(text))) and not declines(text)


def declines(text: str) -> bool:
    """Whether it says no."""
    return bool(_DECLINES.search(plain(text)) or _NO.search(plain(text)))


def narrows(text: str) -> bool:
    """Whether it asks for less, or for something else."""
    return bool(_NARROWS.search(plain(text)))


def says_goodbye(text: str) -> bool:
    """Whether it thanks or takes leave."""
    return bool(_LEAVES.search(plain(text)))


def refusal(text: str) -> bool:
    """Whether something is refused."""
    return bool(_REFUSES.search(plain(text)))


def doubts_the_facts(text: str) -> bool:
    """Whether something could not be found out or confirmed."""
    return bool(_DOUBTS.search(plain(text)))


def around_refusal(text: str) -> str:
    """The words around a refusal."""
    found = _REFUSES.search(plain(text))
    return plain(text)[max(0, found.start() - 60) : found.end() + 100] if found else ""


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text."""
    return [each for each in _SENTENCE.split(plain(text)) if each]


def wants_a_human(text: str) -> bool:
    """Whether somebody else is asked for."""
    return bool(_WANTS_A_HUMAN.search(plain(text)))


def wants_to_know(text: str) -> bool:
    """Whether a piece of information is asked for."""
    return bool(_WANTS_TO_KNOW.search(plain(text)))


def gives_figures(text: str) -> bool:
    """Whether amounts of money are given."""
    return re.search(r"\$ ?\d|\d\.\d\d\b", text) is not None


def speaks_of_a_transfer(text: str) -> bool:
    """Whether handing over to a human is mentioned."""
    return bool(_TRANSFERS.search(text))
