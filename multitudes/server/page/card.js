// The model's card: what it is, what it was made from, how good it is.
import * as api from "./api.js";
import { alarm, byId, counted, el } from "./dom.js";

const VERBS = { train: "Trained", update: "Updated", calibrate: "Calibrated", evaluate: "Evaluated" };

/** Show what is known about a model. */
export async function showCard(name) {
  try {
    const about = await api.card(name);
    byId("model-title").textContent = about.name;
    byId("card").replaceChildren(el("div", { class: "panel" },
      facts(aboutModel(about)), el("ol", { class: "past" }, (about.card ?? []).map(step))));
  } catch (error) {
    alarm(error.message);
  }
}

function aboutModel(about) {
  return {
    Kind: about.model,
    Labels: about.n_labels.toLocaleString("en"),
    Size: size(about.n_bytes),
    Numbers: about.has_probabilities ? "probabilities" : "scores, which compare within one text only",
    "How many labels": about.has_sets ? "it can choose by itself" : "you choose",
    "Senses of labels": about.has_senses ? "yes" : "no",
    Version: code(about.version),
    Loaded: moment(about.loaded_at),
    Library: `multitudes ${about.library_version}`,
  };
}

/** Return one thing that was done to the model. */
function step(one) {
  const { verb, date, command, data, metrics, notes, library_version: version } = one;
  const learned = data && [
    data.name, data.n_instances !== undefined && counted(data.n_instances, "text"),
    data.n_labels !== undefined && counted(data.n_labels, "label"),
  ].filter(Boolean).join(", ");
  return el("li", {},
    el("h2", {}, VERBS[verb] ?? verb ?? "Made", date ? el("span", { class: "hint" }, `  ${moment(date)}`) : null),
    facts({
      Data: learned, Command: command && code(command),
      Notes: notes?.length ? el("ul", {}, notes.map((note) => el("li", {}, note))) : null,
      Library: version && `multitudes ${version}`,
    }),
    metrics && Object.keys(metrics).length ? measured(metrics) : null);
}

function facts(given) {
  return el("dl", { class: "facts" }, Object.entries(given)
    .filter(([, value]) => value)
    .flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

const code = (text) => el("code", {}, String(text));

function moment(text) {
  const date = new Date(text);
  return Number.isNaN(date.valueOf()) ? String(text)
    : date.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" });
}

function size(bytes) {
  if (typeof bytes !== "number") return null;
  const [unit, name] = bytes >= 1e9 ? [1e9, "GB"] : bytes >= 1e6 ? [1e6, "MB"] : [1e3, "kB"];
  return `${Number((bytes / unit).toPrecision(3))} ${name}`;
}

function measured(metrics) {
  const rows = Object.entries(metrics).map(([name, value]) =>
    el("tr", {}, el("th", { scope: "row" }, name),
      el("td", { class: "number" }, typeof value === "number" ? String(Number(value.toFixed(4))) : JSON.stringify(value))));
  return el("div", { class: "scroll" }, el("table", {}, el("caption", { class: "unseen" }, "Measured"), el("tbody", {}, rows)));
}
