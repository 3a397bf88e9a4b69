// The client in a page, whose site forwards its calls and adds the key.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { buffer } from "node:stream/consumers";

import { chromium, missing, serve } from "./browser.js";
import { prose, start } from "./server.js";

const skip = missing && `there is no ${missing}`;
const modules = dirname(fileURLToPath(import.meta.resolve("lapidary-client")));
let server, site, browser;

before(async () => {
  if (skip) return;
  server = await start();
  site = await serve(async (path, request, response) => {
    if (path === "/page.html") return "<!doctype html><title>Client</title>";
    if (path.startsWith("/package/")) return readFile(`${modules}/${path.slice(9)}`);
    const { method, headers } = request;
    const sent = { "content-type": headers["content-type"] ?? "", authorization: `Bearer ${server.key}` };
    const body = method === "GET" ? undefined : await buffer(request);
    const answer = await fetch(server.url + request.url, { method, headers: sent, body });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") });
    response.end(await answer.text());
    return true;
  });
  browser = await chromium();
  await browser.open(`${site.url}/page.html`);
});

after(async () => {
  await browser?.close();
  site?.close();
  await server?.stop();
});

test("a page adds and checks books", { skip }, async () => {
  const text = prose(2654435761);
  const [outcome, verdicts, code, ids] = await browser.run(`
    const { ApiError, Client } = await import("/package/index.js");
    const client = new Client("");
    const text = ${JSON.stringify(text)};
    const { outcome } = await client.putBook("mine", "1", { rights: "protected", text });
    const verdicts = [(await client.checkFile(new File([text], "upload.txt"), { limit: 1 })).verdict];
    for await (const { report } of client.checkBatch([{ text }, { text: "Something else." }])) verdicts.push(report.verdict);
    const refused = await client.putBook("mine", "2", { rights: "free", text }, { unless: "protected" }).catch((error) => error);
    const ids = [];
    for await (const { id } of client.books("mine")) ids.push(id);
    return [outcome, verdicts, refused instanceof ApiError && refused.code, ids];`);
  assert.deepEqual([outcome, verdicts, code, ids], ["added", ["protected", "protected", "unknown"], "matches", ["1"]]);
});
