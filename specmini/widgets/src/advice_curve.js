/* The plain curve t(n) = (w^p + (g n)^p)^(1/p) through measured times, as specmini/cost/plain_curve.py
 * fits it, and the cost of a round on its scale, as specmini/cost/calibrated.py has it. */

const curveSeconds = ({ floor, perToken, power }, tokens) => {
  const slope = perToken * tokens, larger = Math.max(floor, slope);
  return larger * ((floor / larger) ** power + (slope / larger) ** power) ** (1 / power);
};

/* Least squares of first * x + second * y = 1 over all rows, by turning the two columns until they
 * are orthogonal; what is below the rounding of the larger one is left out, as NumPy does. */
function twoColumns(first, second) {
  const dot = (left, right) => left.reduce((sum, value, row) => sum + value * right[row], 0);
  let [u, v] = [first, second], turn = [[1, 0], [0, 1]];
  for (let round = 0; round < 6; round += 1) {
    const uu = dot(u, u), vv = dot(v, v), uv = dot(u, v);
    if (Math.abs(uv) <= 1e-16 * Math.sqrt(uu * vv)) break;
    const zeta = (vv - uu) / (2 * uv), tangent = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.hypot(1, zeta));
    const cos = 1 / Math.hypot(1, tangent), sin = cos * tangent;
    const mix = (left, right) => [left.map((value, row) => cos * value - sin * right[row]), right.map((value, row) => sin * left[row] + cos * value)];
    [u, v] = mix(u, v);
    turn = mix(...turn);
  }
  const sizes = [u, v].map((column) => Math.sqrt(dot(column, column)));
  const cutoff = Number.EPSILON * Math.max(first.length, 2) * Math.max(...sizes);
  const ones = first.map(() => 1);
  const along = [u, v].map((column, index) => (sizes[index] > cutoff ? dot(column, ones) / sizes[index] ** 2 : 0));
  return [0, 1].map((index) => turn[0][index] * along[0] + turn[1][index] * along[1]);
}

/* The curve that fits best, or null where times do not rise with tokens. */
function fitCurve(b, tokens, seconds) {
  const scale = Math.max(...seconds), most = Math.max(...tokens), last = b.tried_powers - 1;
  if (Math.min(...seconds) <= 0) return null;
  const powers = tokens.length < b.enough_for_bend ? [b.bend] : Array.from({ length: last + 1 }, (_, index) => b.sharpest ** (index / last));
  let best = null, least = Infinity;
  for (const power of powers) {
    const raised = seconds.map((time) => (time / scale) ** power);
    const [floor, slope] = twoColumns(raised.map((value) => 1 / value), tokens.map((size, row) => (size / most) ** power / raised[row]));
    if (!(floor > 0 && slope > 0)) continue;
    const curve = { floor: scale * floor ** (1 / power), perToken: (scale * slope ** (1 / power)) / most, power };
    const error = seconds.reduce((sum, time, row) => sum + Math.log(curveSeconds(curve, tokens[row]) / time) ** 2, 0);
    if (error < least) [best, least] = [curve, error];
  }
  return best;
}

/* Time to read the cache of one sequence, at the pace at which the weights are read. */
function cacheSeconds({ target, bits, context, plainTimes }) {
  const share = (16 * target.layers * target.kv_values_per_layer * context) / (bits * target.matmul_parameters);
  return share * Math.min(...plainTimes.map(({ seconds }) => seconds));
}

/* The curve of a setting with two or more plain times; it is the same for every K. */
function settingCurve(b, setting) {
  const cached = cacheSeconds(setting), batch = setting.plainTimes.map(({ concurrency }) => concurrency);
  return fitCurve(b, batch, setting.plainTimes.map(({ seconds }, row) => seconds - cached * batch[row]));
}

/* The data sheet's seconds over one measured step; ratios stay where kernels have a term. */
function scaledCost(b, setting, sheet) {
  const [measured] = setting.plainTimes;
  if (setting.engine === "local") return { ...sheet, seconds: measured.seconds };
  const at = sheetCost(b, setting, measured.concurrency);
  const seconds = Math.max(sheet.seconds + measured.seconds - at.seconds, 1e-6), shorter = sheet.seconds / seconds;
  const drafting = setting.costRatio === null ? sheet.drafting * shorter : sheet.drafting;
  return { ...sheet, check: 1 + (sheet.check - 1) * shorter, drafting, seconds };
}

/* A round on the scale of the measured plain step; `setting.curve` is its curve. */
function calibratedCost(b, setting, asked = setting.concurrency) {
  const sheet = sheetCost(b, setting, asked), { curve, plainTimes } = setting;
  if (plainTimes.length === 1) return scaledCost(b, setting, sheet);
  const cached = cacheSeconds(setting), running = Math.min(asked, sheet.running);
  const known = plainTimes.find(({ concurrency }) => concurrency === asked);
  const step = known ? known.seconds : curveSeconds(curve, asked) + cached * asked;
  const own = curveSeconds(curve, running) + cached * running;
  const check = (curveSeconds(curve, running * (setting.length + 1)) + cached * running) / step;
  const scale = setting.engine === "local" ? 1 : sheet.seconds / own;
  const drafting = setting.costRatio === null ? (sheet.drafting * scale * own) / step : (draftingSteps(setting) * setting.costRatio * own) / step;
  return { check, drafting, seconds: step, plainRunning: asked, running, largest: sheet.largest };
}
