// Serves pages on 127.0.0.1, and runs scripts in them, in Chromium through chromedriver.
import { spawn, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { once } from "node:events";
import { extname } from "node:path";

export const missing = ["chromedriver", "chromium"].find((program) => spawnSync(program, ["--version"]).error);

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

/** A server; `answer` returns the bytes of a path, or nothing, or responds itself and returns `true`. */
export async function serve(answer) {
  const server = createServer(async (request, response) => {
    try {
      const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
      const bytes = await answer(path, request, response);
      if (bytes === true) return;
      const headers = {
        "content-type": TYPES[extname(path)] ?? "application/octet-stream",
        "content-security-policy": "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'",
      };
      response.writeHead(bytes === undefined ? 404 : 200, headers).end(bytes);
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** A browser, in which `run` executes the body of an asynchronous function; `element` and `type` are for forms. */
export async function chromium() {
  const driver = spawn("chromedriver", ["--port=0"], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  const port = await new Promise((resolve, reject) => {
    driver.stdout.on("data", (some) => {
      said += some;
      const found = /successfully on port (\d+)/.exec(said);
      if (found) resolve(found[1]);
    });
    driver.on("exit", () => reject(new Error(said)));
  });
  const call = async (method, path, body) => {
    const url = `http://127.0.0.1:${port}/session${path}`;
    const { value } = await (await fetch(url, { method, body: body && JSON.stringify(body) })).json();
    if (value?.error) throw new Error(`${value.error}: ${value.message}`);
    return value;
  };
  const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
  const alwaysMatch = { "goog:chromeOptions": { args }, timeouts: { script: 600_000 } };
  const { sessionId } = await call("POST", "", { capabilities: { alwaysMatch } });
  const post = (path, body) => call("POST", `/${sessionId}${path}`, body);
  return {
    open: (url) => post("/url", { url }),
    run: async (body) => {
      const script = `const done = arguments[0];
        (async () => { ${body} })().then((value) => done({ value }), (error) => done({ error: String(error.stack ?? error) }));`;
      const { value, error } = await post("/execute/async", { script, args: [] });
      if (error) throw new Error(error);
      return value;
    },
    type: async (selector, text) => {
      const found = Object.values(await post("/element", { using: "css selector", value: selector }))[0];
      await post(`/element/${found}/value`, { text });
    },
    close: async () => {
      await call("DELETE", `/${sessionId}`).catch(() => {});
      driver.kill();
    },
  };
}
