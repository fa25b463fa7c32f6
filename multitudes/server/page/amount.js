// How many labels are shown: a number of them, those that are sure enough, or the model's own set.
import { settings } from "./api.js";
import { counted, el } from "./dom.js";

const MOST = 50; // labels that are asked for, and the slider's end

let made = 0; // groups of radio buttons need names of their own

const MODES = {
  many: { name: "How many", min: 1, max: MOST, value: 10, shown: (n) => counted(n, "label") },
  sure: { name: "How sure", min: 1, max: 99, value: 20, shown: (n) => `${n} % or more` },
  set: { name: "Let the model choose" },
};

export class Amount {
  constructor(place, changed) {
    this.changed = changed;
    this.mode = "many";
    this.values = { many: MODES.many.value, sure: MODES.sure.value };
    made += 1;
    const options = Object.entries(MODES).map(([mode, { name }]) => {
      const radio = el("input", {
        type: "radio", name: `amount-${made}`, value: mode, onchange: () => this.choose(mode),
      });
      return [mode, el("label", {}, radio, el("span", {}, name))];
    });
    this.options = Object.fromEntries(options);
    this.slider = el("input", { type: "range", oninput: () => this.slid() });
    this.output = el("output");
    this.slide = el("div", { class: "slide" }, this.slider, this.output);
    this.modes = el("div", { class: "modes" }, Object.values(this.options));
    const legend = el("legend", { class: "unseen" }, "How many labels are shown");
    place.append(el("fieldset", { class: "amount" }, legend, this.modes, this.slide));
    this.show();
  }

  /** Offer what a model can do; scores of models differ, so that no slider fits them. */
  offer({ has_probabilities: hasProbabilities, has_sets: hasSets }) {
    this.options.sure.hidden = !hasProbabilities;
    this.options.set.hidden = !hasSets;
    this.modes.hidden = !hasProbabilities && !hasSets;
    if (this.options[this.mode].hidden) this.mode = "many";
    this.show();
  }

  choose(mode) {
    this.mode = mode;
    this.show();
    this.changed();
  }

  slid() {
    this.values[this.mode] = Number(this.slider.value);
    this.show();
    this.changed();
  }

  show() {
    this.options[this.mode].firstChild.checked = true;
    const { name, min, max, shown } = MODES[this.mode];
    this.slide.hidden = this.mode === "set";
    if (this.mode === "set") return;
    const value = this.values[this.mode];
    Object.assign(this.slider, { min, max, value });
    this.slider.style.setProperty("--filled", `${(100 * (value - min)) / (max - min)}%`);
    this.slider.setAttribute("aria-label", name);
    this.slider.setAttribute("aria-valuetext", shown(value));
    this.output.textContent = shown(value);
  }

  /** Return what `predict` is to be asked for, so that `kept` finds all that may be shown. */
  request(model) {
    if (this.mode === "set") return { kind: "sets" };
    const most = Math.min(MOST, settings.max_top_k, model.n_labels);
    return { kind: model.has_probabilities ? "probabilities" : "scores", top_k: most };
  }

  /** Return those of the labels that are to be shown. */
  kept(labels) {
    if (this.mode === "many") return labels.slice(0, this.values.many);
    if (this.mode === "sure") return labels.filter((one) => one.score >= this.values.sure / 100);
    return labels;
  }
}
