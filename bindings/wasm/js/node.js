// Loads the WebAssembly module from its file: Node.js.
import { readFile } from "node:fs/promises";
import { initSync } from "./gems.js";

initSync({ module: await readFile(new URL("gems_bg.wasm", import.meta.url)) });
export * from "./api.js";
