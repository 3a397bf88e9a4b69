// Uses the generated TypeScript client: checks a text, adds, lists and removes a book, and reads a problem.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { paths } from "./lapidary.js";

const [baseUrl, key] = process.argv.slice(2);
// A report is also available as a page; this client takes JSON.
const client = createClient<paths, `application/${string}json`>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });
const text = "A text of a few words.";
const params = { path: { library: "mine", id: "typescript/1" } };
const book = "/v1/libraries/{library}/books/{id}";

const added = await client.PUT(book, { params, body: { rights: "protected", title: "A", text } });
assert.equal(added.data?.book.title, "A");

const report = await client.POST("/v1/checks", { body: { text } });
assert.equal(report.data?.verdict, "protected");
assert.equal(report.data.matches[0].book.id, "typescript/1");

const page = await client.GET("/v1/libraries/{library}/books", { params: { path: { library: "mine" } } });
assert.deepEqual(page.data?.books.map((book) => book.id), ["typescript/1"]);

assert.equal((await client.DELETE(book, { params })).response.status, 204);
const { error } = await client.DELETE(book, { params });
assert.equal(error?.code, "no_such_book");
console.log("the TypeScript client works");
