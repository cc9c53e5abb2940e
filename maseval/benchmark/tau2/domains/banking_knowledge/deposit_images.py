"""Pictures that the bank's machines took of deposits: literal results of one tool.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

from maseval.benchmark.tau2.domains.banking_knowledge.desk import refuse_if
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row

_HEAD = """\
ATM Deposit Image Retrieval Results
=====================================
Transaction ID: {id}
ATM: {atm}
Deposit Date: {date}
"""

_SCAN = """

=== ATM DEPOSIT ENVELOPE SCAN ===
Envelope ID: {envelope}
Deposit Time: {time}
"""

_DISCREPANCY = """\
ATM Location: Rho-Bank {atm}, {place}

--- ENVELOPE CONTENTS ---
Item 1: Personal Check
  - Check Number: {check}
  - Drawn On: {bank}
  - Payee: {payee}
  - Amount: $875.00
  - Memo: "October rent refund"
  - Signature: Present and legible
  - Date on Check: {written}

Item 2: Cash
  - Denomination breakdown:
    * 2 x $100 bills = $200.00
    * 3 x $20 bills = $60.00
  - Total Cash: $260.00

--- DEPOSIT SUMMARY ---
Check Total: $875.00
Cash Total: $260.00
GRAND TOTAL: $1,135.00

--- MACHINE RECORD ---
Amount Recorded by ATM: $385.00
DISCREPANCY DETECTED: $750.00 difference

--- IMAGE QUALITY ---
Envelope scan: CLEAR
Check front: CLEAR
Check back (endorsement): CLEAR - endorsed "For Deposit Only - {payee}"
Cash image: CLEAR - bills visible and countable


--- VERIFICATION NOTES ---
Images clearly show deposit contents totaling $1,135.00. ATM machine recorded only $385.00. \
Discrepancy of $750.00 confirmed via image review.
"""

_NO_DISCREPANCY = """
--- ENVELOPE CONTENTS ---
Item 1: Personal Check
  - Check Number: {check}
  - Amount: $500.00

--- DEPOSIT SUMMARY ---
Check Total: $500.00
Cash Total: $0.00
GRAND TOTAL: $500.00

--- MACHINE RECORD ---
Amount Recorded by ATM: $500.00
No discrepancy detected.


--- VERIFICATION NOTES ---
Images confirm deposit matches recorded amount. No discrepancy found.
"""

_NOT_AVAILABLE = """\
Amount Recorded: ${amount}

--- IMAGE STATUS ---
Status: IMAGES NOT AVAILABLE
Reason: Deposit images for this transaction have either expired (older than 90 days) or were not \
captured by the ATM system.

For deposits without available images, the dispute will proceed based on customer statement and \
ATM journal records only. Investigation timeline may be extended.
"""

_IMAGES = {
    "btxn_834027370c20": (
        _HEAD + _SCAN + _DISCREPANCY,
        {
            "atm": "ATM #3921",
            "envelope": "ENV-2025-3921-00923",
            "time": "3:47 PM CST",
            "place": "Cedar Lane Branch, Austin, TX",
            "check": "7284",
            "bank": "First Texas Bank",
            "payee": "Derek Yamamoto",
            "written": "11/03/2025",
        },
    ),
    "btxn_test_deposit_001": (
        _HEAD + _SCAN + _DISCREPANCY,
        {
            "atm": "ATM #3921",
            "envelope": "ENV-2025-3921-00847",
            "time": "2:34 PM EST",
            "place": "742 Oak Avenue, Portland, OR",
            "check": "4821",
            "bank": "First National Bank",
            "payee": "Linda Patterson",
            "written": "11/05/2025",
        },
    ),
    "btxn_test_atm_dep_partial": (
        _HEAD + _SCAN + _NO_DISCREPANCY,
        {
            "atm": "ATM #5847",
            "envelope": "ENV-2025-5847-00293",
            "time": "10:15 AM EST",
            "check": "7392",
        },
    ),
}


def deposit_image(transaction_id: str, row: Row) -> str:
    """Describe the pictures of a deposit; refuse what is no deposit at one of our machines."""
    description = row.get("description", "")
    refuse_if(
        row.get("type") != "atm_deposit",
        f"Transaction '{transaction_id}' is not an ATM deposit. This tool only works "
        "for ATM deposit transactions.",
    )
    refuse_if(
        not any(name in description.upper() for name in ("RHO-BANK", "RHOBANK")),
        f"Transaction '{transaction_id}' is from a third-party ATM. Deposit images are "
        "only available for Rho-Bank ATM deposits. For third-party ATM disputes, a chargeback "
        "request must be submitted to the ATM network.",
    )
    date = row.get("date", "Unknown")
    if transaction_id in _IMAGES:
        text, values = _IMAGES[transaction_id]
        return text.format(id=transaction_id, date=date, **values)
    amount = f"{abs(row.get('amount', 0)):.2f}"
    text = _HEAD + _NOT_AVAILABLE
    return text.format(id=transaction_id, atm=description, date=date, amount=amount)
