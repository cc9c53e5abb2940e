// The files of a site that was exported. Each is a script that hands over one packed answer of the server,
// because a page from disk may load nothing else; it is read when it is asked for.

import { unpack } from "../source.js";

/** Whether this page is part of a site, where no server is. */
export const STORED = "site" in document.documentElement.dataset;

const handedOver = new Map();
const readBefore = new Map();
const packetsBefore = new Map();
const MOST_PACKET_FILES = 8;
// Scripts are loaded from here and from nowhere else.
const dataPath = (name) => `data/${name.replace(/[^\w/-]/g, "")}.js`;
const scripts = STORED && window.trustedTypes?.createPolicy("maseval", { createScriptURL: dataPath });

if (STORED) window.maseval = (name, packed) => handedOver.set(name, packed);

function loadScript(name) {
  const script = document.createElement("script");
  return new Promise((resolve, reject) => {
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => reject(new Error(`The file ${dataPath(name)} of this site is missing.`)));
    script.src = scripts ? scripts.createScriptURL(name) : dataPath(name);
    document.head.append(script);
  }).finally(() => script.remove());
}

export async function readFile(name) {
  await loadScript(name);
  const packed = handedOver.get(name);
  handedOver.delete(name);
  return unpack(packed ?? "");
}

/** What is asked for again and again is read once. */
export function readOnce(name) {
  if (!readBefore.has(name)) readBefore.set(name, readFile(name));
  return readBefore.get(name);
}

/** The packet of the task at a place of a run; the neighbours that it came with are kept for a while. */
export async function storedPacket(folder, place) {
  const { tasks_per_file: step } = await readOnce(`${folder}/index`);
  const name = `${folder}/${Math.floor(place / step)}`;
  const packets = packetsBefore.get(name) ?? readFile(name);
  packetsBefore.delete(name);
  packetsBefore.set(name, packets);
  packets.catch(() => packetsBefore.delete(name)); // it may be there at the next try
  if (packetsBefore.size > MOST_PACKET_FILES) packetsBefore.delete(packetsBefore.keys().next().value);
  return (await packets)[place % step];
}

/** The run of a name, with the folder of its files. */
export async function storedRun(name) {
  const { runs } = await readOnce("runs");
  const found = runs.find((run) => run.name === name);
  if (!found) throw new Error(`This site has no run called ${name}.`);
  return found;
}
