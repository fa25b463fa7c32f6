// Starts the page: asks which models there are, and goes between its views.
import * as api from "./api.js";
import { showCard } from "./card.js";
import { Draft } from "./correcting.js";
import { Desk } from "./desk.js";
import { alarm, byId, el } from "./dom.js";
import { showPast } from "./past.js";
import { Table } from "./table.js";

const VIEWS = ["text", "table", "model", "corrections"];

const page = { models: [], model: null, other: null };

async function start() {
  try {
    await api.start();
    page.models = await api.models();
  } catch (error) {
    alarm(error.message);
    return;
  }
  page.draft = new Draft({
    isOn: api.settings.corrections,
    changed: () => page.desk?.lists.forEach((list) => list.markAll()),
    sent: () => {},
  });
  page.desk = new Desk(page.draft, (file) => {
    window.location.hash = "table";
    page.table.open(file);
  });
  page.draft.text = () => page.desk.text;
  page.table = new Table();
  document.querySelector("#views [href='#corrections']").hidden = !api.settings.corrections;
  keepFromLeaving();
  offerModels();
  choose(page.models[0].name);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // its address is no view
    byId("main").focus();
  });
  window.addEventListener("hashchange", () => { show(); focusTitle(); });
  show();
  document.body.dataset.ready = "true";
}

/** A file that is dropped beside the places for files would be opened instead of this page. */
function keepFromLeaving() {
  for (const kind of ["dragover", "drop"]) {
    window.addEventListener(kind, (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
  }
}

/** Fill the fields for a model, and for another to compare it with. */
function offerModels() {
  const { models } = page;
  byId("model").replaceChildren(...models.map(({ name }) => el("option", { value: name }, name)));
  byId("model-choice").hidden = byId("other-choice").hidden = models.length < 2;
  byId("model").addEventListener("change", () => choose(byId("model").value));
  byId("other").addEventListener("change", () => compare(byId("other").value));
}

function choose(name) {
  const before = page.other?.name;
  page.model = page.models.find((one) => one.name === name);
  const others = page.models.filter((one) => one.name !== name);
  byId("other").replaceChildren(el("option", { value: "" }, "no other"),
    ...others.map((one) => el("option", { value: one.name }, one.name)));
  page.draft.use(page.model);
  page.table.use(page.model);
  compare(before !== name && before ? before : "");
  if (current() === "model") showCard(name);
}

function compare(name) {
  page.other = page.models.find((one) => one.name === name) ?? null;
  byId("other").value = name;
  page.desk.use(page.other ? [page.model, page.other] : [page.model]);
}

function current() {
  const wanted = window.location.hash.slice(1);
  const known = VIEWS.includes(wanted) && (wanted !== "corrections" || api.settings.corrections);
  return known ? wanted : "text";
}

function show() {
  const view = current();
  alarm();
  for (const name of VIEWS) byId(`view-${name}`).hidden = name !== view;
  for (const link of byId("views").children) {
    if (link.hash === `#${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const title = byId(`view-${view}`).querySelector("h1").textContent;
  document.title = view === "text" ? "multitudes" : `${title} · multitudes`;
  if (view === "model") showCard(page.model.name);
  if (view === "corrections") showPast();
}

/** Let a keyboard go on, and a screen reader read on, where the new view begins. */
function focusTitle() {
  byId(`view-${current()}`).querySelector("h1").focus();
}

start();
