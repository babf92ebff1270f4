/** @typedef {{unit: string, edit: Record<string, string>}} UnitState */
/** @typedef {{distribution: string, scale: number, seed: number, k: number, promote: number, split: number, scaling: string, block: number, values: string}} CurveState */
/** @typedef {{view: string, units: UnitState[], a: string, b: string, c: string, scale_a: string, scale_b: string, step: number,
 *   curve: CurveState, format: string, negative: boolean, pictures: UnitState[], picture: string, image: number}} State */
/** @typedef {{negative: boolean, high: number, digits: string, inexact: boolean}} Digits */
/** @typedef {{name: string, element: number | null, value: string, exponent: number | null, bits: Digits, last: number | null, kept: string,
 *   moved: Digits | null, lost: string}} Row */
/** @typedef {{value: string, code: string, format: string}} Coded */
/** @typedef {{title: string, cut: number | null, rows: Row[], zeros: string, sum: Row | null, result: Coded | null}} Stage */
/** @typedef {{name: string, instruction: [number, number] | null, elements: number[], accumulator: Coded | null, stages: Stage[], special: string | null, idle: boolean}} Part */
/** @typedef {{symbol: string, meaning: string, value: string, choices: string[], range: [number, number] | null}} Parameter */
/** @typedef {{name: string, architecture: string, chip: string, instruction: string, precision: string, family: string, step: number, a: string, b: string,
 *   c: string, d: string, scale: [string, number] | null, parameters: Parameter[], lowering: string[], edits: [string, string, string][],
 *   remarks: string[], toml: string | null}} About */
/** @typedef {{sign: string, exponent: string, fraction: string, padding: string}} Fields */
/** @typedef {{value: string, code: string, bits: Fields}} Operand */
/** @typedef {{unit: About, k: number, notes: string[], operands: {a: Operand[], b: Operand[], c: Operand, scale_a: Operand[], scale_b: Operand[]},
 *   parts: Part[], d: {value: string, code: string, format: string, bits: [string, string][]}, rounded: number, exact: string | null, error: string | null,
 *   ulps: number | null, group: number, why: string, copies: {command: string, python: string}}} Answered */
/** @typedef {{error: string, unit: About | null}} Failed */
/** @typedef {{units: (Answered | Failed)[], agree: boolean}} Explained */
/** @typedef {{name: string, title: string, lesson: string, units: [string, [string, string][]][], a: string, b: string, c: string, scale_a: string,
 *   scale_b: string}} Preset */
/** @typedef {{name: string, error: string | null, total: (number | null)[], quantization: (number | null)[], accumulation: (number | null)[],
 *   scaling: string}} Curve */
/** @typedef {{tag: string, attributes: Record<string, any>, children: (Sketch | string)[]}} Sketch */
