// The data of a run as the server sends it.

export async function ask(address) {
  const response = await fetch(address);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** A source of the page: the run of this name. */
export function served(run) {
  let tasks = [];
  return {
    index: async () => {
      const found = await ask(`/api/run/index?${new URLSearchParams({ run })}`);
      tasks = found.tasks;
      return found;
    },
    packet: (task) => {
      const { domain, id } = tasks[task];
      return ask(`/api/run/packet?${new URLSearchParams({ run, domain, task: id })}`);
    },
  };
}
