// Words of the text that light up: a copy of the text lies behind the field, with marks in it.
import { byId, el } from "./dom.js";

const FAINT = 0.3; // the least share of the strongest word's weight that is lit

/** Return marks as [start, end, share] in the units of JavaScript's strings, in order, apart.
 *
 * The server counts characters; strings here count UTF-16 units, of which some characters have two.
 * Where words overlap, as pairs of words do with their parts, the stronger one is kept.
 */
export function marksOf(text, words) {
  const largest = Math.max(...words.map((one) => Math.abs(one.weight)), 1e-9);
  const wanted = words
    .flatMap((one) => one.spans.map(([start, end]) => ({ start, end, share: one.weight / largest })))
    .filter(({ start, end, share }) => start < end && Math.abs(share) >= FAINT)
    .sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
  const kept = [];
  const taken = new Set();
  for (const mark of wanted) {
    let free = true;
    for (let at = mark.start; at < mark.end && free; at += 1) free = !taken.has(at);
    if (!free) continue;
    for (let at = mark.start; at < mark.end; at += 1) taken.add(at);
    kept.push(mark);
  }
  kept.sort((a, b) => a.start - b.start);
  const units = unitsAt(text, kept.flatMap(({ start, end }) => [start, end]));
  return kept.map(({ share }, i) => [units[2 * i], units[2 * i + 1], share]);
}

/** Return where characters begin, as positions in the string; both ascend. */
function unitsAt(text, characters) {
  const found = [];
  let unit = 0;
  let character = 0;
  for (const wanted of characters) {
    while (character < wanted && unit < text.length) {
      unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
      character += 1;
    }
    found.push(unit);
  }
  return found;
}

/** Light up words in the field of the text, or put all lights out. */
export function light(text, words = []) {
  const lights = byId("lights");
  const parts = [];
  let at = 0;
  for (const [start, end, share] of marksOf(text, words)) {
    const mark = el("mark", { class: share < 0 && "against" }, text.slice(start, end));
    mark.style.setProperty("--strength", Math.abs(share).toFixed(2));
    parts.push(text.slice(at, start), mark);
    at = end;
  }
  // A last empty line has height only if something follows it.
  lights.replaceChildren(...(parts.length ? [...parts, text.slice(at), "\n"] : []));
  follow();
}

/** Scroll the copy to where the field is. */
export function follow() {
  byId("lights").scrollTop = byId("text").scrollTop;
}
