// A field that finds labels by how their names begin: the combobox of the ARIA practices.
import * as api from "./api.js";
import { el, paused } from "./dom.js";

const PAUSE = 150; // milliseconds

export class LabelSearch {
  constructor(picked) {
    this.picked = picked;
    this.model = null;
    this.found = [];
    this.at = -1;
    this.latest = new api.Latest();
    this.options = el("ul", { class: "options", id: "add-options", role: "listbox", "aria-label": "Labels", hidden: true });
    this.field = el("input", {
      type: "text", id: "add", role: "combobox", autocomplete: "off", spellcheck: "false",
      "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "add-options",
      oninput: paused(() => this.look(), PAUSE), onkeydown: (event) => this.key(event),
      onblur: () => this.close(),
    });
    this.remark = el("span", { class: "hint", "aria-live": "polite" });
    this.element = el("div", { class: "field" },
      el("label", { for: "add" }, "Add a label that is missing"),
      el("div", { class: "combo" }, this.field, this.options), this.remark);
  }

  /** Say something below the field. */
  note(message) {
    this.remark.textContent = message;
  }

  async look() {
    const prefix = this.field.value.trim();
    this.note("");
    if (!prefix) {
      this.latest.stop();
      this.close();
      return;
    }
    try {
      const found = await this.latest.run((signal) => api.labels(prefix, this.model.name, signal));
      if (found) this.show(found);
    } catch (error) {
      this.note(error.message);
    }
  }

  show(found) {
    this.found = found;
    this.options.replaceChildren(...found.map((one, i) =>
      el("li", {
        role: "option", id: `add-${i}`, "aria-selected": "false",
        onmousedown: (event) => { event.preventDefault(); this.pick(i); },
      }, one.title ?? one.label, one.title && one.title !== one.label ? el("small", {}, ` ${one.label}`) : null)));
    this.options.hidden = !found.length;
    this.field.setAttribute("aria-expanded", String(found.length > 0));
    this.note(found.length ? "" : "No label begins like this.");
    this.move(found.length ? 0 : -1);
  }

  key(event) {
    const open = !this.options.hidden;
    const n = this.found.length;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (open && event.key in steps) this.move((this.at + steps[event.key] + n) % n);
    else if (open && event.key === "Enter") this.pick(this.at);
    else if (open && event.key === "Escape") this.close();
    else return;
    event.preventDefault();
  }

  move(at) {
    this.at = at;
    [...this.options.children].forEach((option, i) => {
      option.setAttribute("aria-selected", String(i === at));
      if (i === at) option.scrollIntoView({ block: "nearest" });
    });
    if (at < 0) this.field.removeAttribute("aria-activedescendant");
    else this.field.setAttribute("aria-activedescendant", `add-${at}`);
  }

  pick(at) {
    if (at < 0) return;
    this.field.value = "";
    this.picked(this.found[at]);
    this.close();
  }

  close() {
    this.options.hidden = true;
    this.options.replaceChildren();
    this.found = [];
    this.field.setAttribute("aria-expanded", "false");
    this.move(-1);
  }
}
