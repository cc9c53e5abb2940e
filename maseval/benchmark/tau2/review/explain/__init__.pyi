from maseval.benchmark.tau2.domains.domain import ABSENT as ABSENT
from maseval.benchmark.tau2.review.explain.evidence import AssertionEvidence as AssertionEvidence
from maseval.benchmark.tau2.review.explain.evidence import CheckSummary as CheckSummary
from maseval.benchmark.tau2.review.explain.evidence import (
    CommunicationEvidence as CommunicationEvidence,
)
from maseval.benchmark.tau2.review.explain.evidence import Quote as Quote
from maseval.benchmark.tau2.review.explain.evidence import ReplayFault as ReplayFault
from maseval.benchmark.tau2.review.explain.explanation import Explanation as Explanation
from maseval.benchmark.tau2.review.explain.explanation import explain as explain
from maseval.benchmark.tau2.review.explain.repair import CallChange as CallChange
from maseval.benchmark.tau2.review.explain.repair import Repair as Repair
from maseval.benchmark.tau2.review.explain.snapshot import FieldPlace as FieldPlace
from maseval.benchmark.tau2.review.explain.tracing import CallAt as CallAt
from maseval.benchmark.tau2.review.explain.tracing import Divergence as Divergence
from maseval.benchmark.tau2.review.explain.tracing import WrongField as WrongField
