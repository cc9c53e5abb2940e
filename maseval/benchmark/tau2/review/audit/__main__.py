"""``python -m maseval.benchmark.tau2.review.audit`` prints the page of findings.

A domain and a release may be named: ``… banking_knowledge 1.0.1``.
"""

import sys

from maseval.benchmark.tau2.data.files import DEFAULT_VERSION
from maseval.benchmark.tau2.review.audit.auditing import audit, document

if __name__ == "__main__":
    domain, version = (*sys.argv[1:3], None, None)[:2]
    print(document(audit(domain, version=version), version or DEFAULT_VERSION), end="")
