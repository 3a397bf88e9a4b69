import type { components, operations } from "./api.js";

export { SignatureError, verifyWebhook } from "./webhook.js";
export type { MatchedBookEvent, OtherEvent, ReceivedHeaders, WebhookEvent } from "./webhook.js";

/** What is sent and answered, by its name in the API's description: `Schemas["Report"]`. */
export type Schemas = components["schemas"];
export type Report = Schemas["Report"];
/** Its code may also be that of a newer server, or `unknown`. */
export type Problem = Omit<Schemas["Problem"], "code"> & { code: string };
/** The parameters of the query of a call. */
export type Query<Call extends keyof operations> = NonNullable<operations[Call]["parameters"]["query"]>;
/** All parameters but those that lists are paged by. */
export type Filter<Call extends keyof operations> = Omit<Query<Call>, "cursor" | "limit">;

/** In which versions a book is to be changed: an `ETag`, or `*` for any. */
export interface Conditions {
  /** Only if the book is there; for `*`, in any version. */
  ifMatch?: string;
  /** With `*`: only if the book is not there. */
  ifNoneMatch?: string;
}

export interface ClientOptions {
  /** The key. A web page must not contain one: have its site forward calls and add the key. */
  key?: string;
  /** How long a call may take, in milliseconds. By default 60,000. */
  timeout?: number;
  /** How often a call that is to wait at most that long (429, 503) is made again. By default 2. */
  retries?: number;
}

/** A request: what `fetch` takes, and the parameters of the query. */
export interface Sent extends RequestInit {
  query?: object;
  headers?: Record<string, string>;
}

/**
 * Several lines are sent at once only if all of them fit into the buffers of a connection: the server stops reading while nobody reads its
 * answers, and these are read only after everything was sent.
 */
const AT_ONCE = 64 * 1024;
const JSON_BODY = { "content-type": "application/json" };
const LINES = { "content-type": "application/x-ndjson" };
const FILE = { "content-type": "application/octet-stream" };

/** The server refused a call. `code` is for programs, the message says what happened and what to do. */
export class ApiError extends Error {
  override name = "ApiError";

  constructor(
    readonly problem: Problem,
    /** After how many seconds to try again, with 429 and 503. */
    readonly retryAfter?: number,
  ) {
    super(`${problem.detail} (${problem.status} ${problem.code})`);
  }

  get status(): number {
    return this.problem.status;
  }

  /** Stable; `unknown` if something on the way answered in place of the server. */
  get code(): string {
    return this.problem.code;
  }

  /** With `matches`: the report of the check that refused the book. */
  get report(): Report | undefined {
    return this.problem.report ?? undefined;
  }
}

/** A client of a server: each method makes the call of its name, and answers its JSON. Rejects with `ApiError` what the server refuses. */
export class Client {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #timeout: number;
  readonly #retries: number;

  /** `url` is that of the server, such as `https://lapidary.example`; empty for calls that the site of this page forwards. */
  constructor(url: string, { key, timeout = 60_000, retries = 2 }: ClientOptions = {}) {
    this.#url = url.replace(/\/$/, "");
    this.#headers = key ? { authorization: `Bearer ${key}` } : {};
    this.#timeout = timeout;
    this.#retries = retries;
  }

  /** Makes any call, such as one without a method here. */
  async request(method: string, path: string, { query = {}, headers = {}, ...sent }: Sent = {}): Promise<Response> {
    if (path.split(/[?#]/)[0]!.split("/").some((part) => part === "." || part === "..")) {
      // Dots cannot be escaped: the URL would be that of something else.
      throw new TypeError("a URL cannot contain a name that is `.` or `..`; use the command line or another client");
    }
    const url = this.#url + path + written(query);
    for (let left = this.#retries; ; left--) {
      const signal = AbortSignal.timeout(this.#timeout);
      const response = await fetch(url, { signal, ...sent, method, headers: { ...this.#headers, ...headers } });
      if (response.ok) return response;
      const error = await errorOf(response);
      if (left === 0 || error.retryAfter === undefined || error.retryAfter * 1000 > this.#timeout) throw error;
      await new Promise((resolve) => setTimeout(resolve, error.retryAfter! * 1000));
    }
  }

  async #json<Answer>(method: string, path: string, sent?: Sent): Promise<Answer> {
    return (await this.request(method, path, sent)).json();
  }

  #send<Answer>(method: string, path: string, body: object, { headers = {}, ...sent }: Sent = {}): Promise<Answer> {
    return this.#json(method, path, { ...sent, headers: { ...headers, ...JSON_BODY }, body: JSON.stringify(body) });
  }

  /** The entries of all pages of a list. */
  async *#pages<Entry>(path: string, field: string, query: object = {}): AsyncGenerator<Entry, void> {
    for (let cursor: string | undefined; ; ) {
      const page: Record<string, any> = await this.#json("GET", path, { query: { ...query, cursor } });
      yield* page[field];
      cursor = page.next_cursor;
      if (cursor === undefined || cursor === null) return;
    }
  }

  /**
   * The answers to the lines of a stream. Those of a piece are read at once: the time that a caller works on an answer is not that of the
   * call, and the server closes a connection over which it cannot send.
   */
  async *#lines<Answer extends { line: number }>(path: string, entries: Iterable<object>, query?: object): AsyncGenerator<Answer, void> {
    let before = 0;
    for (const piece of pieces(entries)) {
      const response = await this.request("POST", path, { query, headers: LINES, body: piece.join("") });
      for (const line of (await response.text()).trimEnd().split("\n")) {
        const answer: Answer = JSON.parse(line);
        yield { ...answer, line: answer.line + before };
      }
      before += piece.length;
    }
  }

  /** What the key permits, and what the server offers. */
  me(): Promise<Schemas["Me"]> {
    return this.#json("GET", "/v1/me");
  }

  /** Checks `text` or `gems`. */
  check(question: Schemas["Check"]): Promise<Report> {
    return this.#send("POST", "/v1/checks", question, { headers: question.record ? once() : {} });
  }

  /** Checks a file of any format. */
  checkFile(file: Blob | Uint8Array, query?: Query<"check">): Promise<Report> {
    const headers = query?.record ? { ...FILE, ...once() } : FILE;
    return this.#json("POST", "/v1/checks", { query, headers, body: file as BodyInit });
  }

  /** Runs any number of checks. Each has an answer, in their order: a `report`, or a `problem` that does not affect the others. */
  checkBatch(questions: Iterable<Schemas["BatchCheck"]>): AsyncGenerator<Schemas["CheckAnswer"], void> {
    return this.#lines("/v1/checks:batch", questions);
  }

  /** Begins to check files, which are then sent to `check` or `checkFile` with `record`, their `name` and this `batch`. */
  makeBatch(files: string[]): Promise<Schemas["Batch"]> {
    return this.#send("POST", "/v1/batches", { files }, { headers: once() });
  }

  /** A batch that the key made, with its files. */
  batch(id: string): Promise<Schemas["Batch"]> {
    return this.#json("GET", pathOf("batches", id));
  }

  /** The batches that the key made, the newest first. */
  batches(): AsyncGenerator<Schemas["Batch"], void> {
    return this.#pages("/v1/batches", "batches");
  }

  /** Compares two files word by word. Answers a page of HTML; nothing is kept. */
  async compare(first: Blob | Uint8Array, second: Blob | Uint8Array): Promise<string> {
    const body = new FormData();
    for (const file of [first, second]) body.append("file", file instanceof Blob ? file : new Blob([file as BlobPart]));
    return (await this.request("POST", "/v1/compare", { body })).text();
  }

  /** Adds or replaces a book. With `unless: "protected"`, it is refused (`matches`, with a report) if it matches protected books. */
  putBook(
    library: string,
    id: string,
    book: Schemas["NewBook"],
    query?: Pick<Query<"put_book">, "unless" | "except">,
    conditions?: Conditions,
  ): Promise<Schemas["Added"]> {
    const { allow_empty, keep_text, ...body } = book;
    const sent = { query: { ...query, allow_empty, keep_text }, headers: headersOf(conditions) };
    return this.#send("PUT", pathOf("libraries", library, "books", id), body, sent);
  }

  /** Adds or replaces a book, a file of any format. */
  putBookFile(
    library: string,
    id: string,
    file: Blob | Uint8Array,
    query: Query<"put_book">,
    conditions?: Conditions,
  ): Promise<Schemas["Added"]> {
    const sent = { query, headers: { ...headersOf(conditions), ...FILE }, body: file as BodyInit };
    return this.#json("PUT", pathOf("libraries", library, "books", id), sent);
  }

  /** Adds any number of books. Each has an answer, in their order, once it is on disk. Sending the same again changes nothing. */
  addBooks(
    library: string,
    books: Iterable<Schemas["BatchBook"]>,
    query?: Pick<Query<"add_books">, "unless" | "except" | "keep_text">,
  ): AsyncGenerator<Schemas["FeedAnswer"], void> {
    return this.#lines(pathOf("libraries", library, "books"), books, query);
  }

  /** A book. */
  book(library: string, id: string): Promise<Schemas["Record"]> {
    return this.#json("GET", pathOf("libraries", library, "books", id));
  }

  /** Changes what is known about a book. */
  amendBook(library: string, id: string, amendment: Schemas["Amendment"], conditions?: Conditions): Promise<Schemas["Record"]> {
    return this.#send("PATCH", pathOf("libraries", library, "books", id), amendment, { headers: headersOf(conditions) });
  }

  /** Removes a book. */
  async deleteBook(library: string, id: string, conditions?: Conditions): Promise<void> {
    await this.request("DELETE", pathOf("libraries", library, "books", id), { headers: headersOf(conditions) });
  }

  /** The text of a book that was added with `keep_text`. */
  async bookText(library: string, id: string): Promise<string> {
    return (await this.request("GET", pathOf("libraries", library, "texts", id))).text();
  }

  /** Checks a book against all others. */
  matches(library: string, id: string): Promise<Report> {
    return this.#json("GET", pathOf("libraries", library, "matches", id));
  }

  /** The books of a library. */
  books(library: string): AsyncGenerator<Schemas["Record"], void> {
    return this.#pages(pathOf("libraries", library, "books"), "books");
  }

  /** The books with an identifier, or with these words in the title or in the names of the authors. */
  findBooks(filter: Filter<"find_books">): AsyncGenerator<Schemas["Record"], void> {
    return this.#pages("/v1/books", "books", filter);
  }

  /** All libraries. */
  libraries(): AsyncGenerator<Schemas["LibraryListing"], void> {
    return this.#pages("/v1/libraries", "libraries");
  }

  /** Whether the books of a library decide in what others are told. */
  libraryTrust(library: string): Promise<Schemas["LibraryTrust"]> {
    return this.#json("GET", pathOf("libraries", library, "trust"));
  }

  /** Sets whether the books of a library decide in what others are told. */
  trustLibrary(library: string, trusted: boolean): Promise<Schemas["LibraryTrust"]> {
    return this.#send("PUT", pathOf("libraries", library, "trust"), { trusted });
  }

  /** From how much on a match with a book of a library decides. */
  policy(library: string): Promise<Schemas["Policy"]> {
    return this.#json("GET", pathOf("libraries", library, "policy"));
  }

  /** Sets that. What is left out is as by default. */
  setPolicy(library: string, policy: Partial<Schemas["Policy"]>): Promise<Schemas["Policy"]> {
    return this.#send("PUT", pathOf("libraries", library, "policy"), policy);
  }

  /** Records a decision about a check that was filed (`record`). */
  decide(decision: Schemas["NewDecision"]): Promise<Schemas["Decision"]> {
    return this.#send("POST", "/v1/decisions", decision, { headers: once() });
  }

  /** A filed check with its report, or a decision. */
  decision(id: string): Promise<Schemas["Decision"]> {
    return this.#json("GET", pathOf("decisions", id));
  }

  /** Filed checks and decisions, oldest first: of a text, of a book, or of a day. With `state`: filed checks in it, newest first. */
  decisions(filter: Filter<"decisions">): AsyncGenerator<Schemas["Decision"], void> {
    return this.#pages("/v1/decisions", "decisions", filter);
  }

  /** A filed check as a page of HTML. */
  async filedPage(id: string): Promise<string> {
    return (await this.request("GET", pathOf("decisions", id, "page"))).text();
  }

  /** The passages of a filed check, as CSV. */
  async filedPassages(id: string): Promise<string> {
    return (await this.request("GET", pathOf("decisions", id, "passages"))).text();
  }

  /** Deletes the kept text of a filed check. */
  async deleteEvidence(id: string): Promise<void> {
    await this.request("DELETE", pathOf("decisions", id, "text"));
  }

  /** Makes a link that shows a filed check to somebody without a key. Its `url` is a path on the server. */
  makeReportLink(id: string, link: Schemas["NewReportLink"] = {}): Promise<Schemas["MadeReportLink"]> {
    return this.#send("POST", pathOf("decisions", id, "links"), link, { headers: once() });
  }

  /** The links to a filed check. */
  reportLinks(id: string): AsyncGenerator<Schemas["ReportLink"], void> {
    return this.#pages(pathOf("decisions", id, "links"), "links");
  }

  /** Deletes a link to a filed check. */
  async deleteReportLink(id: string, link: string): Promise<void> {
    await this.request("DELETE", pathOf("decisions", id, "links", link));
  }

  /** Starts long work, such as `{ kind: "verify" }`. */
  startJob(task: Schemas["Task"]): Promise<Schemas["Job"]> {
    return this.#send("POST", "/v1/jobs", task, { headers: once() });
  }

  /** A job. */
  job(id: number): Promise<Schemas["Job"]> {
    return this.#json("GET", pathOf("jobs", id));
  }

  /** Cancels a job. It ends soon after. */
  cancelJob(id: number): Promise<Schemas["Job"]> {
    return this.#json("POST", pathOf("jobs", id, "cancel"));
  }

  /** All jobs, the newest first. */
  jobs(): AsyncGenerator<Schemas["Job"], void> {
    return this.#pages("/v1/jobs", "jobs");
  }

  /** The groups of books that are the same, as a job of the kind `duplicates` found them. */
  duplicateGroups(job: number): AsyncGenerator<Schemas["DuplicateGroup"], void> {
    return this.#pages(pathOf("jobs", job, "groups"), "groups");
  }

  /** The books that overlap, as such a job found them. */
  duplicateOverlaps(job: number): AsyncGenerator<Schemas["DuplicateOverlap"], void> {
    return this.#pages(pathOf("jobs", job, "overlaps"), "overlaps");
  }

  /** Says what all books of a group are; without `resolution`, takes that back. */
  async resolveDuplicates(books: Schemas["BookKey"][], resolution?: Schemas["DuplicateResolution"]): Promise<void> {
    const body = JSON.stringify({ books, resolution });
    await this.request("POST", "/v1/duplicates", { headers: JSON_BODY, body });
  }

  /**
   * Has events of a library posted to a URL, by default of books that match others. `verifyWebhook` reads what comes, with the `secret`
   * of the answer.
   */
  putWebhook(library: string, url: string, events?: Schemas["EventType"][]): Promise<Schemas["MadeWebhook"]> {
    return this.#send("PUT", pathOf("libraries", library, "webhook"), { url, events });
  }

  /** Stops that. */
  async deleteWebhook(library: string): Promise<void> {
    await this.request("DELETE", pathOf("libraries", library, "webhook"));
  }

  /** The webhooks of all libraries. */
  webhooks(): AsyncGenerator<Schemas["Webhook"], void> {
    return this.#pages("/v1/webhooks", "webhooks");
  }

  /** Has events posted to a URL of what the key sees, by default all: decisions about its checks, its books, its sources. */
  putOwnWebhook(url: string, events?: Schemas["EventType"][]): Promise<Schemas["MadeKeyWebhook"]> {
    return this.#send("PUT", pathOf("me", "webhook"), { url, events });
  }

  /** The webhook of the key, and how it works. */
  ownWebhook(): Promise<Schemas["KeyWebhook"]> {
    return this.#json("GET", pathOf("me", "webhook"));
  }

  /** Stops that. */
  async deleteOwnWebhook(): Promise<void> {
    await this.request("DELETE", pathOf("me", "webhook"));
  }

  /** Has the events sent again of a change in the audit log, which events name, and of all later ones. */
  async replayOwnWebhook(change: number): Promise<void> {
    const body = JSON.stringify({ from: change });
    await this.request("POST", pathOf("me", "webhook", "replay"), { headers: JSON_BODY, body });
  }

  /** Sends a test to the webhook of the key, and answers whether it arrived. */
  testOwnWebhook(): Promise<Schemas["WebhookTest"]> {
    return this.#json("POST", pathOf("me", "webhook", "test"));
  }
}

function pathOf(...parts: (string | number)[]): string {
  return `/v1/${parts.map(encodeURIComponent).join("/")}`;
}

/** A query. Lists become several parameters of the same name. */
function written(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) parameters.append(name, String(one));
    }
  }
  return parameters.size ? `?${parameters}` : "";
}

function headersOf({ ifMatch, ifNoneMatch }: Conditions = {}): Record<string, string> {
  return { ...(ifMatch && { "if-match": ifMatch }), ...(ifNoneMatch && { "if-none-match": ifNoneMatch }) };
}

async function errorOf(response: Response): Promise<ApiError> {
  const retryAfter = response.headers.get("retry-after") ?? "";
  return new ApiError(await problemOf(response), /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined);
}

/** The problem that the server tells. What something on the way tells may lack fields, or be cut off. */
async function problemOf(response: Response): Promise<Problem> {
  const { status, statusText, url } = response;
  const text = await response.text();
  const detail = `${url} answered ${status} ${statusText}: ${text.slice(0, 200)}`;
  const problem = { type: "about:blank", title: statusText, status, code: "unknown", detail };
  if (!response.headers.get("content-type")?.startsWith("application/problem+json")) return problem;
  try {
    return { ...problem, ...JSON.parse(text) };
  } catch {
    return problem;
  }
}

/** Names a request, so that the server does what it asks for once if it is sent again. */
function once(): Record<string, string> {
  // `randomUUID` is there only for pages of HTTPS.
  const random = crypto.getRandomValues(new Uint8Array(16));
  return { "idempotency-key": Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("") };
}

/** Lines of JSON, as many at a time as can be sent at once. */
function* pieces(entries: Iterable<object>): Generator<string[], void> {
  let [piece, size]: [string[], number] = [[], 0];
  for (const entry of entries) {
    const line = `${JSON.stringify(entry)}\n`;
    // A character of a string has at most three bytes.
    const bytes = 3 * line.length;
    if (piece.length && size + bytes > AT_ONCE) {
      yield piece;
      [piece, size] = [[], 0];
    }
    piece.push(line);
    size += bytes;
  }
  if (piece.length) yield piece;
}
