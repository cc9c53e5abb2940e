"""The airline's airports, and the flights that connect them.

A search for journeys with one stop asks for the flights of some twenty routes. The answer depends
on the loaded table alone, since no tool adds a flight or moves one; so an index is made once.

After tau2-bench v0.2.0, src/tau2/domains/airline/tools.py (MIT, Sierra Research).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

from maseval.benchmark.tau2.domains.airline.models import Flight
from maseval.benchmark.tau2.world.state.records import SharedTable, Table

AIRPORTS = {
    "SFO": "San Francisco",
    "JFK": "New York",
    "LAX": "Los Angeles",
    "ORD": "Chicago",
    "DFW": "Dallas",
    "DEN": "Denver",
    "SEA": "Seattle",
    "ATL": "Atlanta",
    "MIA": "Miami",
    "BOS": "Boston",
    "PHX": "Phoenix",
    "IAH": "Houston",
    "LAS": "Las Vegas",
    "MCO": "Orlando",
    "EWR": "Newark",
    "CLT": "Charlotte",
    "MSP": "Minneapolis",
    "DTW": "Detroit",
    "PHL": "Philadelphia",
    "LGA": "LaGuardia",
}

Index = Mapping[tuple[str | None, str | None], Sequence[str]]


def flights_between(
    flights: Table[Flight], origin: object, destination: object
) -> Iterator[Flight]:
    """The flights of a route, for reading only, in the table's order; None is any airport."""
    shared = flights.shared
    for number in _numbers(_index(shared), origin, destination):
        if number in flights:
            yield flights.view(number)
    for number in flights.added_keys():
        flight = flights.view(number)
        if origin in (None, flight.origin) and destination in (None, flight.destination):
            yield flight


@lru_cache(maxsize=32)
def _index(flights: SharedTable[Flight]) -> Index:
    """The flight numbers of each route, also with one or both of its ends left open."""
    index = defaultdict(list)
    for number, flight in flights.raw.items():
        for route in product((flight["origin"], None), (flight["destination"], None)):
            index[route].append(number)
    return dict(index)


def _numbers(index: Index, origin: object, destination: object) -> Sequence[str]:
    # A model may ask for anything; what is no text, and perhaps not hashable, is no airport.
    if not (isinstance(origin, str | None) and isinstance(destination, str | None)):
        return ()
    return index.get((origin, destination), ())
