/* What a round costs on data sheets, as specmini/cost/round_cost.py counts it: shapes that the catalog
 * does not have, the target and the drafter where they run, and a round in plain steps. `b` is the
 * basis that comes with the calculator's page. A test compares the two sides. */

/* To the nearest whole number, halves to the even one, as NumPy and Python round. */
function rint(number) {
  const up = Math.round(number);
  return up - number === 0.5 && up % 2 ? up - 1 : up;
}

const adviceShapes = {
  /* The model of the catalog, or the nearest one with more or fewer layers. */
  model(b, key, billions, active = billions) {
    if (key !== "own") return { ...DATA.models[key], size: DATA.models[key].parameters, base: key };
    const size = billions * 1e9, sparse = active * 1e9 < 0.7 * size;
    const far = (one) => Math.abs(Math.log(DATA.models[one].parameters / size));
    const alike = Object.keys(DATA.models).filter((one) => DATA.models[one].experts > 0 === sparse && !b.shapes[one].lone);
    const base = alike.reduce((best, one) => (far(one) < far(best) ? one : best));
    const shape = DATA.models[base], more = b.shapes[base];
    const layers = Math.max(rint((shape.layers * size) / shape.parameters), 1);
    const windowed = Math.min(more.windowed_layers, layers), grown = layers - shape.layers;
    const scaled = (name) => shape[name] + grown * more[name];
    return {
      ...shape, base, size, layers, name: `${plain(billions, 6)}B like ${shape.name}`,
      parameters: scaled("parameters"), matmul_parameters: scaled("matmul_parameters"),
      replicated_parameters: scaled("replicated_parameters"),
      expert_layers: shape.experts ? shape.expert_layers + grown : 0,
      attention_layers: [[layers - windowed, null], [windowed, more.window]].filter(([number]) => number > 0),
    };
  },
  /* One layer of the target over its states, with an output head of `vocabulary` rows. */
  head(b, target, vocabulary) {
    const more = b.shapes[target.base], table = vocabulary * target.hidden;
    return {
      ...target, layers: 1, parameters: more.head_parameters + table, matmul_parameters: more.head_active + table,
      replicated_parameters: more.head_replicated, expert_layers: target.experts ? 1 : 0, attention_layers: [[1, null]],
    };
  },
};

/* A model where it runs, with what the engine adds to a pass. */
function deployed(b, { machine, devices, engine }, model, bits) {
  while (model.heads % devices) devices -= 1;
  const device = { ...machine, bandwidth: b.bandwidth_share * machine.bandwidth, peak_flops: machine.peak_flops === null ? b.undocumented_peak : machine.peak_flops };
  return { machine: device, model, bits, devices, overhead: engine === "server" ? b.overhead : {} };
}

/* The target, the drafter (null if it runs no model), and the drafter's own parameters. */
function deployments(b, setting) {
  const target = deployed(b, setting, setting.target, setting.bits);
  if (setting.drafter === "lookup") return { target, draft: null, own: 0 };
  if (setting.draft) return { target, draft: deployed(b, setting, setting.draft, setting.bits), own: setting.draft.parameters };
  const narrow = setting.drafter === "eagle-3", vocabulary = narrow ? b.head_vocabulary : b.shapes[setting.target.base].vocabulary;
  const model = adviceShapes.head(b, setting.target, vocabulary);
  const shared = narrow ? 0 : vocabulary * model.hidden;
  return { target, draft: { ...target, model }, own: model.parameters - shared };
}

/* Time of a pass with the bend between reading and arithmetic. */
function bentSeconds(b, run, batch, newTokens, context) {
  const pass = roofline.passTime(run, rint(batch), newTokens, context);
  const reading = pass.weightBytes / run.machine.bandwidth, multiplying = pass.linearFlops / run.machine.peak_flops;
  return (reading ** b.bend + multiplying ** b.bend) ** (1 / b.bend) + pass.time - pass.times.weights;
}

/* Sequences that decode at once, without and with the drafter, as memory allows. */
function sequencesRunning(b, setting, asked) {
  if (setting.engine !== "server") return [asked, asked];
  const { target, draft, own } = deployments(b, setting);
  const positions = Math.max(setting.context, 1);
  const needed = (run, batch) => {
    const { weights, cache } = roofline.passTime(run, batch, 1, positions - 1);
    return weights + cache;
  };
  const cacheOf = (run) => needed(run, 2) - needed(run, 1);
  const one = cacheOf(target);
  const left = b.memory_share * target.machine.memory - ((target.model.parameters / target.devices) * target.bits) / 8;
  if (left < one) return [asked, asked];
  const shared = draft ? draft.model.parameters - own : 0;
  const more = draft ? needed(draft, 1) - (shared * (draft.bits / 8)) / draft.devices : 0;
  const cache = draft ? cacheOf(draft) : 0;
  return [left / one, (left - more + cache) / (one + cache)].map((room) => Math.max(Math.min(asked, Math.floor(room)), 1));
}

const splitDraft = ({ draft, devices }) => Boolean(draft) && devices > 1;
const draftingSteps = ({ drafter, length }) => ({ block: 1, lookup: 0 })[drafter] ?? length;

/* What takes most of a pass, in words. */
function largestPart(b, pass) {
  const { weights, attention, communication, overhead } = pass.times;
  const parts = [pass.computing ? 0 : weights, pass.computing ? weights : 0, pass.attending ? 0 : attention, pass.attending ? attention : 0, communication, overhead];
  return b.parts[theory.best(parts)][1];
}

/* A round by the data sheet: check and drafting in plain steps, and what runs at once. */
function sheetCost(b, setting, asked = setting.concurrency) {
  const { target, draft } = deployments(b, setting);
  const [plainRunning, running] = sequencesRunning(b, setting, asked);
  const { context } = setting, tokens = setting.length + 1;
  const step = bentSeconds(b, target, plainRunning, 1, context);
  let check = bentSeconds(b, target, running, tokens, context) / step;
  let drafting = draft ? ((splitDraft(setting) ? b.split_draft : 1) * draftingSteps(setting) * bentSeconds(b, draft, running, 1, context)) / step : 0;
  if (setting.drafter === "lookup") check = 1 + b.lookup_share * (check - 1);
  if (setting.costRatio !== null) drafting = draftingSteps(setting) * setting.costRatio;
  const largest = largestPart(b, roofline.passTime(target, rint(running), tokens, context));
  return { check, drafting, seconds: step, plainRunning, running, largest };
}

/* r, plain steps a round takes with the measured term of the class. */
function totalCost(b, cost, kappa, { kernels, length, bits }) {
  if (kernels === "server" || kernels === "experts") return cost.check + cost.drafting + kappa * length;
  const odds = (kappa / Math.max(1 - kappa, 1e-9)) * Math.min(b.local_bits / bits, b.most_smaller);
  return cost.check * ((1 + odds * cost.running * (length + 1)) / (1 + odds * cost.plainRunning)) + cost.drafting;
}
