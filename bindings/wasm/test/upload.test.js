// examples/upload.html, against a server.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { buffer } from "node:stream/consumers";

import { chromium, missing, serve } from "./browser.js";

const program = process.env.LAPIDARY;
const skip = (missing && `there is no ${missing}`) || (!program && "needs the program in LAPIDARY");
const modules = dirname(fileURLToPath(import.meta.resolve("lapidary-gems")));
const folder = mkdtempSync(`${tmpdir()}/lapidary-upload-`);
const uploads = [];
let catalogue, site, browser, key;

const book = (seed) => Array.from({ length: 4_000 }, (_, i) => `${(Math.imul(i + 1, seed) >>> 0).toString(36)}stone`).join(" ");

before(async () => {
  if (skip) return;
  writeFileSync(`${folder}/lighthouse.txt`, book(2654435761));
  writeFileSync(`${folder}/copy.txt`, book(2654435761).toUpperCase().slice(9_000));
  writeFileSync(`${folder}/original.txt`, book(40503));
  writeFileSync(`${folder}/page.txt`, "<!DOCTYPE html><p>Not plain text");
  const data = ["--data", `${folder}/catalogue`];
  execFileSync(program, ["ingest", ...data, "--library", "mine", "--rights", "protected", `${folder}/lighthouse.txt`]);
  key = execFileSync(program, ["keys", "add", ...data, "--role", "check", "site"]).toString().trim().split("\n").pop();
  catalogue = spawn(program, ["serve", ...data, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  const url = await new Promise((resolve, reject) => {
    catalogue.stderr.on("data", (some) => {
      said += some;
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (found) resolve(found[0]);
    });
    catalogue.on("exit", () => reject(new Error(said)));
  });
  // The site: it forwards checks with its key, which no visitor sees, and takes uploads.
  site = await serve(async (path, request, response) => {
    if (path === "/uploads") {
      uploads.push((await buffer(request)).toString());
      return "";
    }
    if (path === "/v1/checks") {
      const headers = { "content-type": request.headers["content-type"], authorization: `Bearer ${key}` };
      const answer = await fetch(url + path, { method: "POST", headers, body: await buffer(request) });
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") });
      response.end(await answer.text());
      return true;
    }
    const [, of, name] = /^\/(lapidary-gems\/)?([a-z_]+\.[a-z]+)$/.exec(path) ?? [];
    if (name) return readFile(of ? `${modules}/${name}` : `${process.env.CHECKOUT}/examples/${name}`);
  });
  browser = await chromium();
});

after(async () => {
  await browser?.close();
  site?.close();
  catalogue?.kill();
  rmSync(folder, { recursive: true });
});

/** What the page says when a file is chosen and sent. */
async function upload(name) {
  await browser.open(`${site.url}/upload.html`);
  await browser.type("input", `${folder}/${name}`);
  return browser.run(`
    document.querySelector("button").click();
    const said = () => document.querySelector("[role=status]").textContent;
    while (!/ploaded/.test(said())) await new Promise((resolve) => setTimeout(resolve, 20));
    return said();`);
}

test("a book is uploaded only if it is not protected", { skip }, async () => {
  assert.match(await upload("copy.txt"), /^Not uploaded: this is in “lighthouse/);
  assert.match(await upload("page.txt"), /^Not uploaded: the file is not plain text but HTML/);
  assert.deepEqual(uploads, []);
  assert.equal(await upload("original.txt"), "Uploaded (unknown).");
  assert.deepEqual(uploads, [book(40503)]);
});
