// The first view: one dot product through each unit, drawn from what the function said.

/** @type {Explained | null} */
let explained = null;
/** @type {Preset[]} */
let presets = [];

/** The first answers, by their places.
 * @returns {(Answered | null)[]} */
const answered = () => (explained?.units ?? []).map(one => ("d" in one ? one : null));

const askExplain = latest(answer => {
  explained = answer;
  showAnswers();
}, error => { // no old result beside a new input
  explained = null;
  for (const id of ["answers", "pictures"]) draw(by(id), []);
  showWalk(0, 0);
  showBits();
  say(error.message, true);
}, "quick");

function explain() {
  return askExplain({
    ask: "explain", units: asked("units"),
    input: { a: state.a, b: state.b, c: state.c, scale_a: state.scale_a, scale_b: state.scale_b },
  });
}

function showAnswers() {
  if (!explained) return;
  const units = explained.units;
  showUnits(by("units"), "units", units.map(one => one.unit));
  const hasScales = units.some(one => one.unit?.scale);
  for (const scales of document.querySelectorAll(".scales")) /** @type {any} */ (scales).hidden = !hasScales;
  const steps = Math.max(0, ...answered().map(one => one?.parts.length ?? 0));
  const step = stepShown(steps);
  draw(by("answers"), units.map(card));
  showWalk(step, steps);
  const ruler = rulerOf(step);
  draw(by("pictures"), present(units.map((one, index) => ("d" in one ? picture(one, index, step, ruler) : null))));
  showDetail("detail", "#pictures tr");
  showBits();
}

/** The step along K that is shown: the one that was chosen, or the first in which something is lost.
 * @param {number} steps */
function stepShown(steps) {
  if (state.step >= 0) return Math.min(Math.floor(state.step), Math.max(0, steps - 1));
  for (const one of answered()) {
    const place = one?.parts.findIndex(part => part.stages.some(stage => [...stage.rows, stage.sum].some(row => row?.lost))) ?? -1;
    if (place >= 0) return place;
  }
  const busy = answered().map(one => one?.parts.findIndex(part => !part.idle) ?? -1).filter(place => place >= 0);
  return busy.length ? Math.min(...busy) : 0;
}

/** A unit's answer. @param {Answered | Failed} one @param {number} index */
function card(one, index) {
  const name = one.unit ? `${one.unit.chip} ${one.unit.instruction}${one.unit.edits.length ? " (edited)" : ""}` : state.units[index]?.unit ?? "";
  const head = sketch("p", { class: "who" }, sketch("span", { class: "letter" }, LETTERS[index]), " ", name);
  if (!("d" in one)) return sketch("article", { class: "answer failed" }, head, sketch("p", { class: "lost" }, one.error));
  const of = one.rounded ? " for the inputs as rounded" : "";
  const exact = one.error === "0" ? "exact" + of
    : one.error === null ? `no distance: ${one.exact === null ? "an input" : "the result"} is not finite`
      : `${signed(one.error)} from ${one.exact}, the exact result${of}`;
  const ulps = one.ulps === null || one.ulps === 0 || Math.abs(one.ulps) > 1e5 ? "" : ` (${Number(one.ulps.toPrecision(3))} ulp)`;
  const code = sketch("code", { class: "code", "aria-label": "bits of the result" }, ...one.d.bits.map(([field, bits]) => sketch("span", { class: field, title: field }, bits)));
  const group = ["●", "◆", "▲", "■"][one.group];
  return sketch("article", { class: `answer g${one.group}`, title: one.unit.precision },
    head,
    sketch("p", { class: "value" }, sketch("span", { class: "sign-of", title: explained?.agree ? "all agree" : "units with this sign agree" }, group), " ", sketch("b", {}, one.d.value)),
    sketch("p", {}, sketch("code", {}, one.d.code), " ", code, " ", sketch("span", { class: "dim" }, one.d.format)),
    sketch("p", { class: "dim" }, exact + ulps),
    sketch("p", { class: "why" }, one.why),
    one.notes.length ? sketch("ul", { class: "notes dim" }, ...one.notes.map(note => sketch("li", {}, note))) : null);
}

/** @param {string} text */
const signed = text => text.replace(/^(≈?)(-?)/, (_, about, minus) => about + (minus ? "−" : "+"));

/** Buttons to go along K. @param {number} step @param {number} steps */
function showWalk(step, steps) {
  const walk = by("walk");
  walk.hidden = steps < 2;
  if (steps < 2) return;
  const go = (/** @type {number} */ to) => change("step", now => { now.step = Math.max(0, Math.min(steps - 1, to)); });
  if (!walk.children.length) {
    walk.append(
      make("button", { type: "button", id: "back", "aria-label": "Step before", onclick: () => go(walk.step - 1) }, "◀"),
      make("input", { type: "range", id: "slide", min: 0, "aria-label": "Step along K", oninput: (/** @type {any} */ event) => go(Number(event.target.value)) }),
      make("button", { type: "button", id: "forth", "aria-label": "Next step", onclick: () => go(walk.step + 1) }, "▶"),
      make("span", { id: "walk-text" }));
  }
  walk.step = step;
  const slide = by("slide");
  slide.max = String(steps - 1);
  slide.value = String(step);
  by("back").disabled = step <= 0;
  by("forth").disabled = step >= steps - 1;
  write(by("walk-text"), `step ${step + 1} of ${steps} along K`);
}

/** Columns of a ruler, at most: what is further to the right is counted. */
const WIDEST = 140;

/** All numbers that are drawn of a part. @param {Part | undefined} part
 * @returns {Row[]} */
const rowsOf = part => (part?.stages ?? []).flatMap(stage => [...stage.rows, ...(stage.sum ? [stage.sum] : [])]);

/** The weights of the first and last column, common to all units. @param {number} step */
function rulerOf(step) {
  let [high, low] = [-Infinity, Infinity];
  for (const one of answered()) {
    for (const row of rowsOf(one?.parts[step])) {
      if (row.bits.digits) {
        high = Math.max(high, row.bits.high);
        low = Math.min(low, row.bits.high - row.bits.digits.length + 1);
      }
      if (row.moved?.digits) high = Math.max(high, row.moved.high);
    }
    for (const stage of one?.parts[step]?.stages ?? []) if (stage.cut !== null && stage.rows.length) {
      if (stage.rows.some(row => row.bits.digits)) low = Math.min(low, stage.cut);
    }
  }
  if (high === -Infinity) [high, low] = [0, 0];
  return { high, low: Math.max(low, high - WIDEST + 1) };
}

/** A row's bits in columns. @param {Row} row @param {{high: number, low: number}} ruler */
function bitsOf(row, ruler) {
  const { digits, high, negative, inexact } = row.bits;
  /** @type {(Sketch | string)[]} */
  const cell = [];
  const width = ruler.high - ruler.low + 1;
  if (!digits) {
    cell.push(" ".repeat(width + 1));
  } else if (high < ruler.low) {
    cell.push(" ".repeat(Math.max(0, width - 12)), sketch("span", { class: "lost" }, `… from 2^${high}`));
  } else {
    const lead = ruler.high - high;
    const keeps = row.last === null ? digits.length : Math.max(0, Math.min(digits.length, high - row.last + 1));
    const shown = digits.slice(0, high - ruler.low + 1);
    const more = shown.length < digits.length || inexact ? "…" : "";
    cell.push(" ".repeat(lead), negative ? "-" : " ", sketch("span", { class: "kept" }, shown.slice(0, keeps)));
    const gone = shown.slice(keeps) + more;
    if (gone) cell.push(sketch("span", { class: "gone" }, gone));
    cell.push(" ".repeat(Math.max(0, width - lead - shown.length - more.length)));
  }
  if (row.last !== null) {
    const column = ruler.high - row.last + 2;
    if (column >= 0 && column <= width + 1) cell.push(sketch("span", { class: "cut", style: `left:${column}ch` }));
  }
  return sketch("span", { class: "digits" }, ...cell);
}

/** The names of columns: every eighth power of two. @param {{high: number, low: number}} ruler */
function rulerText(ruler) {
  let text = " ";
  for (let weight = ruler.high; weight >= ruler.low; weight -= 1) {
    if (text.length > ruler.high - weight + 1) continue;
    const label = weight % 8 === 0 || weight === ruler.high ? `2^${weight}` : " ";
    text += text.length + label.length <= ruler.high - ruler.low + 2 ? label : " ";
  }
  return text.padEnd(ruler.high - ruler.low + 2);
}

/** The steps of one operation of a unit. @param {Answered} one @param {number} index @param {number} step
 * @param {{high: number, low: number}} ruler */
function picture(one, index, step, ruler) {
  const part = one.parts[step];
  const name = `${LETTERS[index]} · ${one.unit.chip} ${one.unit.instruction}`;
  const body = [];
  if (!part) {
    body.push(sketch("p", { class: "dim" }, `This unit takes ${one.parts.length === 1 ? "one step" : one.parts.length + " steps"} only.`));
  } else {
    const first = part.elements[0], last = part.elements[part.elements.length - 1];
    const elements = part.elements.length ? `, elements ${first === last ? first : `${first}..${last}`}` : "";
    const from = part.accumulator ? `, accumulator ${part.accumulator.value}` : "";
    const instruction = part.instruction ? `instruction ${part.instruction.join(" of ")}: ` : "";
    body.push(sketch("p", { class: "dim" }, `${instruction}${part.name}${elements}${from}`));
    if (part.special) body.push(sketch("p", { class: "lost" }, `This step returns ${part.special} before it sums anything.`));
    else if (part.idle) body.push(sketch("p", { class: "dim" }, "Every product is zero, and the accumulator stays as it is."));
    for (const [place, stage] of (part.idle ? [] : part.stages).entries()) body.push(...stageOf(stage, ruler, place === 0));
  }
  return sketch("section", { class: `picture g${one.group}`, "aria-label": name }, sketch("h3", {}, name), ...body);
}

/** @param {Stage} stage @param {{high: number, low: number}} ruler @param {boolean} isFirst */
function stageOf(stage, ruler, isFirst) {
  const becomes = stage.result ? ["→ ", sketch("b", {}, stage.result.value), " ", sketch("code", {}, stage.result.code), ` ${stage.result.format}`] : [];
  if (!stage.rows.length && stage.sum && !stage.sum.lost) return [sketch("p", { class: "stage" }, stage.title, ", exact ", ...becomes)];
  const line = (/** @type {Row} */ row, /** @type {string} */ kind) => sketch("tr", {
    class: kind, tabindex: 0, "data-element": row.element ?? false, title: told(row),
    onpointerenter: () => { by("detail").textContent = told(row); },
    onfocus: () => { by("detail").textContent = told(row); },
    onclick: () => { if (row.element !== null) select("a" + row.element); },
  }, sketch("th", { scope: "row" }, row.name), sketch("td", { class: "n" }, short(row.value)), sketch("td", { class: "n" }, row.exponent === null ? "" : String(row.exponent)),
  sketch("td", { class: "bits" }, bitsOf(row, ruler)), sketch("td", { class: "n lost" }, row.lost && short(row.lost)));
  const rows = stage.rows.map(row => line(row, "term"));
  if (stage.sum) rows.push(line({ ...stage.sum, last: stage.rows.length && stage.cut !== null ? stage.cut : stage.sum.last }, stage.rows.length ? "sum" : "rounded"));
  const table = rows.length ? sketch("div", { class: "scroll" }, sketch("table", { class: "terms" },
    sketch("thead", {}, sketch("tr", {}, sketch("th", { scope: "col" }, stage.rows.length ? "term" : ""), sketch("th", { scope: "col", class: "n" }, "value"),
      sketch("th", { scope: "col", class: "n" }, stage.cut !== null && stage.rows.length ? "e" : ""),
      sketch("th", { scope: "col", class: "bits" }, sketch("span", { class: "digits ruler" }, isFirst || stage.rows.length ? rulerText(ruler) : "")),
      sketch("th", { scope: "col", class: "n" }, "lost"))),
    sketch("tbody", {}, ...rows))) : null;
  const result = stage.result ? sketch("p", { class: "result" }, ...becomes) : null;
  return [sketch("p", { class: "stage" }, stage.title, stage.zeros ? sketch("span", { class: "dim" }, ` · ${stage.zeros}`) : null), table, result].filter(piece => piece !== null);
}

/** @param {string} value */
const short = value => (value.length > 15 && !value.includes("2^") ? value.slice(0, 12) + "…" + (value.match(/e.*$/)?.[0] ?? "") : value);

/** What is told of the row or cell that is under the pointer now, or has the focus. @param {string} id @param {string} of */
const showDetail = (id, of) => write(by(id), document.querySelector(`${of}:hover, ${of}:focus`)?.getAttribute("title") ?? "");

/** What is told of a row under the pointer. @param {Row} row */
function told(row) {
  const exponent = row.exponent === null ? "" : `, exponent ${row.exponent}`;
  const lost = row.lost ? `; kept ${row.kept}, lost ${row.lost}` : "; nothing is lost";
  return `${row.name} = ${row.value}${exponent}${lost}`;
}

// bits that can be clicked

let selected = "a0";
let selectedUnit = 0;

/** @param {string} name */
function select(name) {
  selected = name;
  showBits();
}

/** The operands that can be clicked: those of the unit that was chosen, or of the first that has some.
 * @returns {{one: Answered, index: number} | null} */
function clickable() {
  const all = answered();
  const index = all[selectedUnit] ? selectedUnit : all.findIndex(one => one !== null);
  const one = all[index];
  return one ? { one, index } : null;
}

function showBits() {
  const place = by("bits");
  const found = clickable();
  if (!found) {
    draw(place, []);
    return;
  }
  const { one, index } = found;
  const names = [
    ...one.operands.a.map((_, k) => "a" + k), ...one.operands.b.map((_, k) => "b" + k), "c",
    ...one.operands.scale_a.map((_, k) => "scale_a" + k), ...one.operands.scale_b.map((_, k) => "scale_b" + k),
  ];
  if (!names.includes(selected)) selected = names[0];
  const { operand, format } = operandOf(one, selected);
  const bits = Object.entries(operand.bits).flatMap(([field, bits]) => [...bits].map((bit, at) => ({ field, bit, at })));
  draw(place, present([
    sketch("select", { id: "bits-of", "aria-label": "Element", onchange: (/** @type {any} */ event) => select(event.target.value) },
      ...names.map(name => sketch("option", { value: name }, name))),
    answered().filter(one => one).length > 1 ? sketch("select", {
      id: "bits-unit", "aria-label": "Unit whose format is shown", onchange: (/** @type {any} */ event) => { selectedUnit = Number(event.target.value); showBits(); },
    }, ...answered().flatMap((one, place) => (one ? [sketch("option", { value: place }, `${LETTERS[place]}: ${operandOf(one, selected).format}`)] : []))) : null,
    sketch("span", { class: "flips" }, ...bits.map(({ field, bit }, place) => sketch("button", {
      type: "button", class: `flip ${field}`, id: `flip-${place}`, "aria-pressed": String(bit === "1"), "aria-label": `bit ${bits.length - 1 - place}, ${field}: ${bit}`,
      title: field, onclick: () => flip(bits.length - 1 - place),
    }, bit))),
    sketch("span", { class: "dim" }, ` ${operand.value} · ${operand.code} · ${format}`),
  ]));
  by("bits-of").value = selected;
  if (by("bits-unit")) by("bits-unit").value = String(index);
}

/** @param {Answered} one @param {string} name
 * @returns {{operand: Operand, format: string, list: "a" | "b" | "c" | "scale_a" | "scale_b", place: number}} */
function operandOf(one, name) {
  const [, list, digits] = /** @type {any} */ (name.match(/^(a|b|c|scale_a|scale_b)(\d*)$/));
  const place = Number(digits || 0);
  const format = list === "a" ? one.unit.a : list === "b" ? one.unit.b : list === "c" ? one.unit.c : one.unit.scale?.[0] ?? "";
  const operand = list === "c" ? one.operands.c : /** @type {any} */ (one.operands)[list][place] ?? one.operands.c;
  return { operand, format, list, place };
}

/** Words of a list that was typed, but for those of a program around it (`tensor`, `dtype=…`), as the server reads them. @param {string} text */
const wordsOf = text => text.replace(/[\u200b-\u200d\u2060\ufeff]/g, "").split(/[\s,;|()[\]{}]+/).filter(word => /^[-+\u2212\u2013]?(\.?\d|inf|nan)/i.test(word));

/** Changes one bit of the selected element. @param {number} bit */
async function flip(bit) {
  const found = clickable();
  if (!found) return;
  const { operand, format, list, place } = operandOf(found.one, selected);
  const code = "0x" + (BigInt(operand.code) ^ (1n << BigInt(bit))).toString(16);
  try {
    const { text } = await ask({ ask: "code", format, code });
    change(`flip-${selected}`, now => {
      const words = wordsOf(now[list]);
      while (words.length < place) words.push(list.startsWith("scale") ? "1" : "0");
      words[list === "c" ? 0 : place] = text;
      now[list] = words.join(" ");
    });
  } catch (error) {
    say(/** @type {Error} */ (error).message, true);
  }
}

async function smallest() {
  if (state.units.length < 2) {
    say("Add a second unit: a difference needs two.", true);
    return;
  }
  say("Searching the smallest input on which the units differ …");
  by("smallest").disabled = true;
  const about = () => JSON.stringify([asked("units"), state.a, state.b, state.c, state.scale_a, state.scale_b]);
  const was = about();
  try {
    const found = await ask({ ask: "diff", units: asked("units") }, "slow");
    if (about() !== was) {
      say("Units or inputs changed during the search, so its result is not shown. Search again.", true);
      return;
    }
    const [left, right] = found.pair.map((/** @type {number} */ place) => LETTERS[place]);
    const names = found.parameters.map((/** @type {any} */ one) => `${one.parameter} ${one.in_left} / ${one.in_right}`).join(", ");
    const others = found.incomparable ? ` Pairs that take other formats and were not compared: ${found.incomparable}.` : "";
    if (found.verdict === "differs") {
      change("", now => Object.assign(now, found.input, { step: -1 }));
      const [[normal, normals], [hard, hards]] = found.share;
      say(`${left} and ${right} differ; ${found.reason}. Of ${normals} inputs from N(0,1) ${normal} differ, of ${hards} adversarial ones ${hard}. ${names ? "What differs: " + names + "." : ""}${others}`);
    } else if (found.verdict === "same") {
      say(`${state.units.length > 2 ? "All units that take the same formats" : `${left} and ${right}`} give the same bits for every input: ${found.reason}.${others}`);
    } else {
      say(`${left} and ${right}: no difference was found; ${found.reason}.${others}`);
    }
  } catch (error) {
    say(/** @type {Error} */ (error).message, true);
  } finally {
    by("smallest").disabled = false;
  }
}

/** Fills the page with an example. @param {string} name */
function takePreset(name) {
  const preset = presets.find(one => one.name === name);
  if (!preset) return;
  change("", now => {
    const { a, b, c, scale_a, scale_b } = preset;
    Object.assign(now, { a, b, c, scale_a, scale_b, step: -1, view: "dot", units: preset.units.map(([unit, edits]) => ({ unit, edit: Object.fromEntries(edits) })) });
  });
}

/** The example that is shown, if one is.
 * @returns {Preset | undefined} */
function presetShown() {
  return presets.find(preset => preset.a === state.a && preset.b === state.b && preset.c === state.c
    && preset.units.map(([unit, edits]) => written({ unit, edit: Object.fromEntries(edits) })).join() === state.units.map(written).join());
}

/** Rows that were pasted: of both A and B, or with what stands between numbers elsewhere. @param {ClipboardEvent} event */
async function paste(event) {
  const text = event.clipboardData?.getData("text") ?? "";
  const target = /** @type {any} */ (event.target);
  const several = /[·×⋅@*\n]|\s[x+]\s|[\d.\])]\+|-a\s/.test(text.trim());
  if (!several && !/[[\](){}=−]/.test(text)) return;
  event.preventDefault();
  try {
    const rows = await ask({ ask: "paste", text });
    change("", now => {
      if (rows.b === null) now[/** @type {"a"} */ (target.id)] = rows.a;
      else Object.assign(now, { a: rows.a, b: rows.b, c: rows.c ?? now.c });
      now.step = -1;
    });
  } catch (error) {
    say(/** @type {Error} */ (error).message, true);
  }
}
