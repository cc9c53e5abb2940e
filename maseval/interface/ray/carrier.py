"""RayCarrier: worker processes as actors of Ray, here or on a cluster."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from types import ModuleType
from typing import Any

from maseval.core.engine.dispatch import ProcessLostError
from maseval.core.engine.worker import Place, Worker
from maseval.interface.ray.connection import connect_ray, load_ray
from maseval.interface.ray.limiter import share_limits, start_limits

# Beside the one that waits: submits, and what is given up.
_CALLS_AT_ONCE = 8


class RayWorker(Worker):
    """A worker on a node of Ray, which shares the limits of the cluster."""

    def _place(self) -> Place:
        ray = load_ray()
        context, address = ray.get_runtime_context(), ray.util.get_node_ip_address()
        return super()._place()._replace(node_id=context.get_node_id(), address=address)

    def _share_limits(self, limits: Any) -> None:
        share_limits(limits)


@contextmanager
def ray_carrier(
    address: str, processes: int | None, connection: ExitStack | None
) -> Iterator["RayCarrier"]:
    """Connect to Ray for one run; a ``connection`` that is given stays open after it."""
    with ExitStack() as own:
        keeping = own if connection is None else connection
        carrier = RayCarrier(keeping.enter_context(connect_ray(address, processes)))
        try:
            yield carrier
        finally:
            carrier.end_limits()


class RayCarrier:
    """Starts worker processes on Ray; see ``Carrier``."""

    def __init__(self, ray: ModuleType) -> None:
        self._ray = ray
        self.cores = int(ray.cluster_resources().get("CPU", 1))
        self.limits = start_limits(ray)

    def end_limits(self) -> None:
        self._ray.kill(self.limits, no_restart=True)
        self.limits = None

    def start(self) -> Any:
        actor = self._ray.remote(RayWorker).options(
            num_cpus=0,  # it waits for models most of the time
            max_restarts=0,
            max_concurrency=_CALLS_AT_ONCE,
            scheduling_strategy="SPREAD",
        )
        return actor.remote()

    def share(self, value: object) -> Any:
        return self._ray.put(value)

    def call(self, process: Any, method: str, *args: object) -> Any:
        return getattr(process, method).remote(*args)

    def wait(self, calls: Sequence[Any], timeout: float) -> Sequence[Any]:
        number = 1 if timeout else len(calls)
        ready, _ = self._ray.wait(list(calls), num_returns=number, timeout=timeout)
        found: Sequence[Any] = ready
        return found

    def reply(self, call: Any, timeout: float | None = None) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(call, timeout=timeout)
        except errors.GetTimeoutError as error:
            raise TimeoutError from error
        except (errors.RayError, ConnectionError) as error:
            raise ProcessLostError(_in_a_line(error)) from error

    def kill(self, process: Any) -> None:
        with suppress(Exception):  # the connection may be what is gone
            self._ray.kill(process, no_restart=True)

    def is_down(self, node_id: str) -> bool:
        nodes = {node["NodeID"]: node["Alive"] for node in self._ray.nodes()}
        return not nodes.get(node_id, False)


def _in_a_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reasons = [line for line in lines if "because" in line]
    return (reasons or lines or [type(error).__name__])[0]
