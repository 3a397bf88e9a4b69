import type { Schemas } from "./index.js";

/** How far apart the clocks of sender and receiver may be, in seconds. */
const TOLERANCE = 300;

/** What is posted to a webhook. */
export type WebhookEvent = MatchedBookEvent | OtherEvent;

/** What is posted of everything but matches. Its data is described for each type by `webhooks` in the description of the API. */
export interface OtherEvent {
  type: Exclude<Schemas["EventType"], "book.matched"> | "webhook.test";
  /** When it happened. */
  timestamp: string;
  data: Record<string, unknown>;
}

/** What is posted of a book that matches others. */
export interface MatchedBookEvent {
  type: "book.matched";
  /** When the book was added. */
  timestamp: string;
  data: {
    /** The book that was added or replaced. */
    book: Schemas["BookRef"];
    /** The number of the change in the audit log. */
    change: number;
    /** The result of checking it against all other books. */
    report: Schemas["Report"];
  };
}

/** A request is not from the server that has the secret, or it is an old one. */
export class SignatureError extends Error {
  override name = "SignatureError";
}

/** The headers of a request, as `fetch` and Node.js have them. */
export type ReceivedHeaders = Headers | Record<string, string | string[] | undefined>;

/**
 * The event in a request to a webhook, if its signature (Standard Webhooks) is right and it was sent in the last five minutes. `secret` is
 * that of `putWebhook`, `headers` and `body` are those of the request as it came. The same event can come more than once, then with the
 * same header `webhook-id`.
 *
 * @throws {SignatureError}
 */
export async function verifyWebhook(secret: string, headers: ReceivedHeaders, body: string | Uint8Array): Promise<WebhookEvent> {
  const [id, at, signatures] = ["id", "timestamp", "signature"].map((name) => header(headers, `webhook-${name}`));
  if (!id || !at || !signatures) {
    throw new SignatureError("the request has no headers webhook-id, webhook-timestamp and webhook-signature");
  }
  // Also refuses what is not a number.
  if (!(Math.abs(Date.now() / 1000 - Number(at)) <= TOLERANCE)) {
    throw new SignatureError(`the request was sent more than ${TOLERANCE} seconds ago, or the clocks differ by more`);
  }
  const content = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  const signed = await new Blob([`${id}.${at}.`, content]).arrayBuffer();
  const key = await crypto.subtle.importKey("raw", keyOf(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  for (const signature of signatures.split(" ")) {
    const bytes = signature.startsWith("v1,") ? base64(signature.slice(3)) : undefined;
    if (bytes && (await crypto.subtle.verify("HMAC", key, bytes, signed))) return JSON.parse(new TextDecoder().decode(content));
  }
  throw new SignatureError("the signature is not that of this body and secret");
}

function header(headers: ReceivedHeaders, name: string): string | undefined {
  const value = headers instanceof Headers ? headers.get(name) : Object.entries(headers).find(([one]) => one.toLowerCase() === name)?.[1];
  return value?.toString();
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const key = base64(secret.replace(/^whsec_/, ""));
  if (!key?.length) throw new TypeError("the secret of a webhook is `whsec_` and Base64, as putWebhook returned it");
  return key;
}

function base64(written: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(written), (c) => c.charCodeAt(0));
  } catch {
    return undefined;
  }
}
