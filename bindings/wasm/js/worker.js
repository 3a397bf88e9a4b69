// A Worker that computes gems: send it {file, recipe, options}, or `text` in place of `file`; it answers {gems} with places, or {error}.
// With {as: "query"}, it answers {query}.
// It loads the module itself, because messages that arrive while a Worker waits at its top level are lost.
const module = import("./index.js");

addEventListener("message", async ({ data: { id, as = "places", file, text, recipe, options } }) => {
  try {
    const api = await module;
    const made = file ? await api[`${as}OfFile`](file, recipe, options) : api[as](text, recipe, options);
    postMessage(as === "query" ? { id, query: made } : { id, gems: made });
  } catch (error) {
    postMessage({ id, error: error.message });
  }
});
