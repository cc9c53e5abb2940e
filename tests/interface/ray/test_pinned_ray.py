"""The Ray that `requirements/ray.txt` pins, as far as maseval builds on it."""

import os

from tests.interface.libraries import needing

pytestmark = needing("ray")


def test_two_nodes_on_one_machine_run_tasks_in_processes_of_their_own():
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    try:
        cluster.add_node(num_cpus=1, object_store_memory=80_000_000)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        process = ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(lambda: os.getpid())

        assert os.getpid() not in ray.get([process.remote() for _ in range(4)])
        assert len([each for each in ray.nodes() if each["Alive"]]) == 2
    finally:
        ray.shutdown()
        cluster.shutdown()
