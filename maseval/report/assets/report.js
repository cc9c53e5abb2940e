// The report: the page, fed by the data that its file brings along.

import { start } from "./page.js";
import { embedded } from "./source.js";

await start(embedded());
