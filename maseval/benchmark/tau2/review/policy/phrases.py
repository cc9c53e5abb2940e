"""Phrases: the regular expressions by which rules read what is said, for all domains.

They are English, as the policies and the personas are, and read texts that ``talk`` has normalised.
None of them decides by itself: each supports a rule that also looks at calls and records.
"""

import re

from maseval.benchmark.tau2.domains.airline.tools import NOW

AMOUNT = re.compile(r"\$(\d+(?:\.\d+)?)")

# Replies
# A yes with another card than the one that was proposed, and so no yes to the proposal.
OTHER_PAYMENT = re.compile(
    r"\b(?:use|charge|take|with|on|to|via) (?:my |the |a |an )?(?:other|another|different|second) "
    r"(?:\w+ )?(?:card|one|method|payment|account)\b(?![^.!?]*\?)"
)
OTHER_ACTION = re.compile(r"\b(?:cancel|book|return|exchang)")
TELLING_ID = re.compile(r"\d{8,12}|[A-Z]{3}\d{3}")
PAYMENT_ID = re.compile(r"(?:credit_card|gift_card|certificate|paypal|debit_card)_\d")
ID = re.compile(r"#?\w+(?:-\w+)*")
# Statements
CHEAPEST = re.compile(
    r"(?<!not the )(?<!n't the )\b(?:cheapest|lowest(?:[- ]\w+){0,2}[- ](?:price|fare|cost)s?"
    r"|lowest-?priced|costs? the least|least expensive|most affordable|best price"
    r"|(?:no(?:thing|ne)?|not a) (?:[\w-]+ ){0,4}(?:undercuts?|beats?|(?:costs? )?less than"
    r"|cheaper than|lower than))\b"
)
LIMITS_CHOICE = re.compile(
    r"\b(?:after|before|mornings?|afternoons?|evenings?|nights?|fits?|match\w*|meets?|suits?|second"
    r"|next|criteria|requirements?|within|under|at least|no more than|later|earlier|except)\b"
)
UNAVAILABLE = re.compile(
    r"\b(?:sold out|fully booked|booked (?:up|solid|out)|out of stock|unavailable"
    r"|no longer available|(?:not|isn't|aren't|n't) (?:currently |in fact )?(?:available|in stock)"
    r"|no (?:more |free |open )?(?:\w+ )?(?:seats?|room left)|no availability"
    r"|(?:is|are) (?:all )?gone|all (?:are |were )?taken|full\b(?! (?:size|refund|price)))"
)
ALL_OF_THEM = re.compile(r"\b(?:both|all|neither|none)\b")
SUPPOSES = re.compile(r"\?|\b(?:if|once|unless|when|whether|until|except|other|others|but)\b")
# An amount or a payment in such a sentence may not be the one that is meant.
SUPPOSED = re.compile(r"\b(?:if|unless|otherwise|either|depending|in case)\b")
_BAGS = r"(?:bags?|baggage|luggage|suitcases?)\b"
BAG_FEE = re.compile(
    rf"\$(\d+(?:\.\d+)?),? (?:per|for (?:each|every|any)|each|a|apiece)[^.$\n]{{0,30}}\b{_BAGS}"
    rf"|\b(?:per|each|every|any|an? (?:extra|additional|further)) (?:\w+ ){{0,3}}{_BAGS}"
    r"(?:(?!insurance|passenger|\bor\b|\band\b)[^.$\n]){0,40}\$(\d+(?:\.\d+)?)(?! (?:in )?total)"
)
ADDS = re.compile(
    r"\b(?:add|extra|additional|more|another)[^.\n]{0,25}\b(?:bag|luggage|suitcase)"
    r"|\b(?:bag|luggage|suitcase)s?\b[^.\n]{0,12}\b(?:more|extra|added)"
)
BAG_COUNT = re.compile(
    r"\b(\d|one|two|three|four|five|six) (?:(?!to |\d)[\w-]+ ){0,3}(?:bags?|suitcases?|luggage)\b"
    r"|\b(?:bags?|baggage|luggage|suitcases?)\b[^.\d\n$]{1,30}(\d)\b(?!\d)"
)


def claim(verbs: str, thing: str, unless: str = "$^") -> re.Pattern[str]:
    """Return a pattern for the report that something was done, in the active or passive voice."""
    adverbs = "(?:now |just |also |already |successfully |gone ahead and ){0,3}"
    return re.compile(
        rf"\b(?:(?:i|we)(?:'ve| have) {adverbs}(?:{verbs})\b[^.?!]{{0,80}}\b(?:{thing})\b"
        rf"|(?:{thing})\b[^.?!,;]{{0,40}} (?:ha(?:s|ve) {adverbs}been|(?:is|are) now)"
        rf" {adverbs}(?:{verbs})\b)(?![^.?!]{{0,80}}(?:{unless}))",
    )


# Airline
WANTED = re.compile(
    r"\b(?:compen|reimburs|travel credit|credit for|goodwill|make (?:it|this) up|make up for"
    r"|some(?:thing| kind of)[^.!?]*(?:for (?:the|this|my)|in return)|owe|gesture"
    r"|what (?:can|will|are) you (?:do|going to do|offer))"
)
MAYBE_WANTED = re.compile(
    r"\b(?:refund|money back|certificate|voucher|due\b(?! to (?!me|us))|deserv|entitl|expect"
    r"|mak\w+ .{0,20}right|what (?:do|can|will|would|could|are|is) (?:i|you|we|there|going)\b"
    r"|trouble|do about)"
)
OFFERS = re.compile(
    r"\b(?:offer|provide you|issue|send|give|eligible for|entitled to|qualif|arrange)[^.!?\n]*"
    r"\b(?:compensation|(?:travel |\$ ?\d+ )?(?:certificate|voucher)s?)\b"
    r"|\bas (?:a )?compensation\b|\bgesture of (?:goodwill|apology)|\bas a (?:goodwill )?gesture"
    r"|\bmake (?:it|this|that) up to you\b"
)
REFUSES_IT = re.compile(
    r"\b(?:not|n't|cannot|unable|no|only|unfortunately)\b[^.!?\n]{0,60}"
    r"\b(?:compensat|certificate|voucher|offer)|\bpay(?:ment|ing)?\b"
)
COVERED = re.compile(
    r"\b(?:sick|ill(?:ness)?|health|medical|doctor|hospital|surgery|injur|pregnan|unwell|covid|flu"
    r"|fever|disease|operation|diagnos|broke (?:my|his|her)|weather|storm|hurricane|snow|blizzard"
    r"|flood|tornado|typhoon|under the weather|(?:not|n't|not been) feel(?:ing)? (?:\w+ )?"
    r"(?:well|good|great|up to))"
)
# What a user tells beside the reasons that insurance covers.
NOT_COVERED = re.compile(
    r"\b(?:(?:chang\w+|new|other|different) (?:\w+ )?plans?|plans? (?:\w+ )?chang"
    r"|chang\w+ (?:of|my|our) (?:plan|mind)|cheaper|too expensive|driv(?:e|ing)|work\b|boss|meeting"
    r"|(?:by|the|a) (?:train|bus|car)\b|wedding|mistake|instead|schedul|no longer (?:need|want)"
    r"|(?:not|n't) (?:need|want)|better (?:fare|price|deal|flight)|give up (?:my|your) seat)"
)
OTHER_REQUEST = re.compile(
    r"\b(?:book(?! (?:on|at|by|more|in))(?!ed)|bags?|luggage|upgrad|downgrad|passengers?|compensat"
    r"|chang(?:e|ing) (?:the |my |their |his |her )?(?:flight|cabin|date|name)|certificate)"
)
AIRLINE_NEGATED = re.compile(r"\b(?:no|not|n't|isn't|without|never)\b[^.!?,;]{0,30}$")
REASON = re.compile(
    r"\b(?:because|reason|due to|on account of|owing to|(?:new|altered) plans?|cant|wont"
    r"|change (?:of|in) (?:my |our )?plans?|changed? (?:my |our )?plans?"
    r"|plans? (?:have |has |had )?(?:to )?(?:change|fell|fall)|came up|no longer|mistake|conflict"
    r"|(?:can't|cannot|can not|unable to|not able to|won't) (?:make|travel|go|fly|attend|take|be)"
    r"|emergency|died|passed away|cancell?ed (?:by|my flight)|airline cancell?ed"
    r"|my (?!(?:user|id|name|reservation|booking|flight|trip|ticket|e-?mail|account|card|money"
    r"|refund|code|number)\b)\w+ (?:is|are|was|were|has|have|had|got|needs?|wants?|fell|broke)\b"
    r"|(?:don't|do not) need|duplicate|overlap|mix-?up|(?:free|give) (?:up )?(?:my|your|the) seat)"
)
CANCEL = re.compile(
    r"\b(?:since|schedul|meeting|too (?:long|expensive|late|early)|delay|better|instead"
    r"|so (?:that )?i|save|cheaper|won't|can't)"
)
CANCEL = re.compile(r"\bcancel|\brefund")
ASKS_REASON = re.compile(r"\b(?:reasons?|why)\b")
# The reports of actions, by words in the names of the tools that take them.
AIRLINE_CLAIMS = {
    "book|update_reservation_flights": claim("booked", "reservation|booking|flights?|trip"),
    "cancel": claim("cancell?ed", "reservations?|bookings?|flights?|trip|it"),
    "update_reservation": claim(
        "changed|updated|upgraded|downgraded|modified|switched|moved|added|removed",
        "reservation|flights?|cabin|class|bags?|baggage|suitcases?|passengers?|name",
    ),
    "send_certificate": claim("sent|issued", "certificates?|vouchers?|compensation"),
}
NOT_SO = re.compile(
    r"\b(?:no|not|n't|none|neither|nor|if|once|after|when|by the airline|cannot|unable|until)\b"
)
CARD_ON_FILE = re.compile(
    r"original|same (?:card|payment|method)|on file|\bcard\b|certificate|voucher|payment method"
)
PEOPLE = re.compile(r"\b(?:myself|both|same passengers?|passengers?|travell?ers?|me)\b")
USER_ID = re.compile(r"\b[a-z]+_[a-z]+_\d{4}\b")
# In a line with a price: that it is one for each passenger.
PER_HEAD = re.compile(
    r"\b(?:per|each|apiece)\b|/ ?(?:person|passenger|pax)|[x\u00d7*] ?\d\b|\b\d+ ?[x\u00d7*] ?\$"
)
AIRLINE_PRICE = re.compile(r"\$|\b(?:price|fare|cost|amount|refund|difference)")
DECLINED = (
    r"(?:\b(?:no|not|without|skip|decline|zero|neither|0)\b|n't\b)"
    r"(?:(?!extra|additional|more|charge|fee|cost|free)[^.!?;,\n]){0,60}\b"
)
NO_INSURANCE = re.compile(
    rf"{DECLINED}insurance"
    r"|\binsurance,? (?:i |we |is |it's )?(?:don't|do not|not|isn't|no thanks|unnecessary)\b"
)
NO_BAGS = re.compile(
    rf"{DECLINED}{_BAGS}|\b(?:hand luggage|carry[- ]on|hand ?bag)s? only\b"
    r"|\bonly (?:\w+ )?(?:hand luggage|carry[- ]on)"
)
INSURANCE = re.compile(r"\bins(?:ur|\b)")
COVER = re.compile(r"\b(?:cover|protect|polic(?:y|ies)\b)\w*|\$30\b")
BAG = re.compile(r"\b(?:bag|luggage|suitcase)")
# In a proposal: "Travel insurance: No".
LISTED_INSURANCE = re.compile(r"insurance[*_\s]*:[*_\s]*(yes|no)\b")
OWN_FLIGHT = re.compile(r"HAT(?<!\wHAT)\d{3}\b")
FLIGHT = re.compile(r"\b[A-Z]{2,3}\d{3}\b")
# A day of the airline's year: birthdays are in others.
DATE = re.compile(
    rf"{NOW[:4]}-\d\d-\d\d|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*"
    rf" \d{{1,2}}(?:st|nd|rd|th)?\b(?!,? (?!{NOW[:4]})\d{{4}})"
)

# Retail
DONE = (
    r"(?:process|refund|issu|charg|credit|appli|cancel|complet|updat|exchang|modifi|initiat)\w*ed"
)
RETAIL_REPORTS = re.compile(
    rf"\b(?:has|have|had|was|were) (?:\w+ ){{0,3}}{DONE}\b|\band refunded\b"
)
GIVES_BACK = re.compile(r"\b(?:refund|credited|receive|get back|returned to)")
TAKES = re.compile(r"\b(?:charg|pay(?!pal|ment)|additional|extra|owe|due|cost)")
OF_A_CHANGE = re.compile(
    r"\b(?:diff|additional|extra|refund|charg|owe|credited|pay(?!pal|ment))"
    r"|\$ ?[\d.,]+ (?:more|less|cheaper|back)"
)
OF_A_REFUND = re.compile(r"\b(?:refund|credited|receive|get back)|\$ ?[\d.,]+ back")
# An amount right behind these is what will be moved, even if it is also a price.
MOVED = re.compile(
    r"\b(?:diff|refund|charg|credited|pay(?!pal|ment))\w*(?: \w+){0,3}:? ?[-+]?\$? ?$"
)
GIFT_CARD = re.compile(r"\bgift[- ]?card")
CARD = re.compile(r"\b(?:credit|debit|my|the|your|that|this|same|original|visa|master) ?cards?\b")
CREDIT_CARD = re.compile(r"\b(?:credit|debit) ?cards?\b")
# A payment method may be meant that is not understood.
OF_PAYMENT = re.compile(r"\b(?:card|paid|pay(?:s|ing|ment)?|wallet)\b")
ENDING = re.compile(r"\bcard (?:\w+ ){0,3}ending (?:in|with) (\d{4})\b")
ORIGINAL = re.compile(
    r"\b(?:original|same|initial)(?:ly)? (?:\w+ )?(?:payment|method|card|account|form|way|visa"
    r"|mastercard|paypal)|payment method (?:you )?(?:\w+ )?used|used (?:for|to pay|in|on|when)"
    r"|(?:paid|bought|purchased) (?:\w+ )?with|(?:originally|previously) (?:paid|used)"
)
INSTEAD = re.compile(r"\b(?:inste?ad of|rather than)[^.,;!?\n]*")
ON_FILE = re.compile(r"\bon (?:file|record|your account|your profile)|existing payment")
OTHER_REASON = re.compile(
    r"\b(?:cheaper|afford|expensive|too (?:long|late|slow|much)|delay|financ|better (?:deal|price)"
    r"|(?:price|money|budget) (?:drop|problem|trouble|issue)|lost my job|out of money)"
)
ONCE = re.compile(r"\b(?:only|just) (?:\w+ ){0,4}once\b")
CHANGEABLE = re.compile(r"\b(?:item|product|change|modif|exchang)")
ALL = re.compile(
    r"\b(?:all|any|other|more|additional|further|every|each|complete|only|else)\b[^.?!\n]*$"
)
EVERYTHING = re.compile(
    r"\b(?:all|everything|both|entire|whole|every|each|them|these|those|rest|other)\b"
)
WHOLE = re.compile(r"\b(?:all|everything|entire|whole|every|rest|other)\b")
NO_WORD = re.compile(r"[^a-z0-9]+")
ALL_ZEROS = re.compile(r"\D0{5,}$")
ORDER_ID = re.compile(r"\bw\d{7}\b")
ZIP = re.compile(r"(?<![\w#$.-])\d{5}(?![\w.-])")
DEFAULT = re.compile(
    r"\b(?:default|on file|on record|in (?:my|your) (?:profile|account)|profile|same|current)\b"
)
STREET = re.compile(
    r"\b\d+ (?:\w+ ){1,3}(?:st|street|ave|avenue|dr|drive|ln|lane|rd|road|ct|court|blvd|boulevard"
    r"|way|place|square|terrace|circle|parkway)\b"
)
_NUMBER_WORDS = "a|two|three|four|five|six|seven|eight|nine|ten|twelve|fourteen|twenty-four"
# Letters and digits in ASCII; all else parts words.
PLAIN = "".join(chr(n) if chr(n).isalnum() else " " for n in range(128))
SEPARATORS = re.compile(r"[\W_]+")
SPAN = re.compile(
    rf"\b(\d+|{_NUMBER_WORDS})(?: ?(?:-|to|\u2013|\u2014|or|and) ?(\d+|{_NUMBER_WORDS}))? "
    r"(?:business |working )?(?:days?|hours?|hrs?|weeks?|fortnight)\b"
)
PRODUCT_TIME = re.compile(r"\bbattery|\blife\b|\bcharg|\bplay")
DELIVERY = re.compile(r"\b(?:arriv|deliver|ship)")
MONEY = re.compile(r"\brefund|\bcredit|\bmoney|\bfunds?\b|[$\U0001f4b0\U0001f4b5\U0001f4b3]")
REFUND = re.compile(r"\brefund|\bcredit|\bmoney")

# Telecom
NUMBER = re.compile(r"\d{3}(?<!\d\d{3})\)?[\s.-]{0,2}\d{3}[\s.-]?\d{4}(?!\d)")
ALL_LINES = re.compile(r"\b(?:all|both|every|each)\b[^.?!]{0,20}\blines?\b")
TRAVELS = re.compile(
    r"abroad|travel|\btrip\b|overseas|outside|foreign|vacation|holiday|visiting|france|"
    r"(?:another|different|other) country|airport|cruise"
)
AT_HOME = re.compile(r"\bat home\b|\bhome (?:network|area|country)\b|\bnot (?:\w+ )?travel")
GB = re.compile(
    r"(?<![\w.$])(\d+(?:\.\d+)?|one|two|three|four|five|half|a|single)[ -]*"
    r"(?:(?:more|additional|extra|full|whole|a) )?(?:gb|gigs?|gigabytes?)\b"
)
ALL_OF_IT = re.compile(r"\b(?:max(?:imum)?|full amount|as much as|most (?:you|i|that)|both)\b")
DATA = re.compile(r"\brefuel|\btop[ -]?up|\bmore data|\badd\w* (?:\S+ ){0,8}?(?:data|gb|gigs?)\b")
EACH = re.compile(
    r"^\W{0,3}(?:each\b|apiece|(?:/|per|a|each|for (?:each|every|one|1))? ?(?:gb|gig))"
)
EACH_GB = re.compile(r"(?:/|\bper|\beach|\bevery|\ba) ?(?:gb|gig)|\brate\b")
IF_NEEDED = re.compile(r"\bwilling\b|\bif (?:it is |it's )?(?:necessary|needed|required)")
PER_MONTH = re.compile(r"^\W{0,3}(?:/ ?|per |a |each )?month")
OF_DATA = re.compile(r"refuel|top[ -]?up|gb\b|\bgig|\bdata\b")
OF_COST = re.compile(r"cost|charge|total|price|\brate\b|\bfee\b")
OF_A_PLAN = re.compile(r"\bplans?\b|switch|upgrad|month")
OF_A_BILL = re.compile(r"overdue|outstanding|past due|bill (?:of|for|amount|total)|amount due")
A_PLACE = re.compile(
    r"\b(?:[Ii]'m|[Ii] am|[Ww]e're|[Ww]e are|now|currently|here|staying|flew|going|arrived) "
    r"(?:\w+ ){0,2}(?:in|to) (?:the )?(?!United|US|America|Airplane)[A-Z][a-z]{2,}"
)
SUSPENDS = re.compile(r"suspend|pause|stolen|\blost\b|deactivat")
ENDS_ROAMING = re.compile(
    r"\b(?:disabl|turn\w* off|switch\w* off|deactivat|stop|cancel|remov|without)[^.?!]{0,30}roam|"
    r"\b(?:want|like|need|please)[^.?!]{0,30}roaming[^.?!]{0,15}\b(?:off|disabled|removed)"
)
COMPLAINS = re.compile(
    r"n't\b|\b(?:not|no|still|slow|issue|problem|error|fail\w*|unable|cannot|frustrat\w*|help|"
    r"what (?:else|should|now|next))\b"
)
PIN = re.compile(
    r"\b(?:enter|input|type|try|put|pop|key|supply|provide|give)\b"
    r"(?![^.?!\n]{0,20}(?:wrong|incorrect))[^.?!\n]{0,40}\bp(?:in|uk)\b|"
    r"\bunlock\b[^.?!\n]{0,40}\b(?:with|using|by)\b[^.?!\n]{0,20}\bp(?:in|uk)\b"
)
TELECOM_NEGATED = re.compile(
    r"(?:n't|\b(?:not|never|avoid|no need|without|instead of|unable|have you|did you|were you)|"
    r"\b(?:human agent|specialist|technician)s? (?:can|will|to))\W+(?:\w+\W+){0,3}$"
)
ELSEWHERE = re.compile(
    r"\b(?:factory (?:reset|default|setting)|wip(?:e|ing) (?:the|your) (?:phone|device)|safe mode|"
    r"reset (?:\w+ )?network settings|clear(?:ing)? (?:\S+ ){0,3}cache|"
    r"(?:software|system|firmware|ios|android|carrier settings) updates?\b|"
    r"updat(?:e|ing) (?:the |your )?(?:phone|device|ios|android|software|operating system)\b|"
    r"(?:try|insert|test|put|pop|swap)\b[^.?!\n]{0,40}"
    r"(?:different|another|friend's) (?:phone|device|sim)\b|install the (?:latest|newest) update|"
    r"(?:un|re-?)install\w* (?:\S+ ){0,3}app\b|visit (?:\w+ ){0,3}store|"
    r"(?:contact|visit|ask|call|see|at) (?:\w+ ){0,3}"
    r"(?:manufacturer|apple|samsung|service cent(?:re|er)|repair shop))"
)


TELECOM_CLAIMS = {
    "refuel_data": claim("added|refuel+ed|applied", "gb|gigs?|gigabytes?|data to|more data"),
    # "on your phone" is what the user did
    "enable_roaming": claim("enabled|activated|turned on", "roaming", "phone|device|setting"),
    "resume_line": claim("resumed|reactivated|restored|lifted|unsuspended", "line|suspension"),
    "send_payment_request": claim("sent|issued", "payment request"),
    "change of plan": claim("changed|switched|upgraded|moved", "plan"),
}
FIGURE = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])")
USED = re.compile(r"\bus(?:e|ed|age)\b|consum")
MMS = re.compile(
    r"\bmms\b|\b(?:send|receiv)\w*[^.?!]{0,30}(?:picture|photo|image|media)|"
    r"(?:picture|photo|media|group) (?:text|mess)"
)
SERVICE = re.compile(
    r"\bservice\b|signal|\bcalls?\b|calling|network|\bbars\b|\bsim\b|connect|\bline\b|suspend"
    r"|\bphone (?:is|does|won|has|can|stop|not)|roam"
)
INTERNET = re.compile(r"internet|mobile data|\bdata\b|brows|speed|slow|online")
GUIDES = re.compile(
    r"status bar|air ?plane|re-?start|re-?boot|speed test|\bsim\b|toggle|\bapn\b|\bvpn\b|"
    r"data saver|network (?:status|mode|setting)|check_|run_"
)

# Banking
SAYS_NO = re.compile(r"no\b(?! (?:problem|worries|need))|please don't|don't|do not|stop\b")
TURNS_DOWN = re.compile(
    r"(?:don't|do not|not) (?:want|wish|proceed|now|do)|never ?mind|chang\w{1,4} my mind|"
    r"rather not|second thought|\bleave (?:it|that|everything)|\bcancel (?:it|that|this)|"
    r"\bhold off|\bkeep it"
)
# The words for an action in a question whether to take it, by the first word of its tool.
BANK_ACTS = {
    **{"open": re.compile(r"\bopen"), "close": re.compile(r"\bclos|\bcancel")},
    **{"freeze": re.compile(r"\bfreez"), "unfreeze": re.compile(r"\bunfreez")},
    **{"transfer": re.compile(r"\b(?:mov|transfer)"), "pay": re.compile(r"\bpay")},
    **{"file": re.compile(r"\bdisput"), "change": re.compile(r"e-?mail|\bpin\b")},
    "order": re.compile(r"\border|\bnew card|\breplac|\breissu"),
    "submit": re.compile(r"\brequest|\blimit|\bincreas"),
}
BANK_CLAIMS = {
    "open_bank": claim("opened", "account"),
    "freeze_debit": claim("frozen", "cards?"),
    "order_": claim("ordered|dispatched|shipped", "replacement|new card|cards?"),
    "dispute": claim("filed|submitted", "disputes?"),
}
US = re.compile(r",\s*[A-Z]{2}(?:\s+\d{5}(?:-\d{4})?)?\s*$")
