"""``python -m maseval.benchmark.tau2.trust.audit`` prints the page of findings."""

from maseval.benchmark.tau2.data.files import DEFAULT_VERSION
from maseval.benchmark.tau2.trust.audit.auditing import audit
from maseval.benchmark.tau2.trust.audit.document import document

if __name__ == "__main__":
    print(document(audit(), DEFAULT_VERSION), end="")
