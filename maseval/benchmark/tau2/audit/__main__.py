"""``python -m maseval.benchmark.tau2.audit`` prints the page of findings."""

from maseval.benchmark.tau2.audit.auditing import audit, document
from maseval.benchmark.tau2.data.files import DEFAULT_VERSION

if __name__ == "__main__":
    print(document(audit(), DEFAULT_VERSION), end="")
