"""Banking: a bank's support desk that must find its rules, and most of its tools, by reading.

Besides the few tools that are offered there are 48 that only the documents of a knowledge base
mention. Both sides work on one database. ``banking_knowledge`` is the original's default way to
search, and ``banking_knowledge@bm25`` names another one.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/ (MIT, Sierra Research).
"""

from maseval.benchmark.tau2.domains.banking_knowledge.models import BankingDB
from maseval.benchmark.tau2.domains.banking_knowledge.tools import KnowledgeTools
from maseval.benchmark.tau2.domains.banking_knowledge.user_tools import KnowledgeUserTools
from maseval.benchmark.tau2.domains.banking_knowledge.variants import NAME, VARIANTS, banking

BANKING_DOMAINS = (banking(name=NAME), *map(banking, VARIANTS))

__all__ = ["BANKING_DOMAINS", "BankingDB", "KnowledgeTools", "KnowledgeUserTools", "banking"]
