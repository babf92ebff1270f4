// What the page shows, as a link, and as steps that can be undone.

/** @returns {State} */
function blank() {
  return {
    view: "dot", units: [], a: "", b: "", c: "0", scale_a: "", scale_b: "", step: -1,
    curve: { distribution: "normal", scale: 1, seed: 0, k: 4096, promote: 0, split: 1, scaling: "tensor", block: 128, values: "" },
    format: "e4m3", negative: false, picture: "", image: -1,
    pictures: ["h100 wgmma e4m3 f32", "b200 mxfp8 e4m3", "b200 nvfp4"].map(unit => ({ unit, edit: {} })),
  };
}

/** A unit and its edits in one text: `h100 wgmma f16 f32;F=13`.
 * @param {UnitState} unit */
const written = unit => [unit.unit, ...Object.keys(unit.edit).sort().map(key => key + "=" + unit.edit[key])].join(";");

/** @param {string} text
 * @returns {UnitState} */
function unitOf(text) {
  const [unit, ...edits] = text.split(";");
  /** @type {Record<string, string>} */
  const edit = {};
  for (const one of edits) {
    const at = one.indexOf("=");
    if (at > 0) edit[one.slice(0, at)] = one.slice(at + 1);
  }
  return { unit, edit };
}

/** Parameters of a link that are a text or a number of the state. */
const KEYS = /** @type {const} */ ([["a", "a"], ["b", "b"], ["c", "c"], ["sa", "scale_a"], ["sb", "scale_b"], ["f", "format"], ["v", "view"], ["pic", "picture"]]);
const CURVE = /** @type {const} */ ([["d", "distribution"], ["x", "scale"], ["seed", "seed"], ["k", "k"], ["p", "promote"], ["split", "split"],
  ["q", "scaling"], ["block", "block"], ["n", "values"]]);

/** Numbers of a user's own that still fit into a link. */
const LONGEST_VALUES = 6000;

/** The fragment of a link that shows this state.
 * @param {State} state */
function fragment(state) {
  const parameters = new URLSearchParams();
  const usual = blank();
  for (const unit of state.units) parameters.append("u", written(unit));
  for (const [short, key] of KEYS) if (state[key] !== usual[key]) parameters.set(short, state[key]);
  if (state.step !== usual.step) parameters.set("s", String(state.step));
  for (const [short, key] of CURVE) {
    const value = state.curve[key];
    if (value !== usual.curve[key] && !(key === "values" && String(value).length > LONGEST_VALUES)) parameters.set(short, String(value));
  }
  if (state.negative) parameters.set("neg", "1");
  const pictures = state.pictures.map(written);
  if (pictures.join("\n") !== usual.pictures.map(written).join("\n")) {
    for (const unit of pictures) parameters.append("i", unit || " "); // an empty one alone is no unit
    if (!pictures.length) parameters.set("i", "");
  }
  return parameters.toString();
}

/** What of the last fragment could not be read, and what is shown instead.
 * @type {string[]} */
let misread = [];

/** The state that a fragment, or a whole link, says; what it does not say is as usual. The fields of one line have no line breaks.
 * @param {string} text
 * @returns {State} */
function stateOf(text) {
  const parameters = new URLSearchParams(text.slice(text.indexOf("#") + 1));
  const state = blank();
  misread = [];
  const line = (/** @type {string} */ text) => text.replace(/[\r\n]+/g, " ");
  const units = (/** @type {string} */ short) => {
    const all = parameters.getAll(short).map(line);
    if (all.length > MOST_UNITS) misread.push(`${all.length} units are in the address, and the first ${MOST_UNITS} are shown`);
    return all.slice(0, MOST_UNITS).map(unitOf);
  };
  const number = (/** @type {string} */ short, /** @type {string} */ text, /** @type {number} */ usual) => {
    if (text.trim() && Number.isFinite(Number(text))) return Number(text);
    misread.push(`'${short}=${text.slice(0, 40)}' is not a number, and ${usual} is taken; write ${short}=${usual}, say`);
    return usual;
  };
  state.units = units("u");
  for (const [short, key] of KEYS) state[key] = line(parameters.get(short) ?? state[key]);
  if (parameters.has("s")) state.step = number("s", parameters.get("s") ?? "", state.step);
  for (const [short, key] of CURVE) {
    const value = parameters.get(short);
    if (value === null) continue;
    const curve = /** @type {any} */ (state.curve);
    curve[key] = typeof curve[key] === "number" ? number(short, value, curve[key]) : value.replaceAll("\r", "");
  }
  if (!["dot", "curve", "formats"].includes(state.view)) {
    misread.push(`'v=${state.view.slice(0, 40)}' is no view; dot, curve and formats are`);
    state.view = "dot";
  }
  state.negative = parameters.get("neg") === "1";
  if (parameters.has("i")) state.pictures = parameters.getAll("i").join() ? units("i") : [];
  return state;
}

const MOST_UNITS = 4;
/** States that can be returned to. */
const MOST_STEPS = 200;
/** Characters of different numbers of a user's own that are kept for that. */
const MOST_KEPT = 50000000;
/** Changes of one field that follow each other this fast, in milliseconds, are undone together. */
const TOGETHER = 700;

/** @type {State} */
let state = blank();
/** @type {State[]} */
const before = [];
/** @type {State[]} */
const after = [];
let lastField = "";
let lastTime = 0;

/** Milliseconds without a change after which the address gets the state: browsers refuse addresses that change with every key. */
const STILL = 200;
let waiting = 0;
/** The fragment that was read or written last; another one has just been put there, and is about to be read. */
let known = location.hash;

/** The fragment of the address. */
function readAddress() {
  known = location.hash;
  return known;
}

/** Writes the state into the address. */
function keepAddress() {
  clearTimeout(waiting);
  waiting = 0;
  const text = fragment(state);
  if (location.hash !== known || known.slice(1) === text) return;
  history.replaceState(null, "", "#" + text);
  readAddress();
}

function keepAddressSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(keepAddress, STILL);
}

/** Changes the state; `field` joins quick changes of one thing, an empty one joins none.
 * @param {string} field
 * @param {(state: State) => void} how */
function change(field, how) {
  const was = copyOf(state);
  how(state);
  if (brief(state) === brief(was) && state.curve.values === was.curve.values) return;
  const now = performance.now();
  if (!field || field !== lastField || now - lastTime > TOGETHER || !before.length) {
    keep(was);
  }
  [lastField, lastTime] = [field, now];
  after.length = 0;
  outdated();
  show();
}

/** Keeps a state to return to. @param {State} was */
function keep(was) {
  before.push(was);
  const kept = () => [...new Set(before.map(state => state.curve.values))].reduce((sum, text) => sum + text.length, 0);
  while (before.length > MOST_STEPS || (before.length > 1 && kept() > MOST_KEPT)) before.shift();
}

/** What was said of another state is not said any more, but for what is still under way. */
function outdated() {
  if (!by("smallest").disabled) say("");
}

/** A state as a text, but for numbers of a user's own.
 * @param {State} state */
const brief = state => JSON.stringify({ ...state, curve: { ...state.curve, values: "" } });

/** A state of its own, which shares numbers of a user's own: they may be long.
 * @param {State} state
 * @returns {State} */
function copyOf(state) {
  const copy = JSON.parse(brief(state));
  copy.curve.values = state.curve.values;
  return copy;
}

/** @param {State[]} from @param {State[]} to */
function travel(from, to) {
  const there = from.pop();
  if (there === undefined) return;
  to.push(copyOf(state));
  state = there;
  lastField = "";
  outdated();
  show();
}
const undo = () => travel(before, after);
const redo = () => travel(after, before);
