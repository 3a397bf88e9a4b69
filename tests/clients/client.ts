// Uses the generated TypeScript client, as client.py uses that for Python.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { paths } from "./lapidary.js";

const [baseUrl, given] = process.argv.slice(2);
// A report is also available as a page; this client takes JSON.
const connect = (key: string) =>
  createClient<paths, `application/${string}json`>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });
const made = await connect(given).POST("/v1/keys", { body: { name: "typescript", role: "admin" } });
const client = connect(made.data!.secret);
const text = "A text of a few words.";
const path = { library: "mine", id: "typescript/1" };
const book = "/v1/libraries/{library}/books/{id}";
const newBook = { rights: "protected", title: "A", text } as const;

const added = await client.PUT(book, { params: { path }, body: newBook });
assert.equal(added.data?.book.title, "A");
const copy = { path: { ...path, id: "typescript/2" }, query: { unless: "protected" } } as const;
const refused = await client.PUT(book, { params: copy, body: newBook });
assert.equal(refused.error?.code, "matches");
assert.equal(refused.error.report?.matches[0].book.id, "typescript/1");

const batch = await client.POST("/v1/batches", { body: { files: ["upload.txt"] } });
const question = { text, record: true, name: "upload.txt", batch: batch.data!.id };
const report = await client.POST("/v1/checks", { body: question });
assert.equal(report.data?.verdict, "protected");
assert.equal(report.data.matches[0].book.id, "typescript/1");
const ended = await client.GET("/v1/batches/{batch}", { params: { path: { batch: batch.data!.id } } });
assert.equal(ended.data?.checked, 1);

const newDecision = { check: report.data.filed!, ruling: "refused", reason: "a copy" } as const;
const decision = await client.POST("/v1/decisions", { body: newDecision });
const found = await client.GET("/v1/decisions/{decision}", { params: { path: { decision: decision.data!.id } } });
assert.equal(found.data?.reason, "a copy");

const webhook = { url: "https://example.com/", events: ["library.trusted" as const] };
await client.PUT("/v1/me/webhook", { body: webhook });
assert.equal((await client.GET("/v1/me/webhook")).data?.url, webhook.url);
assert.equal((await client.DELETE("/v1/me/webhook")).response.status, 204);

let job = (await client.POST("/v1/jobs", { body: { kind: "verify" } })).data;
while (job?.state === "running") job = (await client.GET("/v1/jobs/{id}", { params: { path: { id: job.id } } })).data;
assert.equal(job?.state, "done");

const page = await client.GET("/v1/libraries/{library}/books", { params: { path: { library: "mine" } } });
assert.deepEqual(page.data?.books.map((one) => one.id), ["typescript/1"]);
assert.equal((await client.DELETE(book, { params: { path } })).response.status, 204);
const { error } = await client.DELETE(book, { params: { path } });
assert.equal(error?.code, "no_such_book");
console.log("the TypeScript client works");
