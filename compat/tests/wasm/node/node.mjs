// Runs a WebAssembly program with threads under node: node.mjs FILE [ARGUMENT...]
//
// The program is for the target wasm32-wasip1-threads. It imports its memory, which all threads share,
// and asks for a thread by calling `thread-spawn`. Each thread is a worker of node with an instance of
// its own. See https://github.com/WebAssembly/wasi-threads

import { readFileSync, writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { WASI } from "node:wasi";
import { Worker, isMainThread, workerData } from "node:worker_threads";

/** After so many milliseconds, a program that has not ended fails. */
const LIMIT = 120_000;

const shared = isMainThread ? prepare(process.argv.slice(2)) : workerData.shared;
const { args, module, memory, lastThread } = shared;

const wasi = new WASI({ version: "preview1", args, env: process.env });
const instance = new WebAssembly.Instance(module, {
  wasi_snapshot_preview1: wasi.wasiImport,
  env: { memory },
  wasi: { "thread-spawn": spawn },
});
const exports = { ...instance.exports, memory };
if (isMainThread) {
  // The main thread may wait for good, and then no timer of its own comes.
  new Worker(new URL(import.meta.url), { workerData: { shared, isWatchdog: true } });
  // Ends threads that still run, as a process does.
  process.exit(wasi.start({ exports }));
}
if (workerData.isWatchdog) {
  setTimeout(() => fail(`no end after ${LIMIT} ms`), LIMIT);
} else {
  wasi.initialize({ exports: { memory } });
  try {
    instance.exports.wasi_thread_start(workerData.thread, workerData.start);
  } catch (error) {
    fail(error.stack);
  }
}

/** Ends the process, as a trap in any of its threads does. */
function fail(why) {
  writeSync(2, `${why}\n`);
  process.kill(process.pid, "SIGKILL");
}

/** Loads a program, and makes what all of its threads share. */
function prepare(args) {
  const module = new WebAssembly.Module(readFileSync(args[0]));
  // In pages of 64 KiB; the maximum is that of the linker for this target.
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 16384, shared: true });
  const lastThread = new Int32Array(new SharedArrayBuffer(4));
  return { args, module, memory, lastThread };
}

/** Starts a thread, and returns its number. */
function spawn(start) {
  const thread = Atomics.add(lastThread, 0, 1) + 1;
  new Worker(fileURLToPath(import.meta.url), { workerData: { shared, thread, start } });
  return thread;
}
