// Loads the WebAssembly module over HTTP: browsers and bundlers.
import load from "./gems.js";

await load();
export * from "./api.js";
