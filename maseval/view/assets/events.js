// News from the server. A lost connection is said so and taken up again by itself, also after the
// server was restarted; then everything is asked for anew, as nobody knows what was missed.

import { h } from "../dom.js";
import { STORED } from "./files.js";

const PAUSE_BEFORE_RETRY = 1000;

/** Where it is said that the connection is lost. */
export function lostNotice() {
  return h("p", { class: "lost", role: "status" });
}

/** Calls `handlers[event]` with what comes in, and `again` when a lost connection is back. */
export function listen(query, handlers, again, notice) {
  let broken = false;

  function opened() {
    notice.textContent = "";
    if (broken) again();
    broken = false;
  }

  function failed(events) {
    broken = true;
    notice.textContent = "Connection lost, retrying …";
    // The browser tries again by itself, unless what it got was no stream of events.
    if (events.readyState === EventSource.CLOSED) setTimeout(connect, PAUSE_BEFORE_RETRY);
  }

  function connect() {
    const events = new EventSource(`/api/events?${new URLSearchParams(query)}`);
    events.addEventListener("open", opened);
    events.addEventListener("error", () => failed(events));
    for (const [name, handle] of Object.entries(handlers)) {
      events.addEventListener(name, ({ data }) => handle(JSON.parse(data)));
    }
    // A connection that is held open keeps its page from being kept for the way back.
    addEventListener("pagehide", () => events.close(), { once: true });
    addEventListener("pageshow", ({ persisted }) => persisted && location.reload(), { once: true });
  }

  if (!STORED) connect(); // files bring no news
}
