// A Worker that computes gems: send it {file, recipe, options}, or `text` in place of `file`; it answers {gems} with places, or {error}.
// It loads the module itself, because messages that arrive while a Worker waits at its top level are lost.
const module = import("./index.js");

addEventListener("message", async ({ data: { id, file, text, recipe, options } }) => {
  try {
    const { places, placesOfFile } = await module;
    const gems = file ? await placesOfFile(file, recipe, options) : places(text, recipe, options);
    postMessage({ id, gems });
  } catch (error) {
    postMessage({ id, error: error.message });
  }
});
