// Corrections that were sent: the last of them, and all as a file.
import * as api from "./api.js";
import { alarm, byId, counted, download, el } from "./dom.js";

const SHOWN = 50;
const LONGEST = 300; // characters of a text
const SIGNS = { accepted: "✓", rejected: "✕", added: "+" };

/** Show the corrections that were sent. */
export async function showPast() {
  const place = byId("corrections");
  try {
    const { corrections, total } = await api.corrections(SHOWN);
    const newest = corrections.toSorted((a, b) => b.id - a.id);
    const save = el("button", { type: "button", onclick: saveAll }, "Download all as JSON lines");
    place.replaceChildren(el("div", { class: "panel" },
      el("p", { class: "hint" }, remark(newest.length, total)),
      total ? el("div", { class: "line" }, save) : null,
      el("ol", { class: "past" }, newest.map(entry))));
  } catch (error) {
    alarm(error.message);
  }
}

function remark(shown, total) {
  if (!total) return "None yet. Labels can be accepted, rejected and added below each text.";
  const all = `${counted(total, "correction")} so far${shown < total ? `, of which these are the last ${shown}` : ""}.`;
  return `${all} A model learns from them by “multitudes update”.`;
}

function entry(one) {
  const chips = Object.entries(SIGNS).flatMap(([kind, sign]) => one[kind].map((label) =>
    el("li", { class: kind === "rejected" ? "chip struck" : "chip for" },
      el("span", { "aria-hidden": "true" }, sign), el("span", { class: "word" }, label), el("span", { class: "unseen" }, ` ${kind}`))));
  const moment = new Date(one.time).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" });
  return el("li", {},
    el("p", { class: "quote" }, one.text.length > LONGEST ? `${one.text.slice(0, LONGEST)} …` : one.text),
    el("ul", { class: "chips" }, chips),
    el("p", { class: "hint" }, [moment, one.model].filter(Boolean).join(" · ")));
}

async function saveAll() {
  try {
    download("corrections.jsonl", "application/jsonl", [await api.exportCorrections()]);
  } catch (error) {
    alarm(error.message);
  }
}
