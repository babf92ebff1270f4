// The second view: the error along K, quantization and accumulation apart.

/** @type {{ks: number[], units: Curve[], about: string} | null} */
let curves = null;
let curveTime = 0;

const askCurve = latest(answer => {
  curves = answer;
  const milliseconds = Math.round(performance.now() - curveTime);
  by("view-curve").dataset.milliseconds = String(milliseconds);
  showCurves();
}, error => { curves = null; by("curve").replaceChildren(make("p", { class: "lost" }, error.message)); }, "slow");

function askForCurve() {
  curveTime = performance.now();
  const { distribution, scale, seed, k, promote, split, scaling, block, values } = state.curve;
  if (distribution === "own" && !values.trim()) {
    curves = null;
    by("curve").replaceChildren(make("p", { class: "lost" }, `There are no numbers of your own: type some, or choose a file. Links hold at most ${LONGEST_VALUES} characters of them.`));
    return Promise.resolve();
  }
  return askCurve({
    ask: "curve", units: asked("units"), distribution, scale, seed, k, scaling, block,
    ...(promote !== 0 ? { promote } : {}), ...(split !== 1 ? { split } : {}),
    ...(distribution === "own" ? { values: values.replace(/\s/g, " ") } : {}),
  });
}

const CHOICES = /** @type {const} */ ({
  distribution: [["normal", "N(0,1)"], ["uniform", "uniform"], ["outliers", "with outliers"], ["softmax", "A after softmax"], ["own", "own numbers"]],
  scaling: [["none", "none"], ["tensor", "one for each matrix"], ["block", "one for each block of K"]],
});

/** A slider over some values. @param {"k" | "promote" | "split" | "block"} key @param {string} name @param {number[]} values
 * @param {(value: number) => string} text */
function slider(key, name, values, text) {
  const output = make("output", {});
  const input = make("input", {
    type: "range", min: 0, max: values.length - 1, id: "curve-" + key, "aria-label": name,
    oninput: () => change("curve-" + key, now => { now.curve[key] = values[Number(input.value)]; }),
  });
  const update = () => {
    const value = state.curve[key];
    const at = values.indexOf(value);
    input.value = String(at >= 0 ? at : values.findIndex(one => one >= value));
    output.textContent = text(value);
    input.setAttribute("aria-valuetext", text(value));
  };
  return { element: make("label", {}, make("span", {}, name), input, output), update };
}

/** @type {(() => void)[]} */
let curveUpdates = [];

function buildCurveControls() {
  const menu = (/** @type {"distribution" | "scaling"} */ key, /** @type {string} */ name) => {
    const select = make("select", { id: "curve-" + key, onchange: () => change("", now => { now.curve[key] = select.value; }) },
      ...CHOICES[key].map(([value, text]) => make("option", { value }, text)));
    curveUpdates.push(() => { select.value = state.curve[key]; });
    return make("label", {}, make("span", {}, name), select);
  };
  const field = (/** @type {"scale" | "seed"} */ key, /** @type {string} */ name) => {
    const input = make("input", { type: "number", step: "any", id: "curve-" + key, oninput: () => { if (Number.isFinite(input.valueAsNumber)) change("curve-" + key, now => { now.curve[key] = input.valueAsNumber; }); } });
    const update = () => { if (input.valueAsNumber !== state.curve[key]) input.value = String(state.curve[key]); };
    input.addEventListener("blur", update); // what is no number was not taken
    curveUpdates.push(update);
    return make("label", {}, make("span", {}, name), input);
  };
  const powers = (/** @type {number} */ from, /** @type {number} */ to) => Array.from({ length: to - from + 1 }, (_, at) => 2 ** (from + at));
  const sliders = [
    slider("k", "K", powers(4, 14), String),
    slider("promote", "promote every", [0, ...powers(5, 12)], value => (value ? `${value} elements` : "never")),
    slider("split", "split K into", powers(0, 6), value => (value === 1 ? "one part" : `${value} parts`)),
    slider("block", "elements of a block", powers(5, 10), String),
  ];
  curveUpdates.push(...sliders.map(one => one.update));
  const own = make("textarea", { id: "curve-values", rows: 2, spellcheck: "false", "aria-label": "Own numbers", placeholder: "numbers, or choose a file", oninput: () => change("curve-values", now => { now.curve.values = own.value; }) });
  const file = make("input", { type: "file", accept: ".txt,.csv,.npy,.tsv", "aria-label": "A file of numbers", onchange: () => ownFile(file.files[0]) });
  const ownRow = make("div", { class: "own" }, own, file);
  curveUpdates.push(() => {
    ownRow.hidden = state.curve.distribution !== "own";
    if (own.value !== state.curve.values) own.value = state.curve.values;
    sliders[3].element.hidden = state.curve.scaling !== "block";
  });
  by("curve-controls").append(menu("distribution", "numbers"), field("scale", "scale"), field("seed", "seed"), ...sliders.slice(0, 3).map(one => one.element),
    menu("scaling", "scale factors of 8-bit formats"), sliders[3].element, ownRow);
}

/** Characters of a file, at most. */
const LONGEST_FILE = 8000000;
/** Numbers of an array that are read. */
const MOST_NUMBERS = 262144;

/** Numbers of a user's file: text, or NumPy's format of FP32 or FP64. @param {File | undefined} file */
async function ownFile(file) {
  if (!file) return;
  say("");
  try {
    const { text, note } = fileText(await file.arrayBuffer());
    change("", now => { now.curve.values = text; });
    if (note) say(`${file.name} ${note}`);
  } catch (error) {
    say(`${file.name} ${/** @type {Error} */ (error).message}`, true);
  }
}

/** The numbers of a file as a text. @param {ArrayBuffer} bytes
 * @returns {{text: string, note?: string}} */
function fileText(bytes) {
  const [view, length] = [new DataView(bytes), bytes.byteLength];
  if (length < 4 || view.getUint32(0) !== 0x934e554d) { // "\x93NUM"
    const text = new TextDecoder().decode(bytes).replace(/\r\n?/g, "\n");
    if (text.length > LONGEST_FILE) throw Error(`has ${text.length} characters; at most ${LONGEST_FILE} are read`);
    return { text };
  }
  const long = length >= 12 && view.getUint8(6) > 1;
  const start = length < 12 ? Infinity : long ? 12 + view.getUint32(8, true) : 10 + view.getUint16(8, true);
  const head = new TextDecoder().decode(bytes.slice(8, start));
  const kind = head.match(/'descr': '([^']*)'/)?.[1] ?? "";
  const width = { "<f4": 4, "<f8": 8 }[kind];
  if (start <= length && !width) throw Error(`holds '${kind}'; arrays of '<f4' and '<f8' are read`);
  const count = (head.match(/'shape': \(([^)]*)\)/)?.[1] ?? "").split(",").reduce((product, one) => (one.trim() ? product * Number(one) : product), 1);
  if (!width || !(start + count * width <= length)) throw Error(`is cut short: it has ${length} bytes`);
  const numbers = Array.from({ length: Math.min(count, MOST_NUMBERS) }, (_, at) => (width === 4 ? view.getFloat32(start + 4 * at, true) : view.getFloat64(start + 8 * at, true)));
  return { text: numbers.join(" "), note: count > MOST_NUMBERS ? `has ${count} numbers; the first ${MOST_NUMBERS} are taken` : "" };
}

function showCurves() {
  if (!curves) return;
  const { ks, units, about } = curves;
  const svg = curveSvg();
  const percent = (/** @type {number | null} */ value) => (value === null ? "not finite" : value === 0 ? "0" : value.toExponential(2));
  const rows = units.map((unit, index) => make("tr", { class: "g" + index }, make("th", { scope: "row" }, make("span", { class: "letter" }, LETTERS[index]), " ", unit.name),
    ...(unit.error !== null ? [make("td", { colspan: 4, class: "lost" }, unit.error)]
      : [unit.total, unit.quantization, unit.accumulation].map(list => make("td", { class: "n" }, percent(list[list.length - 1]))).concat(make("td", {}, unit.scaling)))));
  const picture = make("div", { class: "chart", role: "img", "aria-label": `Relative error along K, up to K = ${ks[ks.length - 1]}; the table below has the numbers at the largest K` });
  picture.innerHTML = svg; // made above, of numbers and escaped names
  by("curve").replaceChildren(make("p", { class: "dim" }, `${about}. Root mean square over 64 dot products, relative to the exact result. Solid: in all; dashed: from the sums; dotted: from the formats of A and B.`),
    picture, make("div", { class: "scroll" }, make("table", { class: "rows" }, make("thead", {}, make("tr", {}, ...[`at K = ${ks[ks.length - 1]}`, "in all", "formats", "sums", "scale factors"].map((name, at) =>
      make("th", { scope: "col", class: at > 0 && at < 4 ? "n" : false }, name)))), make("tbody", {}, ...rows))));
}

const COLORS = ["#0072b2", "#d55e00", "#009e73", "#8a4fbf"];

/** The curves as a picture. */
function curveSvg() {
  if (!curves) return svgOf(600, 60, ['<text x="20" y="30">nothing is drawn yet</text>']);
  const { ks, units } = curves;
  const [width, height, left, right, top, bottom] = [760, 380, 64, 150, 16, 44];
  const values = units.flatMap(unit => [unit.total, unit.quantization, unit.accumulation].flat()).filter(value => value !== null && value > 0).map(Number);
  let [low, high] = values.length ? [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))] : [-8, 0];
  if (high === low) high += 1;
  low = Math.max(low, high - 12);
  const [first, last] = [Math.log2(ks[0]), Math.log2(ks[ks.length - 1])];
  const x = (/** @type {number} */ k) => left + (width - left - right) * (last > first ? (Math.log2(k) - first) / (last - first) : 0.5);
  const y = (/** @type {number} */ error) => top + (height - top - bottom) * (high - Math.max(Math.log10(error), low)) / (high - low);
  /** @type {string[]} */
  const body = [];
  for (let power = low; power <= high; power += 1) {
    const at = y(10 ** power);
    body.push(`<line x1="${left}" x2="${width - right}" y1="${at}" y2="${at}" stroke="#e4e4e4"/><text x="${left - 8}" y="${at + 4}" text-anchor="end" fill="#444444">1e${power}</text>`);
  }
  for (const k of ks) body.push(`<text x="${x(k)}" y="${height - bottom + 18}" text-anchor="middle" fill="#444444" font-size="11">${k}</text>`);
  body.push(`<text x="${(left + width - right) / 2}" y="${height - 8}" text-anchor="middle" fill="#222222">K</text>`);
  /** @type {{at: number, text: string, color: string}[]} */
  const names = [];
  units.forEach((unit, index) => {
    if (unit.error !== null) return;
    const path = (/** @type {(number | null)[]} */ list, /** @type {string} */ style) => {
      const points = list.flatMap((value, at) => (value !== null && value > 0 ? [`${x(ks[at]).toFixed(1)},${y(value).toFixed(1)}`] : []));
      if (points.length) body.push(`<polyline points="${points.join(" ")}" fill="none" stroke="${COLORS[index]}" ${style}/>`);
    };
    path(unit.quantization, 'stroke-width="1.5" stroke-dasharray="2 4"');
    path(unit.accumulation, 'stroke-width="1.5" stroke-dasharray="8 4"');
    path(unit.total, 'stroke-width="2.5"');
    const end = [...unit.total].reverse().find(value => value !== null && value > 0);
    if (end) names.push({ at: y(end), text: `${LETTERS[index]} ${unit.name.split(" ")[0]}`, color: COLORS[index] });
  });
  names.sort((one, other) => one.at - other.at);
  names.forEach((name, at) => { if (at && name.at < names[at - 1].at + 15) name.at = names[at - 1].at + 15; });
  for (const { at, text, color } of names) body.push(`<text x="${width - right + 8}" y="${at + 4}" fill="${color}" font-weight="bold">${escaped(text)}</text>`);
  return svgOf(width, height, body);
}
