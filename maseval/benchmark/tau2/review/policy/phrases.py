"""Phrases: the regular expressions by which rules read what is said, for all domains.

They are English, as the policies and the personas are, and read texts that ``talk`` has normalised.
None of them decides by itself: each supports a rule that also looks at calls and records.
"""

import re

from maseval.benchmark.tau2.domains.airline.tools import NOW
from maseval.benchmark.tau2.review.words import MONTHS, UNWANTED

AMOUNT = re.compile(r"\$(\d+(?:\.\d+)?)")
# Money that is given back, or taken, in the words of all domains.
MONEY_BACK = (
    r"refund(?:ed|s)?|reimburse(?:d|ment)?|repa(?:id|yment)|re-?credit(?:ed)?|credited"
    r"|(?:come|go|flow)(?:es|s|ing)? back|(?:sent|paid|put|given|transferred|get|getting) back"
)
MONEY_TAKEN = (
    r"charge[ds]?|debit(?:ed)?|levied|deduct(?:ed|ion)|withdrawn|billed|surcharge|payable"
    r"|(?:taken|collected|drawn) from"
)
# "$20 on the Visa", "$20 -> paypal": an amount on its way to or from a payment method.
_MOVES = (
    r"\$[\d.]+ [^.$\n]{0,25}?(?:\b(?:on|onto|to|into|from|off|via)|->) (?:\w+ ){0,3}"
    r"(?:\w+_)?(?:card|mastercard|visa|amex|paypal|gift)(?![a-z])"
)
# The signs behind what is done.
TICKS = "\u2705\u2714\u2611"

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
# Asks if something was understood, to which a yes agrees to nothing.
UNDERSTOOD = re.compile(
    r"\b(?:does|did|do) (?:that|this|it|you) (?:all )?(?:clear|answer|help|make sense|explain"
    r"|understand)|\bis (?:that|this|it|everything) (?:all )?clear\b|\bhave i answered\b"
)
# Statements
CHEAPEST = re.compile(
    r"(?<!not the )(?<!n't the )\b(?:cheapest|lowest(?:[- ]\w+){0,2}[- ](?:price|fare|cost)s?"
    r"|lowest(?:-?priced| of|[ -]in[ -]stock|(?= at \$|[.,!]|$))|costs? the least|the least of"
    r"|least expensive|best (?:price|deal|value|rate)|saves? (?:you )?the most|most affordable"
    r"|(?:no(?:thing|ne)?|not a|n't) (?:[\w-]+ ){0,6}(?:undercuts?|beats?|(?:costs? )?less than"
    r"|cheaper than|lower than))\b"
)
LIMITS_CHOICE = re.compile(
    r"\b(?:(?<!day )(?:after|before)|(?<!good )(?:mornings?|afternoons?|evenings?|nights?)|fits?"
    # not "May twenty-second" or "registered under my name"
    rf"|match\w*|meets?|suits?|(?<!ty[ -])second(?! (?:of )?(?:{'|'.join(MONTHS)})\b)|next"
    rf"|criteria|requirements?"
    r"|within|under(?! \S{0,60}[@_#]| (?:(?:the|my|your|this|that) )?(?:name|user|id|account"
    r"|profile|e-?mail|mail|reservation|booking|order|number)\b)|at least|no more than|later"
    r"|earlier|except)\b"
)
UNAVAILABLE = re.compile(
    r"\b(?:sold out|oos\b|fully booked|booked (?:up|solid|out)|out of stock|unavailable"
    r"|no (?:longer|more) (?:available|have|in stock|on sale|obtainable|to be had)|discontinued"
    r"|all out of|(?:none|nothing) (?:\w+ )?left|r[au]n out"
    r"|(?:not|\w+n't) (?:have )?an?y? (?:[\w-]+ ){1,3}left"
    r"|(?:not|\w+n't) (?:currently |in fact |be )?(?:available|in stock|booked|ordered)"
    r"|(?:not|\w+n't) have (?:any (?:\w+ )?seats?|(?:the |item )?\w*\d{3,})|temporarily out"
    r"|no (?:more |free |open )?(?:\w+ )?(?:seats?|room)"
    r"|no availability|no (?:basic )?(?:economy|business)"
    r"|(?:is|are|been) (?:all )?(?:gone|taken(?! (?:care|from|off))|sold(?: out)?)"
    r"|not in (?:right now|at the moment)|all (?:are |were )?taken"
    r"|full\b(?![ -](?:size|refund|price)))"
)
AVAILABLE = re.compile(
    r"^(?!.*\b(?:not|no|only|was|current|original)\b)(?!.*(?:n't|unavail|sold|out of))[^?]*?"
    r"\b(?:(?:is|are|'s) (?:currently |also |still )?(?:available|in stock)"
    r"|available (?:options?|items?|variants?|replacements?|choices))\b"
)
ALL_OF_THEM = re.compile(r"\b(?:both|all|neither|none)\b")
ONLY = re.compile(r"\bonly\b(?! be\b| one\b| once\b| the pend)")
CHOICE = re.compile(r"\b(?:which|prefer|rather|or the)\b(?:[^.!?\n]|\.\d){0,200}\?")
SUPPOSES = re.compile(r"\?|\b(?:if|once|unless|when|whether|until|except|other|others|but)\b")
# An amount or a payment in such a sentence may not be the one that is meant.
SUPPOSED = re.compile(
    # not "if you agree" or "if that is fine"
    r"\b(?:if(?! (?:you|that|this|it|all|everything)(?:'re|'s|'d| are| is)? (?:still )?(?:keen"
    r"|happy|ok|okay|fine|ready|good|right|correct|agree|want|wish|like|confirm|approve)\b)"
    r"|unless|otherwise|either|depending|in case)\b"
)
BAG_WORD = r"(?:bag(?!el)(?:gage)?|luggage|suitcase|duffel|holdall|rucksack|backpack)"
_BAGS = rf"{BAG_WORD}s?\b"
_FALLS_DUE = r"(?:(?:is|are|will|be|applies|apply|levied|charged|due|payable|asked|billed) ){0,3}"
BAG_FEE = re.compile(
    rf"\$(\d+(?:\.\d+)?),? {_FALLS_DUE}(?:per|for (?:each|every|any)|each|a|apiece)\b"
    rf"[^.$\n]{{0,30}}\b{_BAGS}"
    rf"|\b(?:per|each|every|any|an? (?:extra|additional|further)) (?:\w+ ){{0,5}}{_BAGS}"
    r"(?:(?!insurance|passenger|\bor\b|\band\b)[^.$\n]){0,40}\$(\d+(?:\.\d+)?)(?! (?:in )?total)"
    rf"|\b(?:extra|additional) {_BAGS}[^.$\n]{{0,25}}\$(\d+(?:\.\d+)?) (?:each|apiece|per)\b"
    rf"|{_BAGS} (?:(?:is|are|comes?|go(?:es)?) )?free\b[^.$\n]{{0,40}}"
    r"\b(?:second|third|fourth|next) one (?:would be|is|comes to|costs?) \$(\d+(?:\.\d+)?)"
)
ADDS = re.compile(
    rf"\b(?:add|extra|additional|more|another)[^.\n]{{0,25}}\b{BAG_WORD}"
    rf"|\b{BAG_WORD}s?\b[^.\n]{{0,12}}\b(?:more|extra|added)"
)
NTH_BAG = re.compile(rf"\b(second|third) (?:one\b|(?:\w+ )?{BAG_WORD})")
NEW_COUNT = re.compile(
    rf"(?:{_BAGS} to|\bfr(?:om|ae) (?:none|zero|one|two|three|\d)(?: {_BAGS})? t(?:o|ae)"
    r"|\bbrings? (?:\w+ ){1,2}to|\bmake (?:it|that)"
    r"|\b(?:so|mak(?:es|ing)|that's|is now|will be|you'll have)) "
    r"(\d|one|two|three|four|five|six)\b(?! (?:free|passenger|people))"
)
FORMER_COUNT = re.compile(
    r"\b(?:from )?\d ?(?:->|to) ?(?=\d\b)|\b(?:has|have) \d(?=[^\n\d]{0,30}\bwith \w+ more\b)"
)
BAG_COUNT = re.compile(
    rf"\b(\d|one|two|three|four|five|six) (?:(?!to |\d)[\w-]+ ){{0,3}}{_BAGS}"
    rf"|\b{_BAGS}[^.\d\n$]{{1,30}}(\d)\b(?!\d)"
)
# Of bags, where they alone are spoken of: "two altogether".
IN_ALL = re.compile(rf"{_BAGS} (?:altogether|in (?:total|all)|overall|all told)\b")
COUNT_IN_ALL = re.compile(
    r"(?<![$.\d])\b(\d|one|two|three|four|five|six)(?: (?:altogether|in (?:total|all)|overall"
    r"|all told)\b|(?<=more it has \d)\b)"
)


# Airline
WANTED = re.compile(
    r"\b(?:comp(?:en|\b)|reimburs|travel credit|credit for|goodwill|make (?:it|this) up|make up for"
    r"|(?:want|get|deserve|expect|like) something\b"
    r"|some(?:thing| kind of)[^.!?]{0,60}(?:for (?:the|this|my)|in return)|owe|gesture"
    r"|what (?:can|will|are) you (?:do|going to do|offer))"
)
MAYBE_WANTED = re.compile(
    r"\b(?:refund|money back|certificate|voucher|due\b(?! to (?!me|us))|deserv|entitl"
    r"|(?<!all that is )(?<!all i )expect|mak\w+ .{0,20}right|what (?:do|can|will|would|could|are"
    r"|is) (?:i|you|we|there|going)\b|trouble|do about)"
)
OFFERS = re.compile(
    r"\b(?:offer|provide you|issue|send|give|can do|eligible for|entitled to|qualif"
    r"|arrange)[^.!?\n]*"
    r"\b(?:compensation|(?:travel |\$ ?\d+ )?(?:certificate|voucher)s?)\b"
    r"|\bas (?:a )?compensation\b|\bgesture of (?:goodwill|apology)|\bas a (?:goodwill )?gesture"
    r"|\bmake (?:it|this|that) up to you\b"
    r"|\b(?:compensation|certificate|voucher)s?\b(?:[^.!?\n]|\.\d){0,60}\b(?:can|could|may|will"
    r"|would|shall|is|are) (?:\w+ )?(?:be )?(?:offered|issued|sent|provided|granted|given)\b"
)
# "Certificate $300, want it?"
OFFERS_BRIEFLY = re.compile(
    r"\b(?:(?:certificate|voucher|compensation)\b[^.!?\n$]{0,20}\$\d+|\$\d+ (?:\w+ )?(?:certificate"
    r"|voucher|compensation)\b)[^.!?\n]{0,20}[.,!\n -]{1,3}(?:(?:would|do|are|shall|should|u|you"
    r"|i) ){0,3}(?:want|like|accept|take|interested|send|ok|okay|good)\b[^?\n]{0,20}\?"
)
REFUSES_IT = re.compile(
    r"\b(?:not|n't|cannot|unable|no|only|unfortunately)\b[^.!?\n]{0,60}"
    r"\b(?:compensat|certificate|voucher|offer)|\bpay(?:ment|ing)?\b"
)
COVERED = re.compile(
    r"\b(?:sick|ill(?:ness)?|health|medical|doctor|hospital|surgery|injur|pregnan|unwell|covid|flu"
    r"|fever|disease|operation|diagnos|broke (?:my|his|her)|weather|storm|hurricane|snow|blizzard"
    r"|physician|clinic|pneumon|bronchit|infect|virus|cancer\b|heart attack|stroke\b|fractur"
    r"|symptom|vomit|food poison|flood|tornado|typhoon|under the weather|(?:not|n't"
    r"|not been) feel(?:ing)? (?:\w+ )?(?:well|good|great|up to))"
)
# What a user tells beside the reasons that insurance covers.
NOT_COVERED = re.compile(
    r"\b(?:(?:chang\w+|new|other|different) (?:\w+ )?plans?|plans? (?:\w+ )?chang|chang\w+ (?:of"
    r"|my|our) (?:plan|mind)|cheaper|too expensive|driv(?:e|ing)|work\b|boss|meeting|conference"
    r"|interview|postpone|relocated|called off|organi[sz]er|(?:by|the|a) (?:train|bus|car)\b"
    r"|wedding|christening|no (?:point|sense)\b|mistake|instead|schedul|no longer (?:need|want)"
    r"|(?:not|n't) (?:need|want)|better (?:fare|price|deal|flight)|give up (?:my|your) seat)"
)
# Said of a reservation, and not as one of the conditions of the policy.
WITHIN_A_DAY = re.compile(
    r"\b(?:(?:since|because|as) (?:the|your|this|it)|which is|it (?:is|was|falls)"
    r"|your (?:reservation"
    r"|booking|flight)|this (?:reservation|booking|means)|was (?:created|made|booked) (?:on|at))\b"
    r"[^!?\n]{0,200}\bwithin (?:the |our )?(?:last |past )?24[ -]?hour"
)
LISTS_A_DAY = re.compile(
    r"\b(?:not|no|if|unless|only|whether|must|either|or|any|ago|more|outside|beyond|would)\b"
    r"|n't|\?|\u274c"
)
RESERVATION, MADE_AT = (
    re.compile(r'"reservation_id": "(\w+)"'),
    re.compile(r'"created_at": "([^"]+)'),
)
OTHER_REQUEST = re.compile(
    r"\b(?:book(?! (?:on|at|by|more|in))(?!ed|ing\b(?! (?:an?|new|one|another)\b))"
    r"|bags?|luggage|upgrad|downgrad|passengers?|compensat"
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
CANCEL = re.compile(r"\bcancel|\brefund|\bannul|\bcall\w{0,3} off\b")
ASKS_WHY = re.compile(r"\b(?:reasons?|why|what (?:made|led|changed|happened|prompted)|how come)\b")
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
    r"(?:\b(?:no|not|without|skip|decline|zero|neither|0(?! to \d))\b|n't\b)"
    r"(?:(?!extra|additional|more|charge|fee|cost|free|with )[^.!?;,\n]){0,60}\b"
)
NO_INSURANCE = re.compile(
    rf"{DECLINED}insurance|\b(?:leave|keep|take) (?:the |my )?insurance (?:off|out)\b"
    r"|\binsurance,? (?:i |we |is |it's )?(?:don't|do not|not|isn't|no thanks|unnecessary)\b"
    rf"|\binsurance\b[^.!?;,\n]{{0,30}}?\b{UNWANTED}|\binsurance\W{{1,3}}[\u274c\u2716]"
)
NO_BAGS = re.compile(
    rf"{DECLINED}{_BAGS}|\b{_BAGS}[^.!?;,\n]{{0,30}}?\b{UNWANTED}"
    r"|\b(?:hand luggage|carry[- ]on|hand ?bag)s? only\b"
    r"|\bonly (?:\w+ )?(?:hand luggage|carry[- ]on)"
)
INSURANCE = re.compile(r"ins(?<!\wins)(?:ur|\b)")
COVER = re.compile(r"\b(?:cover|protect|polic(?:y|ies)\b)\w*|\$30\b")
BAG = re.compile(r"bag(?<!\wbag)|luggage|suitcase|duffel|holdall|rucksack")
# In a proposal: "Travel insurance: No".
LISTED_INSURANCE = re.compile(r"insurance[*_\s]*:[*_\s]*(yes|no)\b")
OWN_FLIGHT = re.compile(r"HAT(?<!\wHAT)\d{3}\b")
FLIGHT = re.compile(r"[A-Z](?<!\w.)[A-Z]{1,2}\d{3}\b")
# A day of the airline's year: birthdays are in others.
DATE = re.compile(
    rf"{NOW[:4]}-\d\d-\d\d|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*"
    rf" \d{{1,2}}(?:st|nd|rd|th)?\b(?!,? (?!{NOW[:4]})\d{{4}})"
)

# Retail
DONE = (
    r"(?:process|refund|issu|charg|credit|appli|cancel|complet|updat|exchang|modifi|initiat|debit"
    r"|deduct|effect|return|reimburs|collect|levi|execut)\w*ed|(?:taken|sent|paid) (?:from|back|to)"
)
REPORTS_DONE = re.compile(rf"\b(?:has|have|had|was|were) (?:\w+ ){{0,3}}{DONE}\b|\band refunded\b")
GIVES_BACK = re.compile(rf"\b(?:refund|receive|returned to|{MONEY_BACK})")
TAKES = re.compile(
    r"\b(?:goes on (?:the|your|\w+_)|charg|pay(?!pal|ment)|additional|extra|owe|due|cost"
    rf"|{MONEY_TAKEN})"
)
OF_A_CHANGE = re.compile(
    rf"\b(?:diff|additional|extra|refund|charg|owe|pay(?!pal|ment)|{MONEY_BACK}|{MONEY_TAKEN})"
    rf"|\$ ?[\d.,]+ (?:more|less|cheaper|back)|{_MOVES}"
)
OF_A_REFUND = re.compile(
    rf"\b(?:refund|receive|getting|coming|you(?:'ll| will) see|{MONEY_BACK})"
    rf"|\$ ?[\d.,]+ (?:(?:\S+ )?back|in (?:total|all))|= ?\$|{_MOVES}"
)
# An amount right behind these is what will be moved, even if it is also a price.
MOVED = re.compile(
    rf"\b(?:diff|refund|charg|pay(?!pal|ment)|{MONEY_BACK}|{MONEY_TAKEN})\w*(?: \w+){{0,3}}"
    r":? ?[-+]?\$? ?$"
)
GIFT_CARD = re.compile(r"gift[- ]?card")
CARD = re.compile(r"\b(?:credit|debit|my|the|your|that|this|same|original|visa|master) ?cards?\b")
CREDIT_CARD = re.compile(r"\b(?:credit|debit) ?cards?\b")
# A payment method may be meant that is not understood.
OF_PAYMENT = re.compile(r"\b(?:card|wallet|(?:paid|pay(?:s|ing|ment)?)\b(?! *[?.,$]))\b")
ENDING = re.compile(r"\bcard (?:\w+ ){0,3}ending (?:in|with) (\d{4})\b")
ORIGINAL = re.compile(
    r"\b(?:original|same|initial)(?:ly)? (?:\w+ )?(?:payment|method|card|account|form|way|visa"
    r"|mastercard|paypal)|payment method (?:you )?(?:\w+ )?used|used (?:for|to pay|in|on|when)"
    r"|(?:paid|bought|purchased) (?:\w+ )?with|(?:originally|previously) (?:paid|used)"
)
INSTEAD = re.compile(
    r"\b(?:inste?ad of|rather than)[^.,;!?\n]*"
    r"|\bnot (?:(?:on|to|with|from|via|the|your|my|card|one|ending|in) ){0,5}(?:\d{4}|paypal)\b"
)
ON_FILE = re.compile(r"\bon (?:file|record|your account|your profile)|existing payment")
OTHER_REASON = re.compile(
    r"\b(?:cheaper|afford|expensive|too (?:long|late|slow|much)|delay|financ|better (?:deal|price)"
    r"|(?:price|money|budget) (?:drop|problem|trouble|issue)|lost my job|out of money)"
)
# Of all items, of further ones, or of the only chance.
REMINDS = re.compile(
    r"\b(?:all|any|other|more|additional|further|every|each|complete|only|else)\b[^.?!\n]{0,60}"
    r"\b(?:item|product|article|thing|chang|modif|exchang)|\b(?:only|just) (?:\w+ ){0,4}once\b"
)
EVERYTHING = re.compile(
    r"\b(?:all|everything|both|entire|whole|every|each|them|these|those|rest|other)\b"
)
STAYS = re.compile(r"\b(?:stays?|keeps?|remains?) (?:with you|as|where|in the order)|\bstays?\.?$")
WHOLE = re.compile(r"\b(?:all(?! good| right| set)|everything|entire|whole|every|rest|other)\b")
NO_WORD = re.compile(r"[^a-z0-9]+")
ALL_ZEROS = re.compile(r"\D0{5,}$")
ORDER_ID = re.compile(r"\bw\d{7}\b")
ZIP = re.compile(r"(?<![\w#$.-])\d{5}(?![\w.-])")
SUITE = re.compile(r"\b(?:suite|apt\.?|apartment|unit|floor|room) #?(\d{1,5})\b")
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
NUMBER = re.compile(r"[0-9]\d\d(?<!\d\d{3})\)?[\s.,-]{0,2}\d{3}[\s.,-]{0,2}\d{4}(?!\d)")
ALL_LINES = re.compile(r"\b(?:all|both|every|each)\b[^.?!]{0,20}\blines?\b")
TRAVELS = re.compile(
    r"abroad|travel|t(?<!\wt)rip\b|overseas|outside|foreign|vacation|holiday|visiting|france|"
    r"\bi(?:'m| am|m) in (?:italy|spain|germany|portugal|greece|england|ireland|canada|mexico|japan"
    r"|china|india|brazil|australia|turkey|thailand|europe|asia)\b|"
    r"c(?:(?<=other c)|(?<=different c))ountry|airport|cruise"
)
KNOWS_ABROAD = re.compile(
    r"\b(?:as|since|because|while|given that|now that) you(?:'re| are) (?:\w+ )?"
    r"(?:abroad|travell?ing|overseas|outside)\b"
)
AT_HOME = re.compile(r"\bat home\b|\bhome (?:network|area|country)\b|\bnot (?:\w+ )?travel")
GB = re.compile(
    r"(?<![\w.$])(\d+(?:\.\d+)?|one|two|three|four|five|half|a|single)[ -]*"
    r"(?:(?:more|additional|extra|full|whole|a) )?(?:gb|gigs?|gigabytes?)\b"
)
# "One and a half gigs", "a gig and a half"
HALF = re.compile(
    r"\b(\d|an?|one|two|three|four)( gb| gigs?| gigabytes?)? ?(?:and a half|1/2|\u00bd)(?!\w)"
)
BARE_NUMBER = re.compile(r"(?:just |only )?(\d(?:\.5)?|one|two|three)(?:,? please)?[.!]?")
ALL_OF_IT = re.compile(r"\b(?:max(?:imum)?|full amount|as much as|most (?:you|i|that)|both)\b")
DATA = re.compile(r"\brefuel|\btop[ -]?up|\bmore data|\badd\w* (?:\S+ ){0,8}?(?:data|gb|gigs?)\b")
EACH = re.compile(
    r"^\W{0,3}(?:each\b|apiece|(?:/|per|a|each|for (?:each|every|one|1))? ?(?:gb|gig))"
)
EACH_GB = re.compile(r"(?:/|\bper|\beach|\bevery|\ba) ?(?:gb|gig)|\brate\b")
IF_NEEDED = re.compile(r"\bwilling\b|\bif (?:it is |it's )?(?:necessary|needed|required)")
PER_MONTH = re.compile(r"^\W{0,3}(?:/ ?|per |a |each )?month")
OF_DATA = re.compile(r"refuel|top[ -]?up|gb\b|\bgig|\bdata\b")
# What no remedy of the phone is for.
OTHER_MATTER = re.compile(
    r"\b(?:reimburs|refund|invoice|compensat|money back|dispute|another carrier|(?:old|new) number"
    r"|puk\b|locked)"
)
OF_COST = re.compile(r"cost|charge|total|price|\brate\b|\bfee\b")
OF_A_PLAN = re.compile(r"\bplans?\b|switch|upgrad|month")
OF_A_BILL = re.compile(r"overdue|outstanding|past due|bill (?:of|for|amount|total)|amount due")
# A journey may be meant: "landed in lisbon", not "in touch" or "in resolving it".
MAY_TRAVEL = re.compile(
    r"\b(?:in|into|across|from|near|around) (?!\w+ing\b|(?:the|my|an?|this|that|it|your|our|one"
    r"|all|any|some|touch|airplane|case|just|like|order|advance|settings?|mind|fact|general|total"
    r"|need|trouble|time|use|place|what|here|there|home|now|good|united|us|america)\b)[a-z]{2,}"
    r"|honeymoon|landed|\bflew\b|\bflown\b|\bcountry\b|border|hotel|(?<!right )\baway\b"
)
MAY_ASK_TRAVEL = re.compile(r"\bcountry\b|\bwhere(?:abouts)? (?:are|you)|(?<!right )\baway\b")
SUSPENDS = re.compile(r"suspend|pause|stolen|\blost\b|deactivat")
ENDS_ROAMING = re.compile(
    r"\b(?:disabl|turn\w* off|switch\w* off|deactivat|stop|cancel|remov|without)[^.?!]{0,30}roam|"
    r"\b(?:want|like|need|please)[^.?!]{0,30}roaming[^.?!]{0,15}\b(?:off|disabled|removed)"
)
# A change that may be meant, of a line and of its roaming.
MAY_SUSPEND = re.compile(
    r"\b(?:freez|block|shut|disconnect|cancel|clos|swip|robbed|nicked|theft|thief|missing|mislaid)"
    r"|\bon hold\b|\bcut off\b|\bput (?:\w+ ){1,3}to sleep"
)
MAY_END_ROAMING = re.compile(
    r"\broam\w{0,4}\b[^.?!]{0,40}\b(?:off|away|gone|closed|blocked)\b"
    r"|\b(?:no|not|don't|without|take|kill|end|shut|cut|rid|block|drop)\b[^.?!]{0,40}\broam"
)
COMPLAINS = re.compile(
    r"n't\b|\b(?:not|no|still|slow|issue|problem|error|fail\w*|unable|cannot|frustrat\w*|help|"
    r"what (?:else|should|now|next))\b"
)
WHO = re.compile(r"\b(?:number|name|birth|account|customer id|identi\w+|verify)\b")
PIN = re.compile(
    r"\b(?:enter|input|type|try|put|pop|key|supply|provide|give)\b"
    r"(?![^.?!\n]{0,20}(?:wrong|incorrect))[^.?!\n]{0,40}\bp(?:in|uk)\b"
    r"|\bunlock\b[^.?!\n]{0,40}\b(?:with|using|by)\b[^.?!\n]{0,20}\bp(?:in|uk)\b"
    r"|\b(?:with|using) \d{4}\b[^.?!\n]{0,30}\bpin\b"
    r"|(?<!wrong )(?<!incorrect )\bp(?:in|uk)\b[^.?!\n]{0,30}\bbe (?:\w+ )?"
    r"(?:entered|typed|tried|keyed|input|supplied)\b(?! (?:by an?|wrong|incorrect))"
)
TELECOM_NEGATED = re.compile(
    r"(?:n't|\b(?:not|never|avoid|no need|without|instead of|unable|have you|did you|were you)|"
    r"\b(?:human agent|specialist|technician)s? (?:can|will|to))\W+(?:\w+\W+){0,3}$"
)
_SOFTWARE = "(?:software|system|firmware|ios|android|operating system|os)"
ELSEWHERE = re.compile(
    r"\b(?:factory (?:reset|default|setting|state|condition)|safe mode|(?:take|pull"
    r"|remov)\w* (?:\S+ ){0,2}battery|"
    r"(?:wip|eras)(?:e|ing) (?:the|your) (?:phone|device)|reset (?:\w+ )?network settings|"
    r"(?:clear|empty|delet|flush|purg|wip|eras)(?:e|ing)? (?:\S+ ){0,3}cache|"
    rf"(?:{_SOFTWARE}|carrier settings) (?:updates?|upgrades?)\b|"
    rf"(?:updat|upgrad)(?:e|ing) (?:the |your )?(?:\w+'s )?(?:phone|device|{_SOFTWARE})\b|"
    r"(?:latest|newest|new|current|recent) (?:version|release|build)s? of (?:\w+ ){0,2}"
    rf"{_SOFTWARE}\b|"
    rf"(?:phone|device|{_SOFTWARE}) up to date\b|"
    r"(?:try|insert|test|put|pop|swap)\b[^.?!\n]{0,40}(?:different|another|friend's) (?:phone"
    r"|device|sim)\b|install the (?:latest|newest) update|(?:un|re-?)install\w* (?:\S+ ){0,3}app\b"
    r"|visit (?:\w+ ){0,3}store|(?:contact|visit|ask|call|see|at) (?:\w+ ){0,3}(?:manufacturer"
    r"|apple|samsung|service cent(?:re|er)|repair shop))"
)

FIGURE = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?=gb|gig|[^\w-]|$)")
# "56 a month", also without the currency
MONTHLY = re.compile(r"\b(\d{2,3}(?:\.\d\d)?)(?: ?/ ?| a | per | each | every )mo(?:nth)?\b")
# "$75, that is what the plan costs monthly"
COSTS_MONTHLY = re.compile(
    r"\bwhat (?:\w+ ){1,4}(?:costs?|pay|is|charged?)[\w ]{0,12}\b(?:monthly|(?:per|a) month)"
)
USED = re.compile(r"\bus(?:e|ed|age)\b|consum|\d ?(?:gb|gig)")
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
