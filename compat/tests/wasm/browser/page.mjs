// Runs the checks in this thread, which may be the main one of a page or that of a worker.

import start, { initThreadPool, run_checks } from "./program/scratch.js";

const settings = new URL(globalThis.location).searchParams;
if (settings.get("thread") === "worker" && globalThis.document) {
  new Worker(globalThis.location.href.replace("?", "page.mjs?"), { type: "module" });
} else {
  await run();
}

async function run() {
  // Called by the program, which does not return to the event loop before the end.
  globalThis.tell = tell;
  try {
    await start();
    await initThreadPool(Number(settings.get("workers")));
    run_checks();
    tell("end");
  } catch (error) {
    tell(`error: ${error.stack}`);
  }
}

/** Tells the server, and waits until it knows. */
function tell(text) {
  const request = new XMLHttpRequest();
  request.open("POST", "tell", false);
  request.send(text);
}
