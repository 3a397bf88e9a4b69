// The client, against a server.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import { ApiError, Client, SignatureError, verifyWebhook, type Schemas } from "lapidary-client";

import { prose, start } from "./server.js";

const seeds = [2654435761, 40503, 2246822519, 3266489917] as const;
let server: Awaited<ReturnType<typeof start>>, client: Client;

before(async () => {
  server = await start();
  client = new Client(server.url, { key: server.key });
});

after(() => server?.stop());

async function all<Entry>(entries: AsyncIterable<Entry>): Promise<Entry[]> {
  const list = [];
  for await (const entry of entries) list.push(entry);
  return list;
}

const refused = (code: string) => (error: unknown) => error instanceof ApiError && error.code === code;

test("a book is added, changed and removed", async () => {
  const added = await client.putBook("books", "1", { rights: "free", text: prose(1), title: "One", keep_text: true });
  assert.equal(added.outcome, "added");
  assert.deepEqual(await client.book("books", "1"), added.book);
  assert.equal(await client.bookText("books", "1"), prose(1));
  assert.equal((await client.amendBook("books", "1", { rights: "protected" })).rights, "protected");
  await client.deleteBook("books", "1");
  await assert.rejects(client.book("books", "1"), refused("no_such_book"));
});

test("a gate keeps copies out", async () => {
  const [seed] = seeds;
  await client.putBook("gate", "original", { rights: "protected", text: prose(seed) });
  const copy = () => Buffer.from(prose(seed).toUpperCase());
  await assert.rejects(client.putBookFile("gate", "copy", copy(), { rights: "free", unless: "protected" }), (error) => {
    assert.ok(error instanceof ApiError && error.code === "matches" && error.status === 409);
    return error.report?.matches[0]?.book.id === "original";
  });
  const query = { rights: "free", unless: "protected", except: ["original"], author: ["A", "B"] } as const;
  const added = await client.putBookFile("gate", "copy", copy(), { ...query, except: [...query.except], author: [...query.author] });
  assert.deepEqual(added.book.authors, ["A", "B"]);
  await assert.rejects(client.putBook("gate", "copy", { rights: "free", text: "" }, {}, { ifNoneMatch: "*" }), { status: 412 });
});

test("ids have any characters that a URL can have", async () => {
  const ids = ["a/b", "a//b", "a/../b", "...", "%2e", "ä?#%2F&", "я 1"];
  for (const id of ids) {
    await client.putBook("ids", id, { rights: "free", text: id });
    assert.equal((await client.book("ids", id)).id, id);
  }
  assert.deepEqual(new Set((await all(client.books("ids"))).map(({ id }) => id)), new Set(ids));
  for (const id of [".", ".."]) await assert.rejects(client.book("ids", id), TypeError);
  await assert.rejects(client.request("GET", "/v1/../healthz?a"), TypeError);
});

test("lists have all pages", async () => {
  const books = Array.from({ length: 1_234 }, (_, i): Schemas["BatchBook"] => ({ id: String(i).padStart(4, "0"), rights: "free", title: "Pages", text: `Text ${i}` }));
  const answers = await all(client.addBooks("pages", books));
  assert.deepEqual(answers.map(({ line, outcome }) => [line, outcome]), books.map((_, i) => [i + 1, "added"]));
  assert.deepEqual((await all(client.books("pages"))).map(({ id }) => id), books.map(({ id }) => id));
  assert.equal((await all(client.findBooks({ title: "pages", library: "pages" }))).length, books.length);
  assert.ok((await all(client.libraries())).some(({ library }) => library === "pages"));
});

test("checks of texts and files", async () => {
  const [, seed] = seeds;
  await client.putBook("checks", "1", { rights: "protected", text: prose(seed) });
  const part = prose(seed).slice(9_000).toUpperCase();
  const report = await client.check({ text: part, library: "checks" });
  assert.equal(report.verdict, "protected");
  assert.equal(report.matches[0]?.book.id, "1");
  const ofFile = await client.checkFile(new Blob([part]), { library: "checks", recipes: "hardened,released", limit: 0, detail: false });
  assert.deepEqual([ofFile.verdict, ofFile.recipes, ofFile.matches], ["protected", ["hardened", "released"], []]);
  assert.deepEqual(await client.trustLibrary("checks", false), { trusted: false });
  assert.equal((await client.check({ text: part, library: "checks" })).verdict, "unknown");
});

test("a batch is answered in its order", async () => {
  const [, , seed] = seeds;
  await client.putBook("batch", "1", { rights: "protected", text: prose(seed) });
  // More than what is sent at once, and lines that are larger than that.
  const texts = [...Array.from({ length: 100 }, (_, i) => prose(seed).slice(0, 1_000 * (i % 24))), prose(7, 30_000)];
  const questions = [...texts.map((text, i) => ({ text, ref: `${i}\u2028`, library: "batch" })), { ref: "neither" }];
  const answers = await all(client.checkBatch(questions));
  assert.deepEqual(answers.map(({ line, ref }) => [line, ref]), questions.map(({ ref }, i) => [i + 1, ref]));
  assert.equal(answers.at(-1)?.problem?.status, 400);
  assert.deepEqual(answers[20]?.report, await client.check({ text: texts[20]!, library: "batch" }));
});

test("files of a batch are checked", async () => {
  const { id } = await client.makeBatch(["a.txt", "b.txt"]);
  const { filed } = await client.checkFile(Buffer.from("A text of a few words."), { record: true, name: "a.txt", batch: id });
  const { checked, files } = await client.batch(id);
  assert.deepEqual([checked, files?.map(({ check }) => check?.id)], [1, [filed, undefined]]);
  assert.equal((await all(client.batches()))[0]?.id, id);
});

test("two files are compared", async () => {
  const page = await client.compare(Buffer.from(prose(8)), new Blob([prose(8).slice(9_000)]));
  assert.ok(page.startsWith("<!DOCTYPE html>"));
});

test("what decides is set for a library", async () => {
  await client.putBook("policies", "1", { rights: "protected", text: prose(9) });
  assert.deepEqual(await client.setPolicy("policies", { min_passage: 9 }), await client.policy("policies"));
  assert.equal((await client.policy("policies")).min_passage, 9);
  assert.deepEqual(await client.libraryTrust("policies"), { trusted: true });
});

test("decisions", async () => {
  const { filed } = await client.check({ text: prose(3), record: true, name: "upload.txt" });
  const decision = await client.decide({ check: filed!, ruling: "refused", reason: "a copy" });
  assert.deepEqual(await client.decision(decision.id), decision);
  assert.deepEqual((await all(client.decisions({ digest: decision.digest }))).map(({ ruling }) => ruling), ["checked", "refused"]);
});

test("a filed check is shown, and to somebody without a key", async () => {
  await client.putBook("filed", "1", { rights: "protected", text: prose(10) });
  const { filed } = await client.check({ text: prose(10), record: true, library: "filed" });
  await client.decide({ check: filed!, ruling: "assigned", assignee: "key:client" });
  const [assigned] = await all(client.decisions({ state: "open", assignee: "key:client" }));
  assert.equal(assigned?.id, filed);
  assert.ok((await client.filedPage(filed!)).startsWith("<!DOCTYPE html>"));
  assert.ok((await client.filedPassages(filed!)).includes(",filed,protected,"));
  const { id, url } = await client.makeReportLink(filed!);
  assert.equal((await fetch(server.url + url)).status, 200);
  assert.deepEqual((await all(client.reportLinks(filed!))).map((link) => link.id), [id]);
  await client.deleteReportLink(filed!, id);
  assert.deepEqual(await all(client.reportLinks(filed!)), []);
  assert.ok((await client.decision(filed!)).text);
  await client.deleteEvidence(filed!);
  assert.equal((await client.decision(filed!)).text, undefined);
});

async function endOf(id: number): Promise<Schemas["Job"]> {
  let job;
  do job = await client.job(id);
  while (job.state === "running");
  return job;
}

test("jobs", async () => {
  const { id } = await client.startJob({ kind: "verify" });
  assert.equal((await endOf(id)).state, "done");
  assert.ok((await all(client.jobs())).some((one) => one.id === id));
});

test("duplicates are found and resolved", async () => {
  const books = ["1", "2"].map((id) => ({ library: "duplicates", id }));
  for (const { library, id } of books) await client.putBook(library, id, { rights: "free", text: prose(11) });
  await client.putBook("duplicates", "part", { rights: "free", text: prose(11).slice(-9_000) });
  const { id } = await client.startJob({ kind: "duplicates", library: "duplicates" });
  assert.equal((await endOf(id)).state, "done");
  await client.resolveDuplicates(books, "editions");
  const groups = await all(client.duplicateGroups(id));
  assert.deepEqual(groups.map(({ size, resolution }) => [size, resolution]), [[2, "editions"]]);
  await client.resolveDuplicates(books);
  assert.equal((await all(client.duplicateGroups(id)))[0]?.resolution, undefined);
  assert.deepEqual((await all(client.duplicateOverlaps(id))).map(({ b }) => b.id), ["part"]);
});

test("a job is cancelled", async () => {
  // It waits for texts, which nobody sends.
  await client.putBook("jobs", "1", { rights: "free", text: prose(5) });
  const { id } = await client.startJob({ kind: "reindex", recipe: "hardened-fine", from: "sources" });
  assert.equal((await client.cancelJob(id)).id, id);
  assert.equal((await endOf(id)).state, "cancelled");
  await assert.rejects(client.cancelJob(id), refused("job_ended"));
});

/** The URL of a server that answers in this way until the test ends. */
async function serve(context: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test("events of a webhook are signed", async (context) => {
  const [, , , seed] = seeds;
  let receive: (came: { headers: IncomingHttpHeaders; body: Buffer }) => void;
  const came = new Promise<Parameters<typeof receive>[0]>((resolve) => (receive = resolve));
  const receiver = await serve(context, async (request, response) => {
    receive({ headers: request.headers, body: await buffer(request) });
    response.writeHead(204).end();
  });
  await client.putBook("hooked", "original", { rights: "protected", text: prose(seed) });
  const { secret } = await client.putWebhook("hooked", receiver);
  await client.putBook("hooked", "copy", { rights: "protected", text: prose(seed) });
  const { headers, body } = await came;
  assert.deepEqual((await all(client.webhooks())).map((webhook) => webhook.url), [receiver]);
  await client.deleteWebhook("hooked");
  await client.putOwnWebhook(receiver, ["job.ended"]);
  assert.deepEqual((await client.ownWebhook()).events, ["job.ended"]);
  await client.replayOwnWebhook(1);
  assert.deepEqual(await client.testOwnWebhook(), { delivered: true });
  await client.deleteOwnWebhook();
  const event = await verifyWebhook(secret, { ...headers, ":path": "/of/http/2" }, body);
  assert.deepEqual(await verifyWebhook(secret, new Headers(headers as Record<string, string>), body), event);
  assert.ok(event.type === "book.matched");
  assert.deepEqual([event.data.book.id, event.data.report.matches[0]?.book.id], ["copy", "original"]);
  await assert.rejects(verifyWebhook("whsec_AAAA", headers, body), SignatureError);
  await assert.rejects(verifyWebhook(secret, headers, `${new TextDecoder().decode(body)} `), SignatureError);
  await assert.rejects(verifyWebhook(secret, {}, body), SignatureError);
  await assert.rejects(verifyWebhook(secret, { ...headers, "webhook-timestamp": "1614265330" }, body), /300 seconds/);
  await assert.rejects(verifyWebhook("secret!", headers, body), TypeError);
});

test("a call waits and is made again, but not for ever", async (context) => {
  const answers = [
    [429, { "retry-after": "0" }, ""],
    [503, { "retry-after": "0" }, ""],
    [200, {}, '{"books": []}'],
    [429, { "retry-after": "3600" }, ""],
    [502, {}, "<h1>Bad Gateway</h1>"],
    [502, { "content-type": "application/problem+json" }, '{"detail": "Ask again."}'],
    [502, { "content-type": "application/problem+json" }, '{"detail"'],
  ] as const;
  let at = 0;
  const other = await serve(context, (_, response) => {
    const [status, headers, body] = answers[at++]!;
    response.writeHead(status, headers).end(body);
  });
  const client = new Client(other);
  assert.deepEqual(await all(client.books("mine")), []);
  await assert.rejects(client.book("mine", "1"), { code: "unknown", status: 429, retryAfter: 3600 });
  await assert.rejects(client.book("mine", "1"), /answered 502 Bad Gateway: <h1>Bad Gateway<\/h1>/);
  await assert.rejects(client.book("mine", "1"), { code: "unknown", message: "Ask again. (502 unknown)" });
  await assert.rejects(client.book("mine", "1"), /answered 502 Bad Gateway: {"detail"/);
  assert.equal(at, answers.length);
});

test("what creates something has one name however often it is sent", async (context) => {
  const names: unknown[] = [];
  const other = await serve(context, (request, response) => {
    names.push(request.headers["idempotency-key"]);
    request.resume();
    if (names.length % 2) response.writeHead(503, { "retry-after": "0" }).end();
    else response.writeHead(200).end("{}");
  });
  const client = new Client(other);
  await client.check({ text: "word", record: true });
  await client.checkFile(new Uint8Array([65]), { record: true });
  await client.decide({ check: "0", ruling: "accepted", reason: "licensed" });
  await client.startJob({ kind: "verify" });
  await client.makeBatch(["a.txt"]);
  await client.makeReportLink("0");
  await client.check({ text: "word" });
  const [first, second] = [0, 1].map((from) => names.slice(0, 12).filter((_, at) => at % 2 === from));
  assert.deepEqual(first, second);
  assert.equal(new Set(first!.filter(Boolean)).size, 6);
  assert.deepEqual(names.slice(12), [undefined, undefined]);
});

test("who reads answers slowly gets them all", async (context) => {
  // More than what the buffers of a connection hold.
  const answers = Array.from({ length: 32 }, (_, i) => `${JSON.stringify({ line: i + 1, ref: "x".repeat(2 ** 20) })}\n`);
  const other = await serve(context, (_, response) => response.end(answers.join("")));
  const client = new Client(other, { timeout: 5_000 });
  const lines = [];
  for await (const { line } of client.checkBatch(answers.map(() => ({ text: "A text." })))) {
    if (line === 1) await setTimeout(5_500);
    lines.push(line);
  }
  assert.deepEqual(lines, answers.map((_, i) => i + 1));
});

test("a key is told what it permits", async () => {
  const { name, role, libraries } = await client.me();
  assert.deepEqual([name, role, libraries], ["client", "admin", []]);
});

test("any other call, and a wrong key", async () => {
  assert.equal((await (await client.request("GET", "/healthz")).json()).status, "ok");
  await assert.rejects(all(new Client(server.url, { key: "lap_wrong" }).libraries()), refused("bad_key"));
});
