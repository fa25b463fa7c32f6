// What is known about a label: words behind it in this text, senses, place, neighbors, examples.
import * as api from "./api.js";
import { counted, el } from "./dom.js";
import { light } from "./lights.js";

const FAINT = 0.15; // the least share of the strongest word's weight that is listed
const WORDS = 8; // shown of those behind a label
const NEAR = 6;
const SENSE_WORDS = 6;
const EXAMPLES = 3;
const LONGEST = 220; // characters of an example

export class Opened {
  constructor(one, model) {
    this.label = one.label;
    this.title = one.title;
    this.model = model;
    this.words = el("div", { class: "inside-part" }, hint("Looking for the words behind it …"));
    this.rest = el("div", { class: "inside-part inside-rest" });
    this.element = el("div", { class: "inside" }, this.words, this.rest);
    this.explaining = new api.Latest();
    this.describing = new api.Latest();
  }

  /** Show the words of a text that speak for the label, and light them up. */
  async explain(text) {
    if (text === this.explained) return;
    this.explained = text;
    await this.filling(this.words, this.explaining, async (signal) => {
      const { words } = await api.explain(text, this.label, this.model.name, signal);
      return () => {
        light(text, words);
        const lists = words.length ? wordLists(words) : [];
        return lists.length ? lists : hint("No word of the text stands out, or this model cannot say which do.");
      };
    });
  }

  /** Show what is known about the label whatever the text. */
  async describe() {
    await this.filling(this.rest, this.describing, async (signal) => {
      const known = await api.details(this.label, this.model.name, signal);
      return () => described(known, this.label);
    });
  }

  async filling(place, latest, asked) {
    try {
      const shown = await latest.run(asked);
      if (shown) place.replaceChildren(...[shown()].flat());
    } catch (error) {
      place.replaceChildren(hint(error.message));
    }
  }

  end() {
    this.explaining.stop();
    this.describing.stop();
    this.element.remove();
    light("");
  }
}

const hint = (message) => el("p", { class: "hint" }, message);

const section = (title, ...content) => el("div", {}, el("h3", {}, title), ...content);

/** Return the words that count, for the label and against it, strongest first. */
function wordLists(words) {
  const largest = Math.max(...words.map((one) => Math.abs(one.weight))) || 1;
  const counts = words.filter((one) => Math.abs(one.weight) >= FAINT * largest);
  const by = (sign) => counts
    .filter((one) => sign * one.weight > 0)
    .sort((a, b) => sign * (b.weight - a.weight))
    .slice(0, WORDS);
  const [pro, contra] = [by(1), by(-1)];
  return [
    pro.length ? section("Words behind it", wordChips(pro, largest)) : null,
    contra.length ? section("Words against it", wordChips(contra, largest)) : null,
  ].filter(Boolean);
}

function wordChips(words, largest) {
  return el("ul", { class: "chips" }, words.map(({ word, weight }) => {
    const number = `${weight < 0 ? "−" : "+"}${Math.abs(weight).toFixed(2)}`;
    const chip = el("li", { class: weight < 0 ? "chip" : "chip for" }, word, el("small", {}, number));
    chip.style.setProperty("--strength", (Math.abs(weight) / largest).toFixed(2));
    return chip;
  }));
}

/** Return the parts of what is known about a label that there are. */
function described(known, label) {
  const parts = [];
  if (known.title && known.title !== label) parts.push(section("Name", el("p", {}, label)));
  if (known.alternatives?.length) parts.push(section("Also called", chips(known.alternatives)));
  if (known.senses?.length > 1) parts.push(section("Senses", senseList(known.senses)));
  if (known.path?.length) parts.push(section("Place in the tree", levels(known.path, known.title ?? label)));
  if (known.nearest?.length) parts.push(section("Nearest labels", chips(known.nearest.slice(0, NEAR))));
  if (known.examples?.length) parts.push(section("Example texts", examples(known.examples)));
  return parts.length ? parts : [hint("Nothing else is stored about this label.")];
}

const chips = (given) => el("ul", { class: "chips" }, given.map(chip));

function chip(one) {
  if (typeof one === "string") return el("li", { class: "chip" }, one);
  const near = one.similarity === undefined ? null : el("small", {}, one.similarity.toFixed(2));
  return el("li", { class: "chip" }, one.title ?? one.label, near);
}

function senseList(senses) {
  return el("ol", { class: "senses" }, senses.map((sense, i) => {
    const words = sense.words.slice(0, SENSE_WORDS).map(([word]) => word);
    return el("li", {},
      hint(`Sense ${i + 1}, of ${counted(sense.n_texts, "text")}`),
      words.length ? chips(words) : null,
      sense.nearest.length ? el("p", { class: "beside" }, `beside ${listed(sense.nearest)}`) : null,
      sense.examples.length ? el("p", { class: "quote" }, shortened(sense.examples[0])) : null);
  }));
}

/** Show which labels share the branches that lead to this one, from the root on. */
function levels(path, name) {
  const rows = path.map((neighbors, i) =>
    el("li", {}, el("span", { class: "hint" }, `Branch ${i + 1}`), el("span", {}, `with ${listed(neighbors)}`)));
  return el("ol", { class: "levels" }, rows, el("li", {}, el("span", { class: "hint" }, "Label"), el("strong", {}, name)));
}

const listed = (labels) => labels.slice(0, NEAR).map((one) => one.title ?? one.label).join(", ");

const examples = (texts) =>
  el("ul", { class: "examples" }, texts.slice(0, EXAMPLES).map((text) => el("li", {}, shortened(text))));

const shortened = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST).trimEnd()} …` : text);
