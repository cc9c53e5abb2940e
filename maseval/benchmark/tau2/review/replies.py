"""Replies: what a user's answer to a proposal means, read by the grammar of short replies.

A reply is written out in plain words first ("lemme", "don't", "nooo"), and taken apart into
clauses. Each clause agrees, refuses, puts off, sets a condition, asks back, or does nothing of the
kind; the last word on the proposal counts. Agreement is what is looked for: a short answer to a
question without any word of it is no yes, in whatever words it declines.
"""

import re
from collections.abc import Sequence
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from maseval.benchmark.tau2.review.words import UNWANTED, said_as, says_the_like, topic_words


class Meaning(Enum):
    """A reply to a proposal, by what it means for the action."""

    YES = auto()
    REQUEST = auto()  # an order in the user's own words: "cancel it"
    CONDITION = auto()
    QUESTION = auto()
    NO = auto()
    UNCLEAR = auto()


# The long form of what people write in short.
_LONG = {
    **{"cannot": "can not", "can't": "can not", "won't": "will not", "let's": "let us"},
    **{"lets": "let us", "lemme": "let me", "gimme": "give me", "wanna": "want to", "u": "you"},
    **{"gotta": "have to", "gonna": "going to", "idk": "do not know", "dunno": "do not know"},
    **{"nvm": "never mind", "nevermind": "never mind", "pls": "please", "plz": "please"},
    **{"thx": "thanks", "ty": "thanks", "tmrw": "tomorrow", "tmr": "tomorrow", "brb": "wait"},
    **{"noo": "no", "n": "no", "yess": "yes", "y": "yes", "k": "ok", "kk": "ok", "okay": "ok"},
    **{"yh": "yes", "ye": "yes", "yea": "yes"},
    **{"okey": "ok", "im": "i am", "ill": "i will", "cant": "can not", "wont": "will not"},
    **{"kindly": "please", "ofc": "of course"},
}
_LONG |= {f"{verb}nt": f"{verb} not" for verb in ("do", "did", "does", "is", "was", "would")}
_ENDINGS = {"n't": " not", "'m": " am", "'re": " are", "'ll": " will", "'d": " would"}
_ENDINGS |= {"'ve": " have", "'s": " is"}
_ENDING = re.compile("|".join(_ENDINGS))
_STRETCHED = re.compile(r"([a-z])\1{2,}")
_WORD = re.compile(r"[a-z\u00c0-\u024f']+|[#$]?\d[\w.]*")
_SENTENCE = re.compile(r"[\s\"')](?:(?<=[.!?][\s\"')])[\s\"')]*|(?<=\n)\n*)")
_CLAUSE = re.compile(
    r"\W(?:(?<=[,;:()])\s|(?<=[\u2014\u2013]) ?|(?<=\s)(?:[\u2014\u2013] ?|-\s)"
    r"|(?=(?:but|however|though|although|except)\b))"
)
_DOTS = re.compile(r"\.{2,}")
_SIGNS = re.compile("[\U0001f44d\U0001f44c\U0001f197\u2705\u2714\U0001f64c\U0001f4af]")
# A line that is no more than a sign of a no; beside words it may be about anything.
_NO_SIGN = re.compile(r"^[^\w\n]{0,5}[\u274c\u2716\U0001f44e\U0001f645][^\w\n]{0,9}$", re.MULTILINE)
_OPENING = (
    r"^(?:(?:oh|ooh|um|uh|hmm+|well|actually|sorry|ah|so|and|but|ugh|er|then|please|just|now|ok|yes"
    r"|yeah|sure|right|maybe|perhaps|only|whoa|hey|thanks|thank you|alright|fine|however|though) )*"
)
_THINKING = (
    r"(?:think|consider|sleep on|reflect|decide|mull|ponder|consult|discuss|ask(?! (?:about|you|if"
    r"|for|how))|check with|(?:talk|speak) (?:to|with|it) (?:my|our|the|her|him)|run (?:it|this"
    r"|that)|clear it|get back to you|compare|weigh|look into|read|wait(?! for)|hear from"
    r"|make up my mind)"
)
_LATER = (
    r"(?:later|tomorrow|tonight|next \w+|another (?:day|time)|(?:some )?other (?:day|time)|soon"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:this|the|at the) weekend|in (?:a|an"
    r"|\d+) \w+|(?:after|once|when|until|till|as soon as) (?:i|we|my|our|payday|he|she|they"
    r"|the \w+)\b|first\b|payday)"
)
_WANTS = (
    r"(?:(?:want|wish|like|going|please|really|think|able|yet) )?(?:(?:i|you|we|me) )?"
    r"(?:(?:to|should) )?"
)
# What an agent is told to do or not to do; one that is caught may be another's action.
_ACT = (
    r"(?:proceed|go(?: ahead|$)|confirm|decide|commit|agree|accept|consent|authori[sz]e|approve"
    r"|like (?:it|that)|want (?:it|that|this|them|you to)|(do|make|book|cancel|change|update"
    r"|upgrade|modify|process|charge|exchange|return|finali[sz]e|add|open|close)(?: it| that| this"
    r"| so| them| any(?:thing)?| (?:the|my|this|that) (?:\w+ )?(?:change|booking|order|flight"
    r"|reservation|trip|return|exchange|account|card)\b))"
)
# What stops an action wherever it stands in a reply.
_STOPS = re.compile(
    rf"\b(?:{_OPENING}(?:(?:nope|nah|nay|negative|do not you dare)\b|(?:no|never)\b(?! need to ask)"
    r"(?=$| (?:thanks?|i|not|way|sorry|wait|please|do|you|we|it|that|this|let|never|and|can|will"
    r"|would|because|my|stop|keep|leave|just|no|sir|want|need|first|actually|really|but)\b))"
    r"|(?:absolutely|certainly|definitely|surely|of course) not\b"
    rf"|not {_WANTS}{_ACT}"
    rf"|{_OPENING}(?:wait(?! for)|pause|slow down|halt|desist|abort|stop(?! ?over)|pass(?! me| us)"
    r"|skip it|not (?:yet|today|now|so fast)|later)\b"
    r"|(?:hold|hang) (?:on|off|up|it|that|fire|tight|your)\b|c(?<!before i c)hanged? my mind"
    r"|second thoughts?|never mind\b|(?:forget"
    r"|scratch|drop|skip|shelve|park|scrap) (?:it|that|about it|this)\b"
    rf"|(?:let|allow|permit) (?:me|us) (?:to )?(?:\w+ )?{_THINKING}"
    r"|leave (?:it|that|them|everything|things)\b(?! to you)"
    r"|keep (?:it|everything|things|them) (?:as|the way|like)"
    rf"|rather (?:not(?= {_ACT})|wait|leave|keep|hold)\b"
    rf"|before (?:(?:you|we|i)(?: can)? (?:\w+ )?{_ACT}|anything\b)|says no\b)"
)
# What does so in an answer that has not agreed, or beside the yes.
_DOUBTS = re.compile(
    r"\b(?:not (?!mind)(?:\w+ )?(?:yet|today|tonight|now(?! that)|sure|ready|certain|convinced|keen"
    r"|interested|comfortable|happy|really|quite|necessary|decided|for me|for now|for the time"
    r"|at (?:this|the|all)|in (?:a position|agreement|favou?r))\b|n(?<!if n)(?<!why n)ot$"
    rf"|(?:need|have|want|like|wish|going|must|should|better|will|rather|prefer)"
    rf" (?:(?:some |more |a little )?time )?(?:to )?(?:\w+ )?{_THINKING}"
    r"|(?:an|some )?other (?:day|time)\b|need (?:a |some |more |bit |\d+ ){0,3}(?:time|moment"
    r"|minute|min|day)s?\b|still (?:thinking|deciding)|^(?:it |that )?depends\b|cold feet\b"
    r"|premature\b|do not know (?:about|if|whether)\b|let me (?:\w+ ){1,6}first\b|(?:one"
    r"|just|another|wait) (?:a |an |one |some |bit |more ){0,2}(?:sec|second|moment|minute|min)\b"
    r"|give me (?:till|until|time|(?:\w+ )?(?:\w+ )?(?:sec|second|moment|minute|min|hour"
    r"|day)s?\b)|(?:revert|respond|answer) (?:once|when|after)|(?:(?:get|come|circle) back to"
    r"|let) you(?: know)?\b|(?:maybe|perhaps) later\b"
    r"|(?:will|would) (?:have to )?(?:\w+ )?(?:pass|decline|refuse|skip)\b|(?:refuse[ds]?"
    r"|decline|withheld)\b|(?:until|do it|decide) (?:tomorrow|later)"
    rf"|would (?:like|want|prefer) (?:it |that )?{_LATER})"
)
_IS_UNWANTED = re.compile(
    r"^(?:it|this|that|(?:the|an?|your) (?:\w+ )?(?:offer|proposal|change|modification|cancellation"
    r"|booking|transfer|addition|exchange|return|purchase|upgrade))(?: of(?: \w{1,15}){1,3})?"
    rf" {UNWANTED}"
)
_PUT_OFF = re.compile(rf"^(?:but |only |maybe |perhaps |just |please |do it )*{_LATER}")
_BUT = r"^(?:but|however|though|although|except)\b"
_PUTS_OFF_BUT = re.compile(
    rf"{_BUT}.*\b(?:{_LATER}|{_THINKING}|(?:can|could|would) (?:you|we|i)\b|need to\b|beforehand)"
)
# Another value than the one proposed: the yes may not be one to what is done.
_OTHERWISE = re.compile(
    rf"{_BUT}(?:.*\bnot (?:on|with|to|for|in|from) |(?!.*\bnot\b).*\b(?:make (?:it|that)|change"
    r"|instead|rather|only (?:one|two|three|\d)|without)\b)"
)
_ASKS_SOMEBODY = re.compile(
    r"\b(?:ask|check|consult|discuss|talk|speak|spoke|run|clear|decid)\w{0,6} (?:\w+ ){0,4}"
    r"(?:my|our|the) (?:\w+ )?(?:wife|husband|partner|spouse|boss|son|daughter|mom|mum|dad|mother"
    r"|sis|bro|hubby|parents?|gf|bf|accountant|father|brother|sister|friends?|family|room ?mate"
    r"|manager|colleagues?|kids?|girlfriend|boyfriend|fianc\w{1,3}|team|calendar|schedule|budget"
    r"|bank)\b"
)
_CONDITION = re.compile(
    r"\b(?:only if|as long as|so long as|provided (?:that|it|you|there|the)\b|assuming|unless"
    r"|on (?:the )?condition|(?<!even )(?<!m\u00eame )if (?:it|that|this|there|the|i|so"
    r"|you(?! (?:would|could|did|please|will)(?: be so kind)?$))\b)"
)
# Words that agree wherever they stand in a clause, unless it turns them.
_AGREES = re.compile(
    r"\b(?:(?:y[eau](?:s|h|p|ah|a|ss?ir)|oui|s[i\u00ed]|aye|ok(?:i|ie)|alrighty|(?:permission"
    r"|approval|consent|confirmation|agreement|authori[sz]ation) (?:is )?(?:hereby "
    r"|herewith )?(?:given|granted|confirmed)|you are (?:hereby )?authori[sz]ed|aye|affirmative"
    r"|absolutely|definitely|certainly|indeed|exactly|of course|by all means|(?:^|is |it "
    r"|so )(?:agreed|accepted|approved|confirmed|granted|desired|authori[sz]ed)|go ahead|go for it"
    r"|do (?:it|so|that)|please (?:do(?! not)|continue|carry (?:\w+ )?out)|no need to ask"
    r"|proceed(?:ing)?|make it (?:so|happen)|you got it|you choose|lgtm|sign me up|count me in"
    r"|very well|as you (?:say|wish|like)|for sure|fire away|carry on|go on|i am in$|be my guest"
    r"|why not|no objections?|sounds like a plan|please go on|i (?:would )?(?:also |do |hereby "
    r"|fully |gladly |would ){0,2}(?:like to )?(?:confirm|accept|approve|authori[sz]e|agree"
    r"|consent)|i (?:do|am|may)$|i (?:do |really |would |will |much |so ){0,2}(?:want|wish|like"
    r"|love|take|appreciate|welcome|instruct) (?:it|that|this|them|those|both|you|so)$"
    r"|if you (?:would|could|did|please|will)(?: be so kind)?$|(?:^|i am )(?:\w+ )?(?:fine|ok|good"
    r"|happy|comfortable|content|ready|in agreement)(?= (?:with|by)\b|$)"
    r"|i would be (?:\w+ )?(?:fine|ok|happy|content|comfortable|satisfied) with (?:that|this|it)$"
    r"|i am (?:\w+ )?(?:ok|happy|ready|glad) to|i (?:guess|suppose|think) so"
    r"|consider (?:it|this) (?:my|done)"
    r"|(?:you(?: do)? have|i give(?: you)?) (?:it$|my (?:\w+ )?(?:approval|consent|permission|ok"
    r"|go-ahead|blessing))|you (?:do|are|may|can)$|they are$|let us(?= (?:do|go|proceed|make"
    r"|finali[sz]e|book|use|roll)\b|$)|works? for me|(?:that|this|it|which|everything|all|these"
    r"|those|option)(?: all| really| both)? works?|(?:sounds?|looks?|seems?|is|(?<!you )are"
    r"|be)(?: all| really| just| very)? (?:good|great|fine|right|perfect|lovely|ok|correct"
    r"|acceptable|accurate|wonderful|(?:\w+ )?satisfactory|what i want)\b"
    r"|^you (?:can|may) (?:now |please )?(?!not|have|see|forget|keep|wait|stop|want|need)[a-z]+"
    r"|s(?<!make s)(?<!for s)(?<!be s)ure|ok|alright"
    r"|correct(?! (?:the|my|it|this|that)\b)|accurate|acceptable|agreeable|all good|ready|gladly"
    r"|with pleasure|perfect)\b|^fine\b)"
)
# The whole of a clause.
_AGREES_ALONE = re.compile(
    r"^(?:(?:oh|ooh|and|so|then|now|well|wow|that is|it is|this is|thanks|thank you|all) )*"
    r"(?:ya|yah|yay|go(?: go)*|deal|sold|done|ship it|send it|lock it in|roger|great|wonderful"
    r"|submit|approve|order|accept|super|excellent|good|cool|nice|awesome|amazing|fantastic|lovely"
    r"|right|confirm|continue|works|(?:i )?do not mind(?: at all)?|great idea|good idea)"
    r"(?: (?:then|now|thanks|thank you|please|enough|to me|by me|with me|so|for me|stuff|lets?))*$"
)
# Before a word of agreement in its clause: then it is none.
_TURNED = re.compile(
    r"\b(?:would say|not|never|without|before|until|unless|how|(?<!you know )what|whether|if|once"
    r"|in order to|longer|unable|make sure"
    r"|(?:can|could|would|will|did|do|does|are|is) (?:you|we|i|it|that|this|there))\b"
)
_BIDS = re.compile(
    r"\bplease (?:just )?(?:cancel|book|update|change|upgrade|downgrade|add|process|charge|switch"
    r"|exchange|return|modify|refund|make|send|use|confirm|complete|finali[sz]e|apply|remove"
    r"|open)\b"
    r"|^(?:just )?(?:cancel|book|update|change|upgrade|process|charge|switch|exchange|return|add)\b"
    r"|^(?:just |please |then |so |now |and )*(?!(?:i|is|was|if|do|does|did|can|about|for|with|that"
    r"|keep|hold|leave|drop|skip|forget|stop|have|will|not|like|of|on|in|to|and|but)\b)"
    r"[a-z]{2,9} (?:it|that|this|them|both|those)(?: (?:in|up|on|now|please|through|over|then))*$"
)
# These agree even behind a no.
_FIRM = re.compile(
    r"\b(?:y[eau]\w{1,2}|go ahead|proceed|confirm\w*|do (?:it|so|that)|agree|accept)\b"
)
# "Okay, thanks. I'm not sure I want that": it may only have been heard.
_PRAISES = re.compile(r"(?:oh |ah |well )?(?:nice|great|good|cool|lovely|wonderful|awesome)")
_HEARS = re.compile(rf"(?:oh |ah |well )?(?:ok|alright|right)(?: then)?|{_PRAISES.pattern}")
# A question that may hand the action over.
_ASKS_AN_AGENT = re.compile(r"\b(?:you|i|we|it|that|this|ahead)\b")
_MOST_WORDS = 25
_DISLIKES = re.compile(
    r"\b(?:not|no|never|none|nothing|neither|too(?! (?:right|easy|kind)\b)|lot|expensive|pricey"
    r"|steep|high|(?:so|that|how) much|more|less|maybe|perhaps|might|hu?m+|um+|uh|eh+|meh|ugh|oof"
    r"|yikes|ouch|whoa|skip|pass|stop|wait|later|tomorrow|first|un\w{4,}|torn|busy|before|until"
    r"|refrain|keep|leave|hold|only|still|wrong|instead|tempting|what(?! i\b)|why|huh|how|easy"
    r"|tough|bad|joking|kidding|doubts?|robbery|ridiculous|question|rescind|withdraw|withhold"
    r"|await|pending|again|dead|afraid|regret|objection|object|bother|expected|was just"
    r"|must|requires?|desist|fence|thought)\b"
)
# A negation that agrees.
_NO_DISLIKE = re.compile(
    r"\b(?:no|not have (?:a|any)) (?:problems?|complaints?|issues?|worries|qualms|concerns)\b"
    r"|\bany other way|\bwhy not\b|\bnot be (?:happier|better)|\bnothing to add\b"
)
_OWN_STEP = re.compile(
    r"\b(?:(?:let|allow|ask|tell) me|give (?:me|it)|(?:i|we) (?:will|shall|need|ought)|^have to"
    r"|(?:i|we) (?:would )?(?:sooner|like to|want to|prefer|need|have to)|prior to|two minds"
    r"|(?:my|our)sel(?:f|ves)"
    r"|reservations about|my (?:wife|husband|partner|boss|other half|accountant|mom|mum|dad))\b"
)
# Verbs that may stand for any action.
_ANY_VERB = {"do", "make", "process", "charge", "finalize", "finalise"}


class _Clause(NamedTuple):
    """A clause of a reply in plain words, the number of its sentence, and if it ends in a "?"."""

    text: str
    sentence: int
    asked: bool


@lru_cache(maxsize=4096)
def clauses_of(text: str) -> tuple[_Clause, ...]:
    """Return the clauses of a reply that have words."""
    found: list[_Clause] = []
    for number, sentence in enumerate(_SENTENCE.split(_joined(text.lower()))):
        plain = [each for part in _CLAUSE.split(sentence) if (each := _write_out(part))]
        last = len(plain) - 1
        asked = sentence.rstrip().endswith("?")
        found += [_Clause(each, number, asked and at == last) for at, each in enumerate(plain)]
    return tuple(found)


def _joined(text: str) -> str:
    """Return a text whose dots do not end a sentence, with words for the signs of yes and no."""
    text = _DOTS.sub(", ", text)
    return text if text.isascii() else _SIGNS.sub(". yes.", _NO_SIGN.sub("no.", text))


def _write_out(text: str) -> str:
    """Write a clause in whole words: "i don't wanna nooo" as "i do not want to no"."""
    words = [_LONG.get(word, word) for word in _WORD.findall(_STRETCHED.sub(r"\1", text))]
    plain = " ".join(words)
    return _ENDING.sub(lambda found: _ENDINGS[found[0]], plain) if "'" in plain else plain


@lru_cache(maxsize=4096)
def read_reply(text: str, tool: str) -> Meaning:
    """Say what a reply means for a call of a tool that was proposed; its last word on it counts."""
    agreed = against = (-1, -1)
    clauses, yes_in, firm, stopped = clauses_of(text), None, False, False
    for at, each in enumerate(clauses):
        stops = [found for found in _STOPS.finditer(each.text) if _is_about(found, tool)]
        stopped = stopped or bool(stops)
        yes = _find_yes(each, alone=len(clauses) == 1)
        # "Nope, all good" agrees to nothing.
        if yes is not None and (not stopped or _FIRM.search(each.text)):
            agreed, yes_in, firm = (at, yes), each.sentence, not _HEARS.fullmatch(each.text)
        beside = yes_in == each.sentence
        doubts = _doubts(each.text, beside) if yes_in is None or beside or not firm else []
        if stops or doubts:
            against = (at, max(found.start() for found in (*stops, *doubts)))
    if agreed > against:
        last, praised = clauses[-1], _PRAISES.fullmatch(clauses[agreed[0]].text)
        if praised and last.asked and not _ASKS_AN_AGENT.search(last.text):
            return Meaning.QUESTION
        return Meaning.CONDITION if _depends(clauses, agreed) else Meaning.YES
    ordered = max((at for at, each in enumerate(clauses) if _orders(each, tool)), default=-1)
    if against[0] >= 0:
        if agreed[0] >= 0 and _depends(clauses, against):
            return Meaning.CONDITION
        return Meaning.UNCLEAR if (ordered, 0) > against else Meaning.NO
    if ordered >= 0:
        return Meaning.REQUEST
    return Meaning.QUESTION if text.rstrip().endswith("?") else Meaning.UNCLEAR


def agrees(text: str) -> bool:
    """Return True if a text says yes, to whatever was asked, and takes nothing back."""
    return read_reply(text, "") is Meaning.YES


def _find_yes(clause: _Clause, *, alone: bool) -> int | None:
    """Return where words of agreement begin in a clause that does not turn them."""
    text = clause.text
    found = _AGREES.search(text) or _AGREES_ALONE.match(text)
    if found is None:
        return 0 if alone and text == "please" else None
    if _TURNED.search(text, 0, found.start()) or (clause.asked and found.end() == len(text)):
        return None
    return found.start()


def _doubts(text: str, agreed: bool) -> list[re.Match[str]]:
    """Return the words of a clause that put an answer off, or a yes beside them."""
    found = [*_DOUBTS.finditer(text), *_ASKS_SOMEBODY.finditer(text)]
    later = (_PUT_OFF.match(text), _PUTS_OFF_BUT.match(text)) if agreed else ()
    return found + [each for each in (*later, _IS_UNWANTED.match(text)) if each]


def _is_about(refusal: re.Match[str], tool: str) -> bool:
    """Return True if a refusal is about a call: "do not change it" is no word against a booking."""
    verbs = [verb for verb in refusal.groups() if verb]
    if not verbs or verbs[0] in _ANY_VERB:
        return True
    topic = topic_words(tool)
    return not topic or re.match(said_as(topic[0]), verbs[0]) is not None


def _depends(clauses: Sequence[_Clause], place: tuple[int, int]) -> bool:
    """Return True if the sentence goes on with a condition."""
    at, start = place
    number = clauses[at].sentence
    rest = [each.text for each in clauses[at + 1 :] if each.sentence == number]
    return any(
        _CONDITION.search(each) or _OTHERWISE.search(each)
        for each in [clauses[at].text[start:], *rest]
    )


def _orders(clause: _Clause, tool: str) -> bool:
    """Return True if a clause tells the agent to do what a call does."""
    if clause.asked or _TURNED.search(clause.text):
        return False
    return says_the_like(clause.text, tool) or _BIDS.search(clause.text) is not None


def is_short(text: str) -> bool:
    return len(text.split()) <= _MOST_WORDS


def evades(reply: str) -> bool:
    """Return True if an unclear answer is short, names no value, and shows that it is no yes.

    It does so by a word of dislike or doubt, or if the next step is the user's own: a yes leaves it
    to the agent. In other words that are not understood it may be either.
    """
    plain = _write_out(_SENTENCE.split(reply.lower())[0])
    if not is_short(reply) or any(map(str.isdigit, reply)) or _NO_DISLIKE.search(plain):
        return False
    return bool(_DISLIKES.search(plain) or _OWN_STEP.search(plain))


def asks_back(reply: str) -> bool:
    """Return True if a reply ends in a question about the proposal: "what is the catch?"."""
    return _DISLIKES.search(_write_out(_SENTENCE.split(reply.lower().strip())[-1])) is not None


_HUMAN = re.compile(
    r"\b(?:transfer\w*|humans?|supervisors?|managers?|representatives?|reps?|real (?:person"
    r"|people)|(?:any|some)(?:one|body)(?: else)?|another (?:person|rep)|(?:more|another"
    r"|other) agents?|escalat\w+|colleagues?|live agents?|(?:hand|pass|connect|put|route|refer"
    r"|forward|send|bounce)(?:ed|ing)? (?:me|us)(?= (?:on|off|over|to|through|around|with)\b|$)"
    r"|(?:handed|passed|bounced|put) (?:on|over|off|around|through))\b"
)
_NOT_WANTED = re.compile(
    r"\b(?:not|no|never|without|stop|hate|refuse|decline|avoid|instead of|rather than|tired of"
    r"|sick of|enough|nobody|neither)\b"
)
_TURNED_DOWN = re.compile(rf"\b{UNWANTED}")
_STAYS = re.compile(
    r"\b(?:stay|stick|remain|continue|carry on|finish|deal|work|sort|keep|solve|resolve|prefer"
    r"|rather)\b[^.]{0,40}\b(?:with (?:you|me)|right here|here with|yourself)\b"
)
_WITH = ("with you", "with me", "right here", "here with", "yourself")
_EARLIER = re.compile(r"\b(?:spoke|spoken|talked|told|said|assured|been transferred)\b")
_PARTS = re.compile(r"\b(?:and|so|then|please|just|if)\b")


def wishes_for_a_human(text: str) -> bool | None:
    """Return True if a user asks for a human, False for one who wants none; None if neither.

    The last word on it counts.
    """
    lower, wish = text.lower(), None
    if not _HUMAN.search(lower) and not any(mark in lower for mark in _WITH):
        return None
    for clause in clauses_of(text):
        for part in _PARTS.split(clause.text):
            spoken = _HUMAN.search(part)
            if spoken and not _EARLIER.search(part):
                declined = _TURNED_DOWN.search(part, spoken.end())
                declined = declined or _NOT_WANTED.search(part, 0, spoken.start())
                wish = clause.asked or not declined
            elif _STAYS.search(part):
                wish = False
    return wish
