// Paper: what a reader would unfold is unfolded while the page prints, and folded again afterwards.
// A transcript has every tool result, argument and check. The policy, the databases and the raw
// requests of models would be many times as long, and are left out by the style.

const READ_ON_PAPER = ".conversation details, .verdict details, .error details, .explanation details, .task details";
const LEFT_OUT = ".model-call, .model-call *";

const more = ({ hidden, isConnected }) => isConnected && !hidden;

function unfold(place) {
  const closed = [...place.querySelectorAll(READ_ON_PAPER)].filter((each) => !each.open && !each.matches(LEFT_OUT));
  for (const each of closed) {
    each.open = true;
    each.dispatchEvent(new Event("toggle")); // the browser's own comes after the page is printed
  }
  for (const button of place.querySelectorAll("button.more")) while (more(button)) button.click();
  // What was unfolded may have more inside of it.
  return closed.length ? [...closed, ...unfold(place)] : closed;
}

/** Makes the page ready for paper whenever it is printed; `before` draws what no window shows yet. */
export function preparePrinting(before = () => {}) {
  let unfolded = [];
  addEventListener("beforeprint", () => {
    before();
    unfolded = unfold(document.getElementById("panel"));
  });
  addEventListener("afterprint", () => {
    for (const each of unfolded) each.open = false;
  });
}
