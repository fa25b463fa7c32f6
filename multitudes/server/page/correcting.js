// Corrections that are being made: labels accepted, rejected and added, until they are sent.
import * as api from "./api.js";
import { alarm, byId, counted, el, say } from "./dom.js";
import { LabelSearch } from "./search.js";

const SIGNS = { accept: "✓", reject: "✕", add: "+" };
const KINDS = { accept: "accepted", reject: "rejected", add: "added" };

export class Draft {
  /** `changed` is called when a verdict is; `sent` when the server has taken the corrections. */
  constructor({ isOn, changed, sent }) {
    this.isOn = isOn;
    this.changed = changed;
    this.sent = sent;
    this.verdicts = new Map(); // label -> { kind, name }
    this.model = null;
    this.text = () => "";
    if (isOn) this.build();
  }

  build() {
    this.search = new LabelSearch((one) => this.set("add", one));
    this.chips = el("ul", { class: "chips" });
    this.send = el("button", { type: "button", class: "strong", onclick: () => this.submit() });
    this.discard = el("button", { type: "button", class: "plain", onclick: () => this.dropped() }, "Discard");
    this.actions = el("div", { class: "line" }, this.send, this.discard);
    byId("correcting").append(el("div", { class: "correcting" },
      el("h2", {}, "Correct the labels"), this.search.element, this.chips, this.actions));
    this.show();
  }

  use(model) {
    this.model = model;
    if (this.isOn) this.search.model = model;
  }

  /** Show the fields, once there is a text. */
  offer() {
    byId("correcting").hidden = !this.isOn;
  }

  verdictOf(label) {
    return this.verdicts.get(label)?.kind;
  }

  toggle(kind, one) {
    if (this.verdictOf(one.label) === kind) this.remove(one.label);
    else this.set(kind, one);
  }

  set(kind, one) {
    this.verdicts.set(one.label, { kind, name: one.title ?? one.label });
    say(`${one.title ?? one.label} ${KINDS[kind]}.`);
    this.show();
  }

  remove(label) {
    this.verdicts.delete(label);
    this.show();
  }

  dropped() {
    this.reset();
    this.search.field.focus();
  }

  reset() {
    this.verdicts.clear();
    if (this.isOn) this.show();
  }

  show() {
    const n = this.verdicts.size;
    this.send.textContent = `Send ${counted(n, "correction")}`;
    this.actions.hidden = this.chips.hidden = n === 0;
    this.chips.replaceChildren(...[...this.verdicts].map(([label, { kind, name }]) =>
      el("li", { class: "chip" },
        el("span", { "aria-hidden": "true" }, SIGNS[kind]),
        el("span", {}, name, el("span", { class: "unseen" }, ` ${KINDS[kind]}`)),
        el("button", {
          type: "button", class: "plain", "aria-label": `Undo: ${name} ${KINDS[kind]}`,
          onclick: () => { this.remove(label); this.search.field.focus(); },
        }, "×"))));
    this.changed();
  }

  async submit() {
    const of = (kind) => [...this.verdicts].filter(([, one]) => one.kind === kind).map(([label]) => label);
    this.send.disabled = true;
    try {
      await api.correct({
        text: this.text(), model: this.model.name,
        accepted: of("accept"), rejected: of("reject"), added: of("add"),
      });
      say(`Sent ${counted(this.verdicts.size, "correction")}.`);
      this.dropped();
      this.sent();
      this.search.note("Sent. Thank you.");
    } catch (error) {
      alarm(error.message);
    }
    this.send.disabled = false;
  }
}
