// The desk: a text, and its labels as it is typed; two lists if two models are compared.
import * as api from "./api.js";
import { Amount } from "./amount.js";
import { copy, written } from "./copying.js";
import { alarm, byId, counted, el, paused, say } from "./dom.js";
import { readText, takeFiles } from "./files.js";
import { LabelList, nameOf, shownScore } from "./labels.js";
import { follow, light } from "./lights.js";

const PAUSE = 150; // milliseconds without a keystroke before the server is asked
const QUIET = 1200; // before a screen reader is told

export class Desk {
  /** `takeTable` is given files that are tables. */
  constructor(draft, takeTable) {
    this.draft = draft;
    this.takeTable = takeTable;
    this.field = byId("text");
    this.latest = new api.Latest();
    this.reading = new api.Latest();
    this.lists = [];
    this.answers = [];
    this.amount = new Amount(byId("amount"), () => this.amountChanged());
    this.askSoon = paused(() => this.ask(), PAUSE);
    this.tell = paused((message) => say(message), QUIET);
    this.field.addEventListener("input", () => this.typed());
    this.field.addEventListener("scroll", follow);
    byId("clear").addEventListener("click", () => { this.put(""); this.field.focus(); });
    takeFiles(byId("writing"), byId("open-file"), byId("file"), (file) => this.read(file));
    for (const button of byId("copies").querySelectorAll("button")) {
      button.addEventListener("click", () => this.copy(button.dataset.form));
    }
    this.empty();
  }

  get text() {
    return this.field.value;
  }

  /** Ask these models from now on: one, or two to compare. */
  use(models) {
    this.models = models;
    this.answers = [];
    for (const list of this.lists) list.close();
    this.lists = models.map((model) => new LabelList({
      model, isNamed: models.length > 1, draft: this.draft?.isOn ? this.draft : undefined,
      chosen: (mine) => this.lists.filter((list) => list !== mine).forEach((list) => list.close()),
    }));
    document.querySelector(".desk").classList.toggle("both", models.length > 1);
    this.amount.offer({
      has_probabilities: models.every((model) => model.has_probabilities),
      has_sets: models.every((model) => model.has_sets),
    });
    this.empty();
    this.ask();
  }

  typed() {
    light(""); // until the words behind the label are known again
    this.counted();
    this.askSoon();
  }

  put(text) {
    this.field.value = text;
    this.field.scrollTop = 0;
    this.draft?.reset();
    light("");
    this.counted();
    this.ask();
  }

  counted() {
    const words = this.text.match(/\S+/gu)?.length ?? 0;
    byId("count").textContent = words ? counted(words, "word") : "";
    byId("clear").hidden = !this.text;
  }

  async read(file) {
    alarm();
    if (/\.[ct]sv$/iu.test(file.name)) {
      this.takeTable(file);
      return;
    }
    byId("count").textContent = `Reading ${file.name} …`;
    try {
      const text = await this.reading.run((signal) => readText(file, signal));
      if (text !== undefined) this.put(text);
      if (text?.trim() === "") alarm(`“${file.name}” has no text. If it was scanned, it needs OCR first.`);
    } catch (error) {
      this.counted();
      alarm(error.message);
    }
  }

  /** Ask for the labels of the text; what was asked before is not shown any more. */
  async ask() {
    const { text, models } = this;
    if (!models) return;
    if (!text.trim()) {
      this.latest.stop();
      this.answers = [];
      this.empty();
      return;
    }
    byId("lists").setAttribute("aria-busy", "true");
    try {
      const answers = await this.latest.run((signal) => Promise.all(models.map((model) =>
        api.predict({ texts: [text], model: model.name, ...this.amount.request(model) }, signal))));
      if (!answers) return;
      alarm();
      this.answers = answers.map(([labels]) => labels);
      this.asked = { text, mode: this.amount.mode };
      this.show();
    } catch (error) {
      alarm(error.message);
    }
    byId("lists").removeAttribute("aria-busy");
  }

  amountChanged() {
    const needsOthers = (this.amount.mode === "set") !== (this.asked?.mode === "set");
    if (needsOthers) this.ask();
    else if (this.answers.length) this.show();
  }

  /** Return the labels that are shown, of each model. */
  get shown() {
    return this.answers.map((labels) => this.amount.kept(labels));
  }

  show() {
    const { shown } = this;
    const sets = shown.map((labels) => new Set(labels.map((one) => one.label)));
    this.lists.forEach((list, i) => {
      list.show(shown[i], this.asked.text, shown.length > 1 ? [...sets[1 - i]] : null);
    });
    const lists = byId("lists");
    const elements = this.lists.map((list) => list.element);
    if (lists.firstChild !== elements[0] || lists.childElementCount !== elements.length) {
      lists.replaceChildren(...elements);
    }
    byId("copies").hidden = !shown.some((labels) => labels.length);
    this.draft?.offer();
    byId("kind").textContent = this.remark(sets);
    this.tell(this.summary(shown));
  }

  empty() {
    for (const list of this.lists) list.close();
    byId("lists").replaceChildren(el("p", { class: "empty" }, "Labels appear here as you type."));
    byId("lists").removeAttribute("aria-busy");
    byId("copies").hidden = byId("correcting").hidden = true;
    byId("kind").textContent = "";
  }

  /** Say what the numbers are, or in what two models differ. */
  remark([mine, others]) {
    const all = this.models.every((model) => model.has_probabilities);
    const none = this.models.every((model) => !model.has_probabilities);
    const kinds = all
      ? "Probabilities: of labels with 80 %, about 8 in 10 are right."
      : none ? "Scores, not probabilities: compare them within this text only."
        : this.models.map((one) => `${one.name}: ${one.has_probabilities ? "probabilities" : "scores"}.`).join(" ");
    if (!others) return kinds;
    const common = [...mine].filter((label) => others.has(label)).length;
    return `${counted(common, "label")} in common, ${mine.size - common} only in ${this.models[0].name}, ${others.size - common} only in ${this.models[1].name}. ${kinds}`;
  }

  summary(shown) {
    return shown.map((labels, i) => {
      const best = labels.slice(0, 3).map((one) =>
        `${nameOf(one)} ${shownScore(one.score, this.models[i].has_probabilities)}`);
      return `${shown.length > 1 ? `${this.models[i].name}: ` : ""}${counted(labels.length, "label")}${best.length ? `, first ${best.join(", ")}` : ""}.`;
    }).join(" ");
  }

  async copy(form) {
    const { shown } = this;
    const several = shown.length > 1;
    const labels = shown.flatMap((one, i) =>
      (several && form === "json" ? one.map((label) => ({ model: this.models[i].name, ...label })) : one));
    const kind = this.models.every((model) => model.has_probabilities) ? "probability" : "score";
    try {
      const once = form === "json" ? labels : unique(labels);
      await copy(written(once, form, kind));
      say(`Copied ${counted(once.length, "label")}.`);
      this.copied(form);
    } catch (error) {
      alarm(error.message);
    }
  }

  /** Show for a moment that a form was copied. */
  copied(form) {
    const button = byId("copies").querySelector(`[data-form=${form}]`);
    const name = button.dataset.name ??= button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = name; }, 1500);
  }
}

const unique = (labels) => [...new Map(labels.map((one) => [one.label, one]).reverse()).values()].reverse();
