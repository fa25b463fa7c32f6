// Labels as text, CSV or JSON, in the clipboard.
import { csvLine } from "./csv.js";
import { el } from "./dom.js";

const WRITERS = {
  text: (labels) => labels.map((one) => one.title ?? one.label).join("\n"),
  csv: (labels, kind) => {
    const lines = labels.map((one) => csvLine([one.label, one.title ?? one.label, one.score]));
    return csvLine(["label", "title", kind]) + lines.join("");
  },
  json: (labels) => JSON.stringify(labels, null, 2),
};

/** Return labels in one of the forms; `kind` names their numbers. */
export const written = (labels, form, kind) => WRITERS[form](labels, kind);

/** Put text into the clipboard. */
export async function copy(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // Without HTTPS browsers have no clipboard but that of old.
  const field = el("textarea", { class: "unseen" });
  field.value = text;
  const before = document.activeElement;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  before?.focus();
  if (!copied) throw new Error("This browser does not let the page copy.");
}
