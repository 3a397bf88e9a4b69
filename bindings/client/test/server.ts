// A server to test with.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";

/** Starts a server with an empty catalogue and a key. */
export async function start(): Promise<{ url: string; key: string; stop: () => Promise<void> }> {
  const program = process.env.LAPIDARY!;
  const folder = mkdtempSync(`${tmpdir()}/lapidary-client-`);
  const data = ["--data", `${folder}/catalogue`];
  const made = execFileSync(program, ["keys", "add", ...data, "--role", "admin", "client"], { stdio: ["ignore", "pipe", "ignore"] });
  const server = spawn(program, ["serve", ...data, "--listen", "127.0.0.1:0", "--private-webhooks"], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(server, "exit");
  let said = "";
  const url = await new Promise<string>((resolve, reject) => {
    server.stderr.on("data", (some) => {
      said += some;
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (found) resolve(found[0]);
    });
    server.on("exit", () => reject(new Error(said)));
  });
  const stop = async () => {
    server.kill();
    await ended;
    rmSync(folder, { recursive: true });
  };
  return { url, key: made.toString().trim(), stop };
}

/** A made-up book. */
export const prose = (seed: number, words = 4_000) =>
  Array.from({ length: words }, (_, i) => `${(Math.imul(i + 1, seed) >>> 0).toString(36)}stone`).join(" ");
