"""Retail: an online shop whose assistant looks up, changes, returns and exchanges orders.

After tau2-bench v0.2.0, src/tau2/domains/retail/ (MIT, Sierra Research).
"""

import re
from dataclasses import replace

from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.domains.late_rules import LateRules
from maseval.benchmark.tau2.domains.open_choices import OpenChoice, payment_choice
from maseval.benchmark.tau2.domains.retail.models import *  # noqa: F403  # the records, as in MASEval
from maseval.benchmark.tau2.domains.retail.models import RetailDB
from maseval.benchmark.tau2.domains.retail.permanence import PERMANENCE
from maseval.benchmark.tau2.domains.retail.release_tools import (
    FaultyItemRetailTools,
    ItemRetailTools,
    LenientFaultyItemRetailTools,
    LenientItemRetailTools,
    LenientRetailTools,
)
from maseval.benchmark.tau2.domains.retail.tool_groups import CANCEL, OF_ITEMS, REPLACING
from maseval.benchmark.tau2.domains.retail.tools import RetailTools

CHOICES = (
    payment_choice("payment_method_id", *OF_ITEMS),
    OpenChoice("items", "item_ids", REPLACING, unordered=True, beside=("new_item_ids",)),
    OpenChoice(
        *("reason", "reason", (CANCEL,)),
        settled_by=re.compile(r"mistake|accident|no longer|\bneed|\breason", re.IGNORECASE),
    ),
)

RETAIL = Domain(
    name="retail",
    db=RetailDB,
    toolkit=RetailTools,
    lenient_toolkit=LenientRetailTools,
    solo_refusal="Retail domain does not support solo mode",
    rules=LateRules("retail.rules"),
    choices=CHOICES,
    permanence=PERMANENCE,
)

RETAIL_WITH_ITEMS = replace(RETAIL, toolkit=ItemRetailTools, lenient_toolkit=LenientItemRetailTools)
RETAIL_WITH_FAULTY_ITEMS = replace(
    RETAIL, toolkit=FaultyItemRetailTools, lenient_toolkit=LenientFaultyItemRetailTools
)

__all__ = ["RETAIL", "RETAIL_WITH_FAULTY_ITEMS", "RETAIL_WITH_ITEMS", "RetailDB", "RetailTools"]
