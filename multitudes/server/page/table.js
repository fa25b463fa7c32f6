// A whole table: its texts are labeled in pieces, and it is saved with its labels.
import * as api from "./api.js";
import { Amount } from "./amount.js";
import { csvLine, parseCsv } from "./csv.js";
import { alarm, byId, counted, download, el, say } from "./dom.js";
import { readTable, takeFiles } from "./files.js";

const PIECE = { texts: 50, characters: 100_000 }; // of one request
const PREVIEW = 5; // rows

export class Table {
  constructor() {
    const button = this.button = el("button", { type: "button", class: "strong" }, "Choose a CSV file");
    const field = el("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv", "aria-label": "CSV file", hidden: true });
    this.zone = el("div", { class: "drop" },
      el("p", {}, "Drop a CSV file here: every row gets its labels."), button, field,
      el("p", { class: "hint" }, "It is sent to this server in pieces, and comes back as CSV."));
    takeFiles(this.zone, button, field, (file) => this.open(file));
    this.work = el("div", { class: "panel" });
    byId("table").append(el("div", { class: "panel" }, this.zone, this.work));
  }

  use(model) {
    this.model = model;
    if (!this.running) this.amount?.offer(model);
  }

  async open(file) {
    alarm();
    this.running?.abort();
    this.running = null;
    try {
      const { rows, delimiter } = parseCsv(await readTable(file));
      if (!rows.length) throw new Error(`“${file.name}” has no rows.`);
      Object.assign(this, { file, rows, delimiter, hasNames: rows.length > 1, column: longestColumn(rows) });
      this.build();
    } catch (error) {
      this.work.replaceChildren();
      alarm(error.message);
    }
  }

  build() {
    this.preview = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The first rows" });
    this.chooser = el("select", { id: "column", onchange: () => { this.column = Number(this.chooser.value); this.show(); } });
    const names = el("input", { type: "checkbox", id: "names", onchange: () => { this.hasNames = names.checked; this.show(); } });
    names.checked = this.hasNames;
    const amount = el("div");
    this.amount = new Amount(amount, () => {});
    this.amount.offer(this.model);
    this.start = el("button", { type: "button", class: "strong", onclick: () => this.run() });
    this.cancel = el("button", { type: "button", onclick: () => this.running?.abort(), hidden: true }, "Cancel");
    this.save = el("button", { type: "button", class: "strong", onclick: () => this.saved(), hidden: true }, "Download CSV");
    this.progress = el("progress", { "aria-label": "Rows labeled", hidden: true });
    this.state = el("p", { class: "hint" });
    this.work.replaceChildren(el("h2", {}, this.file.name), this.preview,
      el("div", { class: "line" },
        el("div", { class: "choice" }, el("label", { for: "column" }, "Text is in"), this.chooser),
        el("div", { class: "choice" }, names, el("label", { for: "names" }, "The first row names the columns"))),
      amount, el("div", { class: "line" }, this.save, this.start, this.cancel), this.progress, this.state);
    this.zone.classList.add("small");
    this.button.textContent = "Choose another";
    this.button.classList.remove("strong");
    this.show();
  }

  get head() {
    return this.hasNames ? this.rows[0] : this.rows[0].map((_, i) => `Column ${i + 1}`);
  }

  get body() {
    return this.hasNames ? this.rows.slice(1) : this.rows;
  }

  /** Show the first rows, with the column of texts marked. */
  show() {
    this.labels = [];
    this.save.hidden = true;
    this.state.textContent = "";
    this.start.textContent = `Label ${counted(this.body.length, "row")}`;
    this.start.classList.add("strong");
    this.chooser.replaceChildren(...this.head.map((name, i) => el("option", { value: i }, name || `Column ${i + 1}`)));
    this.chooser.value = String(this.column);
    this.fillPreview();
  }

  fillPreview() {
    const head = this.labels.length ? [...this.head, ...this.newNames().slice(0, 1)] : this.head;
    const mark = (i) => (i === this.column ? "chosen" : i >= this.head.length ? "new" : undefined);
    const rows = this.body.slice(0, PREVIEW).map((row, at) => {
      const cells = head.map((_, i) => (i < this.head.length ? row[i] ?? "" : this.named(this.labels[at])));
      return el("tr", {}, cells.map((cell, i) => el("td", { class: mark(i) }, el("div", {}, cell.slice(0, 300)))));
    });
    this.preview.replaceChildren(el("table", {},
      el("thead", {}, el("tr", {}, head.map((name, i) => el("th", { scope: "col", class: mark(i) }, name || `Column ${i + 1}`)))),
      el("tbody", {}, rows)));
  }

  /** Label all rows, piece by piece. */
  async run() {
    const mine = new AbortController();
    this.running = mine;
    this.working(true);
    const texts = this.body.map((row) => row[this.column] ?? "");
    this.asked = { ...this.amount.request(this.model), model: this.model.name };
    this.kind = this.model.has_probabilities ? "probabilities" : "scores";
    this.labels = [];
    try {
      while (this.labels.length < texts.length) {
        const piece = nextPiece(texts, this.labels.length);
        const found = await api.patiently(() => this.tagged(piece, mine.signal), mine.signal);
        this.labels.push(...found);
        this.moved(texts.length);
      }
      this.ended(`${counted(texts.length, "row")} labeled.`);
    } catch (error) {
      if (this.running !== mine) return; // another table was opened
      const done = `${counted(this.labels.length, "row")} of ${texts.length.toLocaleString("en")} labeled`;
      this.ended(mine.signal.aborted ? `Canceled: ${done}.` : `${done}. Row ${this.labels.length + 1} and on: ${error.message}`);
    }
  }

  /** Return the labels of some texts; empty ones are not sent. */
  async tagged(texts, signal) {
    const sent = texts.filter((text) => text.trim());
    const found = sent.length ? await api.predict({ texts: sent, ...this.asked }, signal) : [];
    return texts.map((text) => (text.trim() ? this.amount.kept(found.shift()) : []));
  }

  working(isWorking) {
    this.start.hidden = isWorking;
    this.cancel.hidden = this.progress.hidden = !isWorking;
    for (const one of this.work.querySelectorAll("select, input")) one.disabled = isWorking;
    if (!isWorking) return;
    this.save.hidden = true;
    this.progress.value = 0;
    this.cancel.focus();
  }

  moved(n) {
    this.progress.max = n;
    this.progress.value = this.labels.length;
    this.state.textContent = `${this.labels.length.toLocaleString("en")} of ${counted(n, "row")}`;
  }

  ended(message) {
    this.running = null;
    this.amount.offer(this.model); // it may have been changed meanwhile
    this.working(false);
    this.state.textContent = message;
    this.start.textContent = "Label again";
    this.start.classList.remove("strong");
    this.save.hidden = !this.labels.length;
    if (this.labels.length) this.save.focus();
    this.fillPreview();
    say(message);
  }

  named(labels = []) {
    return labels.map((one) => one.title ?? one.label).join("; ");
  }

  /** Return names for the new columns that the table does not have yet. */
  newNames() {
    const hasTitles = this.labels.some((labels) => labels.some((one) => one.title));
    const wanted = ["labels", this.kind, ...(hasTitles ? ["label_names"] : [])];
    return wanted.map((name) => {
      let free = name;
      for (let i = 2; this.head.includes(free); i += 1) free = `${name}_${i}`;
      return free;
    });
  }

  /** Save the rows that have labels, as the table came: same columns, same separator. */
  saved() {
    const names = this.newNames();
    const line = (row, more) => csvLine([...padded(row, this.head.length), ...more], this.delimiter);
    // Spreadsheets take it for UTF-8 if it begins with this mark.
    const parts = ["\ufeff", line(this.hasNames ? this.head : this.head.map(() => ""), names)];
    this.labels.forEach((labels, i) => {
      const numbers = labels.map((one) => one.score.toFixed(4)).join("; ");
      const ids = names.length > 2 ? [labels.map((one) => one.label).join("; ")] : [];
      parts.push(line(this.body[i], [this.named(labels), numbers, ...ids]));
    });
    download(`${this.file.name.replace(/\.\w+$/u, "")}-labeled.csv`, "text/csv", parts);
  }
}

const padded = (row, n) => [...row, ...Array(Math.max(0, n - row.length)).fill("")];

/** Return the texts of the next request: not too many, not too long, at least one. */
function nextPiece(texts, from) {
  const most = Math.min(PIECE.texts, api.settings.max_texts);
  const longest = Math.min(PIECE.characters, api.settings.max_characters);
  let end = from;
  let characters = 0;
  while (end < texts.length && end - from < most) {
    characters += texts[end].length;
    if (end > from && characters > longest) break;
    end += 1;
  }
  return texts.slice(from, end);
}

/** Return the column whose cells are longest: most likely the text. */
function longestColumn(rows) {
  const sums = rows[0].map((_, i) => rows.slice(0, 100).reduce((sum, row) => sum + (row[i] ?? "").length, 0));
  return sums.indexOf(Math.max(...sums));
}
