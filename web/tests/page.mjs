// The page in Chromium, over both transports: what people do with it.
//   node page.mjs PLAYWRIGHT CHROMIUM ADDRESS FILE.html [FOLDER of screenshots]     ONLY=links,looks runs these alone
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [playwright, executablePath, address, file, shots] = process.argv.slice(2);
const { chromium } = await import(pathToFileURL(join(playwright, "index.mjs")).href);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

/** A page that fails on errors of the console and on requests to elsewhere. */
async function opened(base, fragment = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  await context.grantPermissions([]);
  const page = await context.newPage();
  page.problems = [];
  page.on("console", message => { if (["error", "warning"].includes(message.type())) page.problems.push(message.text()); });
  page.on("pageerror", error => page.problems.push(String(error)));
  page.on("request", request => { if (!/^(blob:|data:)/.test(request.url()) && !request.url().startsWith(base)) page.problems.push("request to " + request.url()); });
  await page.goto(base + (fragment ? "#" + fragment : ""));
  await page.waitForSelector("body[data-ready]", { timeout: 15000 });
  return page;
}

/** That two texts are the same; the first line that is not is what the error says. */
function same(actual, expected, about) {
  const [lines, others] = [actual.split("\n"), expected.split("\n")];
  const at = lines.findIndex((line, place) => line !== others[place]);
  assert.ok(actual === expected, `${about}: line ${at}: ${lines[at]} instead of ${others[at]}`);
}

const settled = page => page.evaluate(async () => {
  await new Promise(done => setTimeout(done, 0));
  await show();
});
const values = page => page.$$eval(".answer", cards => cards.map(card => card.querySelector(".value b")?.textContent ?? "error"));
const codes = page => page.$$eval(".answer", cards => cards.map(card => card.querySelector("code")?.textContent ?? "error"));
const link = page => page.evaluate(() => { keepAddress(); return location.hash.slice(1); });
const picture = async (page, name) => { if (shots) await page.screenshot({ path: join(shots, name + ".png"), fullPage: true }); };
async function type(page, id, text) {
  await page.fill("#" + id, text);
  await settled(page);
}
async function closed(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

/** Numbers that every run draws alike. */
function numbers() {
  let seed = 59n;
  return below => { seed = (seed * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn; return Number((seed >> 33n) % BigInt(below)); };
}

const UNITS = ["h100 wgmma f16 f32", "h100 mma m16n8k16 f16 f16", "mi300x v_mfma_f32_16x16x16_f16", "mi250x v_mfma_f32_16x16x16f16", "v100 mma m8n8k4 f16 f32",
  "b200 tcgen05 e4m3 f32", "h100 wgmma e4m3 f32", "b200 nvfp4", "b200 mxfp8 e4m3", "a100 mma m16n8k8 tf32", "h100 wgmma f16 f32;F=12", "h100 wgmma f16 f32;rho=RNE-FP16",
  "mi300x v_mfma_f32_16x16x16_f16;sum_rounding=RZ", "nothing of the kind", "rtx 4090 mma e4m3 f32"];
const WORDS = ["1", "-0.5", "0x1p-24", "0x3c00", "448", "inf", "nan", "1e-3", "0", "65504", "0x1.8p3", "not a number"];

async function presets(base, name) {
  const page = await opened(base);
  const names = await page.$$eval("#preset option", options => options.map(option => option.value).filter(value => value));
  assert.ok(names.length >= 9);
  for (const preset of names) {
    await page.selectOption("#preset", preset);
    await settled(page);
    const [here, cards] = [await codes(page), await page.$$(".answer")];
    assert.equal(cards.length, await page.$$eval("#units .unit", units => units.length));
    assert.ok((await page.textContent("#lesson")).length > 40, preset);
    assert.ok((await page.$$(".picture tr.term, .picture tr.rounded")).length > 0, preset);
    // TF32 is cut alike on both units
    assert.ok(new Set(here).size > 1 || preset === "tf32-cut", `${preset}: ${here}`);
    const other = await opened(base, await link(page));
    assert.deepEqual(await codes(other), here, preset);
    assert.equal(await other.$eval("#preset", menu => menu.value), preset);
    assert.equal(await link(other), await link(page));
    await closed(other);
    await picture(page, `${name}-${preset}`);
  }
  await closed(page);
}

async function inputs(base) {
  const page = await opened(base, "u=h100+wgmma+f16+f32&a=1&b=1&c=0");
  for (const [a, b, c, expected] of [["0.5", "3", "1", "2.5"], ["0x1.8p3", "0x1p-1", "0", "6"], ["0x3c00 0x4000", "0x3c00 0x3c00", "0x3f800000", "4"], ["inf", "1", "0", "inf"], ["nan", "1", "0", "nan"], ["1, 2, 3", "[1 1 1]", "", "6"]]) {
    await type(page, "a", a);
    await type(page, "b", b);
    await type(page, "c", c);
    assert.deepEqual(await values(page), [expected], a);
  }
  await type(page, "a", "1 2 x");
  assert.match(await page.textContent(".answer.failed"), /a2: 'x' is not a number/);
  // bits
  await type(page, "a", "1");
  await type(page, "b", "1");
  await type(page, "c", "0");
  await page.selectOption("#bits-of", "a0");
  assert.equal((await page.$$(".flip")).length, 16);
  await page.click(".flip >> nth=0");
  await settled(page);
  assert.deepEqual(await values(page), ["-1"]);
  assert.equal(await page.inputValue("#a"), "-1");
  await page.click(".flip >> nth=6");
  await settled(page);
  assert.deepEqual(await values(page), ["-1.5"]);
  await page.keyboard.press("Enter"); // the bit still has the focus
  await settled(page);
  assert.deepEqual(await values(page), ["-1"]);
  await page.selectOption("#bits-of", "c");
  assert.equal((await page.$$(".flip")).length, 32);
  // pasted rows
  const paste = (id, text) => page.evaluate(({ id, text }) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text", text);
    document.getElementById(id).dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, { id, text });
  await paste("a", "tensor([1., 2., −4.], device='cuda:0')");
  await page.waitForFunction(() => document.getElementById("a").value === "1. 2. -4.");
  await paste("a", "[0.5, 0.25] · [2, 4] + 8");
  await page.waitForFunction(() => document.getElementById("c").value === "8");
  await settled(page);
  assert.deepEqual(await values(page), ["10"]);
  // undo and redo, by keys and buttons
  await page.keyboard.press("Control+z");
  await settled(page);
  assert.equal(await page.inputValue("#a"), "1. 2. -4.");
  await page.keyboard.press("Control+Shift+Z");
  await settled(page);
  assert.deepEqual(await values(page), ["10"]);
  for (let count = 0; count < 100 && await page.isEnabled("#undo"); count += 1) { await page.click("#undo"); await settled(page); }
  assert.equal(await link(page), "u=h100+wgmma+f16+f32&a=1&b=1");
  assert.deepEqual(await values(page), ["1"]);
  // K of several instructions, walked
  await type(page, "a", "1 ".repeat(40).trim());
  await type(page, "b", "1 ".repeat(40).trim());
  assert.deepEqual(await values(page), ["40"]);
  assert.equal(await page.textContent("#walk-text"), "step 1 of 3 along K");
  await page.click("#forth");
  await settled(page);
  assert.equal(await page.textContent("#walk-text"), "step 2 of 3 along K");
  assert.match(await link(page), /s=1/);
  // what is under the pointer is told
  await page.hover("tr.term >> nth=0");
  assert.match(await page.textContent("#detail"), /a16\*b16 = 1, exponent 0; nothing is lost/);
  await closed(page);
}

async function units(base) {
  const page = await opened(base, "u=h100+wgmma+f16+f32&a=-8192+-0.5+-0.25+-0.125&b=1024+1+1+1&c=0x1p23");
  await page.fill("#units-0", "h100 wgmma e4m3");
  await page.waitForSelector("#units-0-list li");
  assert.ok((await page.$$("#units-0-list li")).length > 1);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const chosen = await page.textContent("#units-0-list li[aria-selected=true] b");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.equal(await page.inputValue("#units-0"), "h100 " + chosen);
  await page.fill("#units-0", "h100 mma m16n8k16 f16 f32");
  await page.keyboard.press("Escape");
  await settled(page);
  assert.deepEqual(await values(page), ["-0.75"]);
  await page.click("#add");
  await settled(page);
  await page.click("#units .unit:nth-child(2) .edit");
  await settled(page);
  await page.fill("#units .unit:nth-child(2) input[aria-label^='F of']", "26");
  await settled(page);
  assert.deepEqual(await values(page), ["-0.75", "-0.875"]);
  assert.match(await link(page), /F%3D26/);
  await page.selectOption("#units .unit:nth-child(2) select[aria-label^='rho of']", "RNE-FP16");
  await settled(page);
  assert.equal((await codes(page))[1], "0xbb00");
  assert.match(await page.textContent(".answer:nth-child(2) .who"), /edited/);
  await page.click("#smallest");
  await page.waitForFunction(() => /differ/.test(document.getElementById("status").textContent) && !document.getElementById("smallest").disabled, null, { timeout: 60000 });
  await settled(page);
  assert.equal(new Set(await codes(page)).size, 2);
  await page.click("#units .unit:nth-child(2) .remove");
  await settled(page);
  assert.equal((await values(page)).length, 1);
  await page.click("#smallest");
  assert.match(await page.textContent("#status"), /second unit/);
  // copies
  await page.click("#copy");
  for (const [kind, pattern] of [["link", /#u=h100/], ["command", /bitmma explain hopper '.*' -a/], ["Python", /bitmma\.explain\(unit/], ["JSON", /"parts"/], ["SVG", /<svg/]]) {
    await page.click(`#copy-kinds button:text-is("${kind}")`);
    assert.match(await page.inputValue("#copy-text"), pattern, kind);
  }
  const png = page.waitForEvent("download");
  await page.click(`#copy-kinds button:text-is("PNG")`);
  await page.click("#copy-now");
  assert.equal((await png).suggestedFilename(), "bitmma.png");
  await page.keyboard.press("Escape");
  await closed(page);
}

function drawn(random) {
  const pick = list => list[random(list.length)];
  const parameters = new URLSearchParams();
  for (let count = 1 + random(4); count > 0; count -= 1) parameters.append("u", pick(UNITS));
  for (const key of ["a", "b"]) parameters.set(key, Array.from({ length: 1 + random(6) }, () => pick(WORDS)).join(" "));
  if (random(2)) parameters.set("c", pick(WORDS));
  if (random(4) === 0) parameters.set("sa", "2 1");
  if (random(3) === 0) parameters.set("s", String(random(3)));
  const view = pick(["dot", "dot", "curve", "formats"]);
  if (view !== "dot") parameters.set("v", view);
  if (view === "curve") {
    parameters.set("d", pick(["uniform", "outliers", "softmax"]));
    parameters.set("k", String(pick([16, 64, 512])));
    if (random(2)) parameters.set("p", "64");
    parameters.set("q", pick(["none", "block"]));
  }
  if (view === "formats") {
    parameters.set("f", pick(["e5m2", "e2m1", "ue8m0", "e4m3fnuz"]));
    if (random(2)) parameters.set("neg", "1");
  }
  return parameters.toString();
}

/** What is seen of a state. */
const seen = page => page.evaluate(async () => {
  await show();
  // what is far below the window is not laid out, and has no innerText
  for (const picture of document.querySelectorAll(".picture")) picture.style.contentVisibility = "visible";
  const text = view => document.getElementById("view-" + view).innerText;
  return `${fragment(state)}\n${state.view}\n${text(state.view)}`;
});

async function links(base) {
  const page = await opened(base);
  const fresh = await opened(base);
  const random = numbers();
  for (let count = 0; count < 100; count += 1) {
    const before = await seen(page);
    const there = drawn(random);
    await page.evaluate(there => { location.hash = there; }, there);
    await page.waitForFunction(there => new URLSearchParams(there).get("a") === state.a && new URLSearchParams(there).get("b") === state.b, there);
    const here = await seen(page);
    assert.equal(await page.evaluate(() => fragment(stateOf(fragment(state))) === fragment(state)), true, there);
    if (count % 10 === 0) { // a page of its own shows the same
      await fresh.goto("about:blank");
      await fresh.goto(base + "#" + await link(page));
      await fresh.waitForSelector("body[data-ready]");
      same(await seen(fresh), here, there);
    }
    await page.evaluate(() => undo());
    same(await seen(page), before, "undo " + there);
    await page.evaluate(() => redo());
    same(await seen(page), here, "redo " + there);
  }
  await closed(fresh);
  await closed(page);
}

/** Addresses that someone typed: read as they are meant, or with a word on what is not. */
async function addresses(base) {
  const told = async (fragment, place) => {
    const page = await opened(base, fragment);
    await settled(page);
    const text = await page.textContent(place);
    await closed(page);
    return text;
  };
  const unit = "u=h100+wgmma+f16+f32";
  assert.match(await told("v=formats&i=", "#images"), /No unit is chosen/);
  assert.match(await told("v=formats&pic=own", "#picture-note"), /picture of its sender's own/);
  assert.match(await told(`v=curve&k=64&seed=1e30&${unit}`, "#curve"), /seed is 1e\+30; an integer from 0/);
  assert.match(await told(`v=curve&k=abc&${unit}`, "#status"), /'k=abc' is not a number, and 4096 is taken/);
  assert.match(await told(`v=curve&d=own&${unit}`, "#curve"), /no numbers of your own/);
  assert.match(await told("v=nothing&u=a&u=b&u=c&u=d&u=e", "#status"), /5 units .* first 4 are shown.*'v=nothing' is no view/);
  assert.match(await told("u=h100%0Awgmma+f16+f32&a=1%0A2&b=1+1&c=%0A3", ".answer .value"), /6$/);
  // signs of distances that are not exact, and integers
  assert.match(await told(`${unit.replace("f16", "e4m3")}&a=448&b=448&c=-3e38`, ".answer"), /≈\+9\.857/);
  assert.match(await told("u=a100+mma+m16n8k32+s8&a=127&b=127&c=2147483647", ".answer"), /−4294967296 from 2147499776, the exact result/);
  assert.match(await told(`${unit}&a=0.1&b=1`, ".answer"), /exact for the inputs as rounded/);
  assert.match(await told("u=v100+mma+m8n8k4+f16+f16&a=nan&b=1", ".picture"), /nan 0x7fff f16$/);
  // a copied link says what is not in it
  const page = await opened(base, `v=curve&d=own&n=1&${unit}`);
  const note = async () => {
    await page.click("#copy");
    const text = await page.textContent("#copy-note");
    await page.click("#copy-close");
    return text;
  };
  assert.equal(await note(), "");
  await page.fill("#curve-values", "1 ".repeat(4000));
  await settled(page);
  assert.match(await note(), /numbers are not in the link: they have 8000 characters/);
  await page.evaluate(() => change("", now => { now.curve.values = "1"; now.picture = "own"; }));
  assert.match(await note(), /picture is not in the link/);
  await closed(page);
}

async function curves(base, name) {
  const four = ["h100 wgmma e4m3 f32", "b200 tcgen05 e4m3 f32", "mi300x v_mfma_f32_16x16x32_fp8_fp8", "b200 nvfp4"];
  const page = await opened(base, new URLSearchParams([...four.map(unit => ["u", unit]), ["a", "1"], ["b", "1"], ["v", "curve"]]).toString());
  await settled(page);
  const times = [];
  for (const k of [14, 13, 14]) {
    await page.evaluate(at => { const slide = document.getElementById("curve-k"); slide.value = at; slide.dispatchEvent(new Event("input")); }, k - 4);
    await settled(page);
    if (k === 14) times.push(Number(await page.getAttribute("#view-curve", "data-milliseconds")));
  }
  console.log(`${name}: the curve of four units to K = 16384: ${times.join(", ")} ms`);
  assert.ok((await page.$$("#curve polyline")).length >= 10); // a curve of zeros has no logarithms
  for (const [id, value] of [["curve-distribution", "softmax"], ["curve-distribution", "own"], ["curve-scaling", "block"]]) {
    await page.selectOption("#" + id, value);
    await settled(page);
  }
  await page.fill("#curve-values", "1 0.5 0.25 -3 1e-3");
  await settled(page);
  assert.match(await page.textContent("#curve"), /5 numbers of your own/);
  await picture(page, name + "-curve");
  await page.selectOption("#curve-distribution", "outliers");
  await settled(page);
  await picture(page, name + "-curve-outliers");
  await closed(page);
}

async function formats(base, name) {
  const page = await opened(base, "v=formats");
  await settled(page);
  for (const format of await page.$$eval("#format option", options => options.map(option => option.value))) {
    await page.selectOption("#format", format);
    await settled(page);
    assert.ok((await page.$$("#format-grid td")).length >= 8, format);
  }
  await page.selectOption("#format", "e4m3");
  await settled(page);
  await page.hover("#format-grid td:text-is('448') , #format-grid td:has-text('448')");
  assert.match(await page.textContent("#format-detail"), /0x7e = 448/);
  await page.check("#negative");
  await settled(page);
  assert.match(await page.textContent("#format-grid"), /-448/);
  assert.equal((await page.$$("#images canvas")).length, 4);
  await picture(page, name + "-formats");
  await closed(page);
}

async function looks(base, name) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      for (const view of ["dot", "curve", "formats"]) {
        const page = await opened(base, "v=" + view, { colorScheme, viewport: { width, height: 900 }, reducedMotion: width === 390 ? "reduce" : "no-preference" });
        await settled(page);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${view} at ${width}: ${wide} px too wide`);
        const unnamed = await page.$$eval("button, input, select, textarea, canvas", all => all.filter(one => {
          const label = one.getAttribute("aria-label") || one.labels?.[0]?.textContent || one.textContent;
          return !label?.trim();
        }).map(one => one.outerHTML));
        assert.deepEqual(unnamed, []);
        const [ink, paper] = await page.evaluate(() => [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]);
        const sum = text => text.match(/\d+/g).slice(0, 3).map(Number).reduce((x, y) => x + y);
        assert.equal(sum(ink) < sum(paper), colorScheme === "light");
        await picture(page, `${name}-${view}-${width}-${colorScheme}`);
        if (view === "dot" && width === 1280) {
          await page.click("#theme");
          assert.notEqual(await page.evaluate(() => getComputedStyle(document.body).color), ink);
        }
        await closed(page);
      }
    }
  }
  // by keys alone: the tabs, the example, a field
  const page = await opened(base);
  await page.focus("#tab-dot");
  await page.keyboard.press("ArrowRight");
  await settled(page);
  assert.equal(await page.evaluate(() => [state.view, document.activeElement.id].join()), "curve,tab-curve");
  await page.keyboard.press("ArrowLeft");
  await page.focus("#a");
  await page.keyboard.press("End");
  await page.keyboard.type(" 5");
  await settled(page);
  assert.match(await page.inputValue("#a"), / 5$/);
  await closed(page);
}

/** Fields show the state, whatever changed it and wherever the focus is; what was said of another state goes. */
async function states(base) {
  const unit = "u=h100+wgmma+f16+f32";
  const page = await opened(base, `${unit}&a=3+1&b=1+1`);
  const go = async fragment => {
    await page.evaluate(fragment => { location.hash = fragment; }, fragment);
    await page.waitForFunction(fragment => location.hash.slice(1) === fragment && known === location.hash, fragment);
    await settled(page);
  };
  const status = () => page.textContent("#status");
  const edits = "#units .unit:nth-child(1) .edits";
  const field = symbol => `${edits} [aria-label^='${symbol} of']`;
  const fields = () => page.$$eval(`${edits} input, ${edits} select`, all => all.length);
  const undone = async () => { await page.keyboard.press("Control+z"); await settled(page); };
  await page.click("#units .edit");
  await settled(page);
  const count = await fields();
  assert.ok(count > 5);
  // edits that cannot be read keep their fields and the focus
  for (const [symbol, keys, value] of [["F", ["End", "Backspace", "Backspace"], ""], ["e_zero", ["-"], "-"], ["L_max", ["3"], "3"]]) {
    await page.focus(field(symbol));
    await page.keyboard.press("Control+a");
    for (const key of keys) {
      await page.keyboard.press(key);
      await settled(page);
    }
    assert.equal(await page.inputValue(field(symbol)), value, symbol);
    assert.equal(await fields(), count, symbol);
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")?.split(" ")[0]), symbol);
    assert.equal((await values(page))[0], "error");
    assert.equal(await page.isEnabled(`${edits} button`), true);
    await page.click(`${edits} button`);
    await settled(page);
    assert.equal(await page.$$eval(`${edits} .edited`, all => all.length), 0);
    assert.deepEqual(await values(page), ["4"]);
  }
  await page.fill(field("F"), "21");
  await settled(page);
  await page.focus(field("F"));
  await undone();
  assert.deepEqual(await page.$eval(field("F"), one => [one.value, one.parentElement.className]), ["25", ""]);
  await page.selectOption(field("rho"), "RNE-FP16");
  await page.focus(field("rho"));
  await undone();
  assert.equal(await page.inputValue(field("rho")), "RZ-FP32");
  // a unit is typed as links have it
  await page.focus("#units-0");
  await page.keyboard.press("End");
  await page.keyboard.type(";F=12");
  await settled(page);
  assert.deepEqual(await page.evaluate(() => state.units), [{ unit: "h100 wgmma f16 f32", edit: { F: "12" } }]);
  assert.equal(await page.inputValue("#units-0"), "h100 wgmma f16 f32;F=12");
  await page.focus("#a");
  assert.equal(await page.inputValue("#units-0"), "h100 wgmma f16 f32");
  // chips of several words
  for (const words of ["rtx 4090 mma e4m3", "rtx pro 6000 blackwell mma e4m3", "titan v mma"]) {
    await page.fill("#units-0", words);
    const option = page.locator("#units-0-list li", { hasText: "mma" }).first();
    await page.waitForFunction(chip => document.querySelector("#units-0-list li")?.dataset.unit.startsWith(chip), words.split(" mma")[0]);
    if (words.startsWith("titan")) await option.click();
    else for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
    await settled(page);
    assert.deepEqual([(await values(page))[0] === "error", (await page.inputValue("#units-0")).startsWith(words.split(" mma")[0] + " mma.")], [false, true], words);
  }
  // empty units are in links
  for (const [fragment, expected] of [["u=&u=mi300x+v_mfma_f32_16x16x16_f16&a=1&b=1", ["error", "1"]], ["u=&a=1&b=1", ["error"]]]) {
    await go(fragment);
    assert.deepEqual(await values(page), expected);
    assert.equal(await link(page), fragment);
  }
  // what is said, and what is told of a row, is of this state
  await go(`v=nothing&${unit}&a=3+1&b=1+1`);
  assert.match(await status(), /is no view/);
  await page.hover("tr.term >> nth=0");
  assert.match(await page.textContent("#detail"), /a0\*b0 = 3/);
  await page.hover("h1");
  await type(page, "a", "7 1");
  assert.deepEqual([await status(), await page.textContent("#detail")], ["", ""]);
  await page.click("#smallest");
  assert.match(await status(), /second unit/);
  await page.click("#add");
  await settled(page);
  assert.equal(await status(), "");
  // an answer to an older state is not taken
  await go(`${unit}&u=mi300x+v_mfma_f32_16x16x16_f16&a=1&b=1`);
  for (const [id, text] of [["a", "5 6 7"], ["units-1", "h100 mma m16n8k16 f16 f16"]]) {
    await page.evaluate(() => { // the answer comes late
      const slow = transport.slow;
      transport.slow = async question => { await new Promise(done => { window.late = done; }); transport.slow = slow; return slow(question); };
    });
    await page.click("#smallest");
    await page.fill("#" + id, text);
    await page.evaluate(() => window.late());
    await page.waitForFunction(() => !document.getElementById("smallest").disabled);
    assert.match(await status(), /changed during the search/);
    assert.equal(await page.inputValue("#" + id), text);
  }
  // no answer: no old result beside the new input
  await page.evaluate(() => { window.quick = transport.quick; transport.quick = async () => { throw Error("no answer"); }; });
  await type(page, "a", "7");
  assert.deepEqual([await status(), await values(page)], ["no answer", []]);
  await page.click("#copy");
  await page.click(`#copy-kinds button:text-is("Python")`);
  assert.match(await page.textContent("#copy-note"), /nothing to copy/);
  await page.click("#copy-close");
  await page.evaluate(() => { transport.quick = window.quick; });
  await type(page, "a", "8");
  assert.deepEqual([await status(), (await values(page)).length], ["", 2]);
  // numbers of the user's own
  await go(`${unit}&v=curve&d=own&k=64&n=1+2`);
  await page.fill("#curve-seed", "77");
  await settled(page);
  await undone();
  assert.equal(await page.inputValue("#curve-seed"), "0");
  const own = async (name, bytes) => {
    await page.setInputFiles("#curve-controls input[type=file]", { name, mimeType: "application/octet-stream", buffer: Buffer.from(bytes) });
    await page.waitForFunction(() => document.getElementById("status").textContent || state.curve.values !== "1 2");
    await settled(page);
  };
  await page.focus("#curve-values");
  await own("some.txt", "9 8 7\r\n6");
  assert.equal(await page.inputValue("#curve-values"), "9 8 7\n6");
  await undone();
  assert.equal(await page.inputValue("#curve-values"), "1 2");
  const npy = (shape, numbers, kind = "<f4") => {
    const head = `{'descr': '${kind}', 'fortran_order': False, 'shape': (${shape}), }`.padEnd(117) + "\n";
    const start = Buffer.from("\x93NUMPY\x01\0\0\0", "latin1");
    start.writeUInt16LE(head.length, 8);
    return Buffer.concat([start, Buffer.from(head), Buffer.from(new Float32Array(numbers).buffer)]);
  };
  for (const [bytes, wrong] of [[npy("3,", [1, 2, 3]).subarray(0, 7), /cut short/], [npy("4,", [1, 2, 3]), /cut short/], [npy("3,", [1, 2, 3]).subarray(0, 50), /cut short/],
    [npy("1,", [1], "<f2"), /holds '<f2'/], ["1 ".repeat(4000001), /8000002 characters; at most 8000000/]]) {
    await own("wrong.npy", bytes);
    assert.match(await status(), wrong);
    await page.evaluate(() => say(""));
  }
  await own("right.npy", npy("3, 1", [1, 2, 3.5]));
  assert.deepEqual([await page.inputValue("#curve-values"), await status()], ["1 2 3.5", ""]);
  assert.match(await page.textContent("#curve"), /^3 numbers of your own/);
  // long ones are kept once, not with every step
  assert.deepEqual(await page.evaluate(() => {
    const was = before.length;
    const long = "1 ".repeat(10000000);
    const step = values => keep({ ...copyOf(state), curve: { ...state.curve, values } });
    for (let count = 0; count < 8; count += 1) step(long);
    const alike = before.length - was;
    for (let count = 0; count < 8; count += 1) step(long + count);
    return [alike, before.length];
  }), [8, 2]);
  // the picture before
  await go("v=formats&i=b200+nvfp4");
  const pictures = await page.evaluate(() => ["#000", "#fff"].map(color => {
    const canvas = make("canvas", { width: 16, height: 16 });
    Object.assign(canvas.getContext("2d"), { fillStyle: color }).fillRect(0, 0, 16, 16);
    return canvas.toDataURL().split(",")[1];
  }));
  const gray = () => page.$eval("#images canvas", canvas => canvas.getContext("2d").getImageData(0, 0, 1, 1).data[0]);
  for (const [place, picture] of pictures.entries()) {
    await page.setInputFiles("#picture-file", { name: "own.png", mimeType: "image/png", buffer: Buffer.from(picture, "base64") });
    await page.waitForFunction(place => state.image === place, place);
    await settled(page);
    assert.equal(await gray(), 255 * place);
  }
  await page.evaluate(() => undo());
  await settled(page);
  assert.equal(await gray(), 0);
  await page.hover("#format-grid td:has-text('448')");
  assert.match(await page.textContent("#format-detail"), /448/);
  await page.selectOption("#format", "e2m1");
  await settled(page);
  assert.equal(await page.textContent("#format-detail"), "");
  await closed(page);
}

/** From a key to the page that shows its effect, K = 32 and four units. */
async function keystrokes(base, name) {
  const four = ["h100 wgmma f16 f32", "mi300x v_mfma_f32_32x32x8_f16", "mi250x v_mfma_f32_16x16x16f16", "v100 mma m8n8k4 f16 f32"];
  const numbers = Array.from({ length: 32 }, (_, at) => (at % 2 ? -1 : 1) * (at + 0.5)).join(" ");
  const page = await opened(base, new URLSearchParams([...four.map(unit => ["u", unit]), ["a", numbers], ["b", numbers], ["c", "1000"]]).toString());
  const times = await page.evaluate(async () => {
    const field = document.getElementById("a");
    const times = [];
    for (let count = 0; count < 60; count += 1) {
      const shown = new Promise(done => {
        const observer = new MutationObserver(() => { observer.disconnect(); done(null); });
        observer.observe(document.getElementById("answers"), { childList: true, characterData: true, subtree: true });
      });
      const start = performance.now();
      field.value = field.value.replace(/[\d.]+$/, String(count + 0.25));
      field.dispatchEvent(new Event("input"));
      await shown;
      document.body.getBoundingClientRect(); // laid out, too
      times.push(performance.now() - start);
      await new Promise(done => setTimeout(done, 20));
    }
    return times.slice(10).sort((one, other) => one - other);
  });
  const [quick, median, most] = [0.25, 0.5, 0.95].map(part => times[Math.floor(times.length * part)]);
  console.log(`${name}: from a key to the page, K = 32, four units: median ${median.toFixed(1)} ms, a quarter below ${quick.toFixed(1)} ms, 95 of 100 below ${most.toFixed(1)} ms`);
  assert.equal((await page.$$(".answer .value")).length, 4);
  await closed(page); // times are printed, and not judged: a machine may do four things at once
}

// both transports at once; what takes a time alone comes after that, and alone
const together = { presets, inputs, units, states, links, addresses, formats, looks };
const alone = { curves, keystrokes };
const only = process.env.ONLY?.split(",") ?? Object.keys({ ...together, ...alone });
const transports = [["server", address], ...(file ? [["file", pathToFileURL(file).href]] : [])];
async function run(tests, [name, base]) {
  for (const test of Object.keys(tests).filter(test => only.includes(test))) {
    const start = performance.now();
    await tests[test](base, name);
    console.log(`${name}: ${test}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
  }
}
await Promise.all(transports.map(transport => run(together, transport)));
for (const transport of transports) await run(alone, transport);
await browser.close();
