// The server's addresses as functions. A key is asked for when the server wants one.
import { byId } from "./dom.js";

const KEPT = "multitudes-key"; // in this tab, until it is closed
const TRIES = 6; // of a request that the server has no room for

/** What the server says when it does not do what it was asked. */
export class Refused extends Error {
  constructor(message, status, seconds) {
    super(message);
    this.status = status;
    this.seconds = seconds;
  }
}

/** Send a request and return what the answer holds. */
async function ask(path, options = {}) {
  for (;;) {
    const answer = await sent(path, options);
    if (answer.status !== 401) return answer.ok ? answer : Promise.reject(await refusal(answer));
    await newKey(Boolean(sessionStorage.getItem(KEPT)));
  }
}

async function sent(path, options) {
  const key = sessionStorage.getItem(KEPT);
  const headers = { ...options.headers, ...(key ? { authorization: `Bearer ${key}` } : {}) };
  try {
    return await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is it still running?", 0);
  }
}

async function refusal(answer) {
  let message = `The server answered ${answer.status}.`;
  try {
    message = (await answer.json()).error ?? message;
  } catch { /* not from our server: a proxy, perhaps */ }
  return new Refused(message, answer.status, Number(answer.headers.get("retry-after")) || 1);
}

const get = async (path, signal) => (await ask(path, { signal })).json();

const post = async (path, content, signal) => {
  const headers = { "content-type": "application/json" };
  return (await ask(path, { method: "POST", body: JSON.stringify(content), headers, signal })).json();
};

const query = (given) => new URLSearchParams(given).toString();

/** What this server takes; `start` fills it in. */
export const settings = {};

/** Ask the server what it takes. */
export async function start() {
  Object.assign(settings, await get("/static/settings.json"));
}

export const models = async () => (await get("/v1/models")).models;

export const card = (name) => get(`/v1/models/${encodeURIComponent(name)}`);

/** Return the labels of each text, best first. */
export const predict = async (request, signal) =>
  (await post("/v1/predict", request, signal)).predictions.map((one) => one.labels);

export const explain = (text, label, model, signal) =>
  post("/v1/explain", { text, label, model }, signal);

export const details = (label, model, signal) =>
  get(`/v1/labels/details?${query({ label, model })}`, signal);

export const labels = async (prefix, model, signal) =>
  (await get(`/v1/labels?${query({ prefix, model, limit: 12 })}`, signal)).labels;

export const corrections = (limit) => get(`/v1/corrections?${query({ limit, newest: true })}`);

export const correct = (content) => post("/v1/corrections", content);

export const exportCorrections = async () => (await ask("/v1/corrections/export")).blob();

/** Return the text of a PDF. */
export async function pdfText(file, signal) {
  const headers = { "content-type": "application/pdf" };
  const answer = await ask("/v1/text", { method: "POST", body: file, headers, signal });
  return (await answer.json()).text;
}

/** Do something again, for a while, as long as the server has no room for it. */
export async function patiently(act, signal) {
  for (let left = TRIES; ; left -= 1) {
    try {
      return await act();
    } catch (error) {
      const full = error.status === 429 || error.status === 503;
      if (!full || left <= 1 || signal.aborted) throw error;
      await new Promise((done) => { setTimeout(done, 1000 * Math.min(error.seconds, 10)); });
    }
  }
}

/** Runs one thing at a time: what was begun before is called off, and its answer dropped. */
export class Latest {
  async run(act) {
    this.stop();
    const mine = new AbortController();
    this.current = mine;
    try {
      const result = await act(mine.signal);
      return mine.signal.aborted ? undefined : result;
    } catch (error) {
      if (mine.signal.aborted) return undefined;
      throw error;
    }
  }

  stop() {
    this.current?.abort();
  }
}

let wanted = null;

/** Show the field for a key, and return when one was given. */
function newKey(refused) {
  wanted ??= new Promise((given) => {
    const form = byId("key");
    const field = byId("key-value");
    byId("key-wanted").textContent = refused
      ? "The server did not take that key. Please give another."
      : "This server asks for a key.";
    form.hidden = false;
    field.value = "";
    field.focus();
    form.onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEPT, field.value.trim());
      form.hidden = true;
      wanted = null;
      given();
    };
  });
  return wanted;
}
