// The address after the #: the name of what is open, then ? and the filters, so that a link leads
// to the same view. `#retail/0/1?outcome=fail&label=agent%3A+missing+write&beside=retail%2F0%2F0`

const PLAIN_FILTERS = ["words", "text", "domain", "ended", "label"];

/** The two halves of the address; what cannot be decoded names nothing. */
function address() {
  const [name, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  try {
    return { name: decodeURIComponent(name), query: new URLSearchParams(query) };
  } catch {
    return { name: "", query: new URLSearchParams() }; // a lone % cannot be decoded
  }
}

/** Sets the filters to those of the address; whether it has any. */
function readFilters() {
  const { query } = address();
  for (const name of PLAIN_FILTERS) filters[name] = query.get(name) ?? "";
  const outcomes = query.getAll("outcome").filter((outcome) => Object.hasOwn(OUTCOMES, outcome));
  filters.outcomes = new Set(outcomes);
  return [...query.keys()].some((key) => key !== "beside");
}

function filterQuery() {
  const query = new URLSearchParams();
  for (const name of PLAIN_FILTERS) if (filters[name]) query.set(name, filters[name]);
  for (const outcome of filters.outcomes) query.append("outcome", outcome);
  return query;
}

/** The address of a simulation, or of none, under the filters as they are. */
function addressOf(simulation, beside) {
  const query = filterQuery();
  if (beside) query.set("beside", nameOf(beside));
  const name = simulation ? linkTo(simulation) : "#";
  return query.size ? `${name}?${query}` : name;
}

/** Makes the address agree with the filters, without a new step in the history. */
function writeAddress(simulation, beside) {
  const wanted = addressOf(simulation, beside);
  const whole = location.pathname + location.search + (wanted === "#" ? "" : wanted);
  history.replaceState(null, "", whole);
}
