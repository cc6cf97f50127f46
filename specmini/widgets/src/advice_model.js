/* Should speculation be on? A setting of the calculator in, the advice of specmini/advisor/advice.py out.
 * A test holds the two against each other on thousands of random settings. */

const OWN_TOKENS = "tokens per round";
const numbersIn = (text) => (text.trim() === "" ? [] : text.split(",").map((part) => Number(part)));

/* Plain times as they are typed, "1:28, 64:41", in order of concurrency. */
const plainTimesIn = (text) => (text.trim() === "" ? [] : text.split(","))
  .map((pair) => pair.split(":").map(Number))
  .map(([concurrency, milliseconds]) => ({ concurrency, seconds: milliseconds / 1000 }))
  .sort((one, other) => one.concurrency - other.concurrency);

const metricKind = (b, name) => (name === OWN_TOKENS ? "tokens" : b.metrics.find(([tool, metric]) => `${tool}: ${metric}` === name)[2]);

/* Billions of parameters that a token meets; 0 stands for all. */
const activeOf = (now) => now.active_billions || now.billions;

/* The class of the kernels; the first that applies. */
function kernelsOf(engine, platform, bits, sparse) {
  if (sparse) return "experts";
  if (engine === "server" && !(bits < 8 && platform === "card")) return "server";
  return platform === "data center" ? "card" : platform;
}

/* A configuration, or why there is none: { setting } or { wrong }. */
function adviceSetting(b, now) {
  const { engine, drafter, draft_length: length } = now;
  const target = adviceShapes.model(b, now.model, now.billions, activeOf(now));
  if (now.model === "own" && activeOf(now) > now.billions) return { wrong: `active_billions must be at most billions = ${plain(now.billions)}, got ${plain(now.active_billions)}` };
  const own = b.own_machines[now.machine], bits = b.weights[now.weights];
  const device = own ? { name: own[0], peak_flops: now.peak * 1e12, bandwidth: now.bandwidth * 1e12, memory: now.memory * 1e9, interconnect: null } : DATA.machines[now.machine];
  const [platform, held] = own ? [own[2], true] : b.platforms[now.machine];
  const wrongDevices = devicesRefusal(now, device);
  if (wrongDevices) return { wrong: wrongDevices };
  const local = engine === "local", machine = { ...device, memory: device.memory * (local ? now.devices : 1) };
  const spilled = local && held && (target.size * bits) / 8 > machine.memory;
  const numbers = numbersIn(now.acceptance), kind = metricKind(b, now.acceptance_is);
  const printed = numbers.length ? tokensFromPrinted(kind, numbers, length) : { tokens: null };
  if (printed.wrong) return printed;
  const setting = {
    engine, machine, target, bits, drafter, length, context: now.context, concurrency: now.concurrency,
    kernels: kernelsOf(engine, spilled ? "cpu" : platform, bits, target.experts > 0),
    draft: drafter === "draft model" ? adviceShapes.model(b, now.draft, now.draft_billions) : null,
    devices: local ? 1 : now.devices, tokens: printed.tokens, plainTimes: plainTimesIn(now.plain_times),
    costRatio: now.cost_ratio.trim() === "" ? null : Number(now.cost_ratio), curve: null,
    spilled: spilled ? `the rest of the weights in CPU memory (${fixed(machine.memory / 1e9, 0)} GB do not hold them)` : "",
  };
  if (setting.plainTimes.length > 1) {
    setting.curve = settingCurve(b, setting);
    if (!setting.curve) return { wrong: "plain_times must rise with concurrency" };
  }
  return { setting };
}

function devicesRefusal({ machine, engine, devices }, { name, interconnect }) {
  if (devices === 1 || (engine === "local" && DATA.machines[machine])) return null;
  return interconnect === null ? `devices must be 1 on ${name}, whose interconnect is not ${DATA.machines[machine] ? "documented" : "told"}, got ${devices}` : null;
}

const draftingShare = (b, { drafter }) => (drafter === "lookup" ? b.lookup_share : 1);

/* E: the measured one, or that of the drafter's usual acceptance, which may be told as `rate`. */
const expectedTokens = (b, setting, rate = b.acceptance[setting.drafter]) =>
  setting.tokens === null ? 1 + theory.acceptedDrafts(rate, setting.length) * draftingShare(b, setting) : setting.tokens;

const costOf = (b, setting, asked) => (setting.plainTimes.length ? calibratedCost(b, setting, asked) : sheetCost(b, setting, asked));
const plainSteps = (b, setting, cost, kappa = b.marginal[setting.kernels]) => totalCost(b, cost, setting.curve ? 0 : kappa, setting);

/* One alpha for all lengths: from the measured E, or the drafter's usual one. */
function usualRate(b, setting) {
  if (setting.tokens === null) return b.acceptance[setting.drafter];
  const length = Math.max(setting.length, Math.ceil(setting.tokens - 1));
  const drafted = Math.min((setting.tokens - 1) / draftingShare(b, setting), length);
  return drafted >= length ? 1 : theory.acceptanceFor(drafted, length);
}

/* Expected speedup for every K from 0, plain decoding, on. */
function speedupByLength(b, setting) {
  const rate = usualRate(b, setting);
  return Array.from({ length: b.longest + 1 }, (_, length) => {
    if (length === 0) return 1;
    const chain = length === setting.length ? setting : { ...setting, length, tokens: null };
    return expectedTokens(b, chain, rate) / plainSteps(b, chain, costOf(b, chain));
  });
}

/* Concurrencies at which a break-even is looked for, evenly in their logarithm. */
function askedConcurrencies(b, count = 200) {
  const found = Array.from({ length: count }, (_, index) => rint(b.most_requests ** (index / (count - 1))));
  return found.filter((value, index) => value !== found[index - 1]);
}

/* First concurrency from which on it loses at all that are tried, throughput counted; or null. */
function breakEvenConcurrency(b, setting) {
  const gained = expectedTokens(b, setting), asked = askedConcurrencies(b);
  const losing = asked.map((concurrency) => {
    const cost = costOf(b, setting, concurrency);
    return ((gained / plainSteps(b, setting, cost)) * cost.running) / cost.plainRunning < 1;
  });
  return losing.at(-1) ? asked[losing.lastIndexOf(false) + 1] : null;
}

/* Change of log speedup for a likely error of each input. */
function sensitivities(b, setting, speedup) {
  const moved = (other, kappa) => Math.abs(Math.log(expectedTokens(b, other) / plainSteps(b, other, costOf(b, other), kappa) / speedup));
  const rate = usualRate(b, setting), forgotten = { ...setting, tokens: null };
  const worse = Math.max(rate - (setting.tokens === null ? 0.08 : 0.02), 0);
  const cost = costOf(b, setting), total = plainSteps(b, setting, cost), kappa = b.marginal[setting.kernels];
  return {
    acceptance: Math.abs(Math.log(expectedTokens(b, forgotten, worse) / expectedTokens(b, forgotten, rate))),
    "cost of drafting": Math.log(1 + ((setting.costRatio === null ? 0.3 : 0.1) * cost.drafting) / total),
    "cost of checking": setting.curve ? Math.log(1 + (0.05 * cost.check) / total) : moved(setting, Math.min(1.3 * kappa + 0.02, 0.95)),
    "requests in flight": moved({ ...setting, concurrency: 2 * setting.concurrency }),
  };
}

function boundBy(b, { kernels, curve }, cost) {
  const local = kernels !== "server" && kernels !== "experts";
  return local && !curve && b.marginal[kernels] > 0.1 ? "kernels that take longer for each further token" : cost.largest;
}

/* Whether next to no report tells how forecasts do: a load that nobody timed without drafts. */
const untested = (b, { kernels, concurrency, curve }) => !curve && concurrency > (kernels === "experts" ? 1 : b.few_requests);

/* Half of the 80 % interval of log speedup. */
function halfWidth(b, setting, cost) {
  const known = setting.tokens !== null;
  if (setting.curve && known) return b.curve_widths[cost.running < 0.95 * cost.plainRunning ? "waiting" : "running"];
  if (untested(b, setting)) return b.half_widths.untested;
  const supported = (setting.kernels === "server" || setting.kernels === "card") && !splitDraft(setting);
  return b.half_widths[(supported ? "supported" : "other") + (known ? ", known" : "")];
}

function verdictOf(low, high, throughput) {
  if (low > 1) return throughput >= 1 ? "win" : "faster tokens, less output";
  return high < 1 ? "lose" : "too close to call";
}

/* Everything the calculator says, as specmini.advisor.Advice has it; { wrong } where it cannot be. */
function adviseOn(b, now) {
  const { setting, wrong } = adviceSetting(b, now);
  if (wrong) return { wrong };
  const cost = costOf(b, setting), tokens = expectedTokens(b, setting), total = plainSteps(b, setting, cost);
  const speedup = tokens / total, width = halfWidth(b, setting, cost);
  const low = speedup * Math.exp(-width), high = speedup * Math.exp(width);
  const throughput = (speedup * cost.running) / cost.plainRunning, gains = speedupByLength(b, setting);
  const best = theory.best(gains), moves = sensitivities(b, setting, speedup), names = Object.keys(moves);
  return {
    setting, cost, tokens, total, speedup, low, high, throughput, gains, best, moves,
    verdict: verdictOf(low, high, throughput),
    breakEven: theory.breakEvenAcceptance(0, setting.length, Math.max(total, 1e-9)),
    breakEvenLoad: breakEvenConcurrency(b, setting),
    bound: boundBy(b, setting, cost),
    mattersMost: names[theory.best(names.map((name) => moves[name]))],
    seconds: setting.engine === "server" || setting.plainTimes.length ? cost.seconds : null,
    warnings: adviceWarnings(b, setting, cost, speedup, throughput),
  };
}
