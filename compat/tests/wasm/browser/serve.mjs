// Shows a page in a browser, and prints what it tells: serve.mjs DIRECTORY THREAD WORKERS
//
// THREAD is `main` or `worker`, the thread of the page that calls the program. The page shares memory
// with its workers, which a browser allows only with the two headers below.

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";

/** After so many milliseconds, a page that has not told its end fails. */
const LIMIT = 120_000;

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
};

const [directory, thread, workers] = process.argv.slice(2);
let browser;
const server = createServer((request, response) =>
  request.method === "POST" ? hear(request, response) : serve(request, response),
);
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address();
  const page = `http://127.0.0.1:${port}/?thread=${thread}&workers=${workers}`;
  const options = ["--no-sandbox", "--disable-gpu", `--user-data-dir=${join(directory, "profile")}`];
  // Without a port it would print the page and end.
  const all = [...options, "--remote-debugging-port=0", page];
  // A group of its own, which ends as a whole.
  browser = spawn("chromium-headless-shell", all, { stdio: "ignore", detached: true });
  browser.on("error", (error) => finish(String(error), 1));
  browser.on("exit", () => finish("the browser has ended", 1));
});
setTimeout(() => finish(`no end after ${LIMIT} ms`, 1), LIMIT);

/** Prints what the page tells. */
async function hear(request, response) {
  let text = "";
  for await (const part of request) {
    text += part;
  }
  response.end();
  if (text === "end") {
    finish("", 0);
  } else if (text.startsWith("error")) {
    finish(text, 1);
  } else {
    console.log(text);
  }
}

/** Sends a file of the page. */
async function serve(request, response) {
  const { pathname } = new URL(request.url, "http://localhost");
  const file = join(directory, pathname === "/" ? "index.html" : pathname);
  try {
    const content = await readFile(file);
    response.writeHead(200, {
      "Content-Type": TYPES[extname(file)] ?? "application/octet-stream",
      "Cross-Origin-Opener-Policy": "same-origin",
      "Cross-Origin-Embedder-Policy": "require-corp",
    });
    response.end(content);
  } catch {
    response.writeHead(404);
    response.end();
  }
}

/** Ends the browser and this program. */
function finish(why, code) {
  if (why) {
    console.error(why);
  }
  browser?.removeAllListeners();
  if (browser?.pid) {
    process.kill(-browser.pid, "SIGKILL");
  }
  process.exit(code);
}
