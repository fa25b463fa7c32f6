// A list of labels with their numbers; each opens to what is known about it.
import { el, icon } from "./dom.js";
import { Opened } from "./opened.js";

const VERDICTS = { accept: "Accept", reject: "Reject" };

export const nameOf = (one) => one.title ?? one.label;

/** Return a label's number as it is shown. */
export const shownScore = (score, isProbability) =>
  isProbability ? `${(100 * score).toFixed(score < 0.0995 ? 1 : 0)} %` : score.toPrecision(3);

export class LabelList {
  /** `draft` holds the corrections that are being made, if the server takes any. */
  constructor({ model, isNamed, chosen, draft }) {
    this.model = model;
    this.chosen = chosen;
    this.draft = draft;
    this.open = null;
    this.rows = el("ul", {});
    const heading = isNamed ? el("h3", {}, model.name) : null;
    this.element = el("div", { class: "list" }, heading, this.rows);
  }

  /** Show labels of a text; the opened one stays open if it is still there.
   *
   * `others` are the labels that another model gives, in their order, if two are compared.
   */
  show(labels, text, others = null) {
    this.text = text;
    this.others = others;
    this.isProbability = this.model.has_probabilities;
    const best = Math.max(...labels.map((one) => one.score), 1e-9);
    const kept = new Map([...this.rows.children].map((row) => [row.dataset.label, row]));
    const rows = labels.map((one, rank) => {
      const row = kept.get(one.label) ?? this.row(one);
      this.fill(row, one, rank, this.isProbability ? one.score : one.score / best);
      return row;
    });
    this.rows.replaceChildren(...rows);
    if (!labels.length) this.rows.append(el("li", { class: "empty" }, "No label fits well enough."));
    if (this.open && !labels.some((one) => one.label === this.open.label)) this.close();
    else this.open?.explain(text);
  }

  row(one) {
    const name = el("span", { class: "tag-name" });
    const score = el("span", { class: "tag-score" });
    const bar = el("span", { class: "bar", "aria-hidden": "true" }, el("span"));
    const button = el("button", {
      type: "button", class: "tag-open", "aria-expanded": "false",
      onclick: () => this.toggle(one, row),
    }, name, score, bar);
    const line = el("div", { class: "tag-line" }, button);
    if (this.draft) line.append(...Object.keys(VERDICTS).map((kind) => this.verdict(kind, one)));
    const row = el("li", { class: "tag", "data-label": one.label }, line);
    return row;
  }

  fill(row, one, rank, share) {
    const name = row.querySelector(".tag-name");
    name.replaceChildren(nameOf(one), ...this.difference(one.label, rank));
    row.querySelector(".tag-score").textContent = shownScore(one.score, this.isProbability);
    row.querySelector(".bar > span").style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
    this.mark(row);
  }

  /** Say in what a label differs from the other model's: it is missing there, or has another place. */
  difference(label, rank) {
    if (!this.others) return [];
    const place = this.others.indexOf(label);
    if (place < 0) return [" ", el("span", { class: "tag-only" }, "only here")];
    if (place === rank) return [];
    const [sign, word] = place > rank ? ["↑", "higher"] : ["↓", "lower"];
    const n = Math.abs(place - rank);
    return [" ", el("span", { class: "tag-moved" },
      el("span", { "aria-hidden": "true" }, `${sign} ${n}`), el("span", { class: "unseen" }, `${n} ${word} here`))];
  }

  verdict(kind, one) {
    return el("button", {
      type: "button", class: "verdict", "data-kind": kind, "aria-pressed": "false",
      "aria-label": `${VERDICTS[kind]} ${nameOf(one)}`, title: VERDICTS[kind],
      onclick: () => this.draft.toggle(kind, one),
    }, icon(kind));
  }

  /** Show which labels are accepted or rejected. */
  mark(row) {
    for (const button of row.querySelectorAll(".verdict")) {
      const pressed = this.draft.verdictOf(row.dataset.label) === button.dataset.kind;
      button.setAttribute("aria-pressed", String(pressed));
    }
  }

  markAll() {
    for (const row of this.rows.querySelectorAll(".tag")) this.mark(row);
  }

  toggle(one, row) {
    const again = this.open?.label === one.label;
    this.close();
    if (again) return;
    this.chosen(this);
    row.querySelector(".tag-open").setAttribute("aria-expanded", "true");
    this.open = new Opened(one, this.model);
    row.append(this.open.element);
    this.open.explain(this.text);
    this.open.describe();
  }

  close() {
    if (!this.open) return;
    this.open.end();
    for (const button of this.rows.querySelectorAll("[aria-expanded=true]")) {
      button.setAttribute("aria-expanded", "false");
    }
    this.open = null;
  }
}
