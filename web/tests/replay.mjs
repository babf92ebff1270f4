// The exact vectors and recorded dot products through the module, and the same questions to the server: the same JSON.
//   node replay.mjs MODULE.wasm ADDRESS RECORDINGS
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [path, address, recordings] = process.argv.slice(2);
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(path)), {});

function module(question) {
  const bytes = new TextEncoder().encode(question);
  const at = exports.room(bytes.length) >>> 0; // before the buffer is taken: it may grow
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  const length = exports.answer() >>> 0;
  return new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.place() >>> 0, length));
}

async function server(question) {
  const response = await fetch(address + "ask", { method: "POST", body: question });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response.text();
}

/** Lines by their unit; of recordings every fifth. */
function cases(folder, step) {
  const all = new Map();
  for (const file of readdirSync(join(recordings, folder)).filter(name => name.endsWith(".csv")).sort()) {
    const lines = readFileSync(join(recordings, folder, file), "utf8").split("\n").filter(line => line && !line.startsWith("#") && !line.startsWith("arch,"));
    for (let at = 0; at < lines.length; at += step) {
      const [architecture, instruction, a, b, c, scale_a, scale_b, d] = lines[at].split(",");
      if (architecture === "cpu") continue;
      const unit = `${architecture} ${instruction}`;
      if (!all.has(unit)) all.set(unit, []);
      all.get(unit).push({ question: { a, b, c, scale_a, scale_b }, d });
    }
  }
  return all;
}

/** Whether a code of a format is NaN, asked of the function. */
const isNan = (format, code) => JSON.parse(module(JSON.stringify({ ask: "code", format, code: "0x" + code }))).ok.text.startsWith("0x");

let [mismatches, explained] = [0, 0];
for (const [folder, step, least, exactly] of [["vectors", 1, 20592, true], ["hardware", 5, 10000, false]]) {
  let count = 0;
  for (const [unit, all] of cases(folder, step)) {
    const question = JSON.stringify({ ask: "dot", unit: { unit }, cases: all.map(one => one.question) });
    const answer = module(question);
    if (answer !== await server(question)) throw new Error(`${unit}: the module and the server answer differently`);
    const { ok, error } = JSON.parse(answer);
    if (error) throw new Error(`${unit}: ${error}`);
    all.forEach(({ question, d }, place) => {
      count += 1;
      const any = ok.nan.includes(place) && (d === "nan" || (!ok.has_nan_code && isNan(ok.format, d)));
      if (ok.d[place] === d || any) return;
      mismatches += 1;
      console.error(`${unit} ${JSON.stringify(question)}: ${ok.d[place]} instead of ${d}`);
    });
    // every step of the first, too
    const typed = text => text.split(" ").filter(Boolean).map(code => "0x" + code).join(" ");
    const { a, b, c, scale_a, scale_b } = all[0].question;
    const steps = JSON.stringify({ ask: "explain", units: [{ unit }], input: { a: typed(a), b: typed(b), c: typed(c), scale_a: typed(scale_a), scale_b: typed(scale_b) } });
    if (module(steps) !== await server(steps)) throw new Error(`${unit}: the steps differ`);
    explained += 1;
  }
  if (exactly ? count !== least : count < least) throw new Error(`${folder}: ${count} dot products; ${least} were expected`);
  console.log(`${folder}: ${count} dot products replayed in the module, and by the server with the same JSON`);
}
for (const question of [
  { ask: "start" }, { ask: "format", format: "e4m3" }, { ask: "image", units: [{ unit: "h100 wgmma e4m3 f32" }, { unit: "b200 nvfp4" }] },
  { ask: "diff", units: [{ unit: "h100 wgmma f16 f32" }, { unit: "a100 mma m16n8k16 f16 f32" }] },
  ...["normal", "uniform", "outliers", "softmax"].map(distribution => ({
    ask: "curve", distribution, k: 2048, seed: 3, promote: 256, split: 2, scaling: "tensor",
    units: ["h100 wgmma e4m3 f32", "h100 wgmma f16 f32", "mi300x v_mfma_f32_16x16x16_f16", "b200 nvfp4"].map(unit => ({ unit })),
  })),
]) {
  const text = JSON.stringify(question);
  if (module(text) !== await server(text)) throw new Error(`the module and the server answer ${text} differently`);
}
const start = performance.now();
module(JSON.stringify({ ask: "curve", distribution: "normal", k: 16384, units: ["h100 wgmma e4m3 f32", "h100 wgmma f16 f32", "mi300x v_mfma_f32_16x16x16_f16", "b200 nvfp4"].map(unit => ({ unit })) }));
console.log(`${explained} explanations are the same; a curve of four units to K = 16384 took ${Math.round(performance.now() - start)} ms in the module`);
console.log(`${mismatches} mismatches`);
process.exitCode = mismatches ? 1 : 0;
