import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";

import { chromium, missing, serve } from "./browser.js";
import { read } from "./places.js";

const skip = missing && `there is no ${missing}`;
const modules = dirname(fileURLToPath(import.meta.resolve("lapidary-gems")));
let server, browser;

before(async () => {
  if (skip) return;
  server = await serve((path) => {
    if (path === "/page.html") return "<!doctype html><title>Gems</title>";
    if (path.startsWith("/read/")) return read(path.slice(6));
    return readFile(path.startsWith("/package/") ? `${modules}/${path.slice(9)}` : `${import.meta.dirname}/${path}`);
  });
  browser = await chromium();
  await browser.open(`${server.url}/page.html`);
});

after(async () => {
  await browser?.close();
  server?.close();
});

test("gems are the recorded ones in Chromium", { skip }, async () => {
  console.log(
    await browser.run(`
      const [api, { golden }] = await Promise.all([import("/package/index.js"), import("/golden.js")]);
      return golden(api, async (name) => {
        const response = await fetch("/read/" + encodeURIComponent(name));
        return response.ok ? new Uint8Array(await response.arrayBuffer()) : undefined;
      });`),
  );
});

test("files are read in pieces in Chromium", { skip }, () =>
  browser.run(`
    const [api, { files }] = await Promise.all([import("/package/index.js"), import("/golden.js")]);
    const ok = (is) => { if (!is) throw new Error("not so"); };
    const equal = (is, expected) => { if (is !== expected) throw new Error(is + " is not " + expected); };
    await files(api, {
      ok,
      equal,
      rejects: async (act, why) => {
        const error = await (async () => act())().then(() => undefined, (error) => error);
        if (!why.test(error?.message)) throw new Error(error + " is not " + why);
      },
    });`));

test("a Worker computes gems", { skip }, async () => {
  const [answers, places] = await browser.run(`
    const { places } = await import("/package/index.js");
    const worker = new Worker("/package/worker.js", { type: "module" });
    const text = "Nobody at the harbour remembered who had painted the lighthouse green. ".repeat(50);
    const asked = [
      { id: 1, file: new File([text], "upload.txt"), recipe: "hardened" },
      { id: 2, text, recipe: "hardened" },
      { id: 3, file: new Blob([text]), recipe: "none" },
    ];
    const answers = [];
    await new Promise((resolve, reject) => {
      worker.onerror = () => reject(new Error("the Worker failed"));
      worker.onmessage = ({ data }) => answers.push(data) === asked.length && resolve();
      asked.forEach((message) => worker.postMessage(message));
    });
    return [answers.sort((a, b) => a.id - b.id), places(text, "hardened")];`);
  assert.deepEqual(answers[0], { id: 1, gems: places });
  assert.deepEqual(answers[1], { id: 2, gems: places });
  assert.match(answers[2].error, /none/);
});

test("how fast it is", { skip: skip || !process.env.SPEED }, async () => {
  console.log(
    await browser.run(`
      const { gems } = await import("/package/index.js");
      const packed = await fetch("/read/" + encodeURIComponent("gems.jsonl.gz"));
      const book = await new Response(packed.body.pipeThrough(new DecompressionStream("gzip"))).text();
      const texts = { "mixed scripts": book };
      for (const name of ${JSON.stringify((process.env.SPEED ?? "").split(" "))}) {
        const response = await fetch("/read/" + encodeURIComponent("corpus/" + name));
        if (response.ok) texts[name] = await response.text();
      }
      const speeds = {};
      for (const [name, text] of Object.entries(texts)) {
        for (const recipe of ["hardened", "released"]) {
          const times = [];
          for (let i = 0; i < 9; i++) {
            const start = performance.now();
            gems(text, recipe);
            times.push(performance.now() - start);
          }
          times.sort((a, b) => a - b);
          speeds[recipe + ", " + name] = (new Blob([text]).size / times[4] / 1000).toFixed(0) + " MB/s";
        }
      }
      return speeds;`),
  );
});
