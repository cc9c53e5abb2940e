"""MACS: teams of agents on enterprise tasks, their tools played by a model, judged by assertions.

After the Multi-Agent Collaboration Scenario benchmark
(https://github.com/aws-samples/multiagent-collab-scenario-benchmark, arXiv:2412.05449). Copyright
Amazon.com, Inc. or its affiliates; data CC BY 4.0, code MIT-0. The code here is our own; data and
judge prompts are fetched from the original. PROVENANCE.md lists every intended difference.
"""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
