/* What the calculator says in words: warnings as specmini/advisor/reasons.py has them, each number with its
 * meaning, and the command that gives the same answer. */

function adviceWarnings(b, setting, cost, speedup, throughput) {
  const { target, draft, bits, machine, devices, kernels, curve } = setting, found = [];
  if (throughput < (1 - b.disagree) * speedup) {
    found.push(`time per token and throughput disagree: a token comes ${fixed(speedup)} times as fast, but the server puts out ${fixed(throughput)} times as much, because the drafter's weights and cache leave room for ${fixed(cost.running, 0)} requests at once instead of ${fixed(cost.plainRunning, 0)}`);
  }
  const weights = ((target.parameters + (draft ? draft.parameters : 0)) * bits) / 8, room = machine.memory * devices;
  if (weights > room && kernels !== "cpu") {
    found.push(`the weights take ${fixed(weights / 1e9, 0)} GB of ${fixed(room / 1e9, 0)} GB: what spills into the CPU's memory makes every number here wrong`);
  }
  if (untested(b, setting)) {
    found.push("hardly any public report tests a forecast at this load, so the interval is wide: time plain decoding at two loads, count the tokens a round, and ask again");
  }
  const reports = b.reports[kernels] || 0;
  if (!curve && kernels !== "server") {
    found.push(`no data sheet tells what checking costs on ${b.kernels[kernels]}; the term used is the middle of ${plural(reports, "public report")}`);
  }
  if (splitDraft(setting) && setting.costRatio === null) {
    found.push("a draft model on several devices waits for them in every layer: two reports found 2.2 and 6 times the time of the data sheet, and 3.6 is used; run it on one device");
  }
  return found;
}

/* The words after "specmini", for a setting that is possible. */
function commandWords(b, now) {
  const own = b.own_machines[now.machine], many = now.devices > 1 ? `${now.devices}x ` : "";
  const sized = (key, billions) => (key === "own" ? `${plain(billions, 14)}B` : key);
  const sparse = now.model === "own" && activeOf(now) < 0.7 * now.billions;
  const words = ["advise", "--target", sparse ? `${plain(now.billions, 14)}B-A${plain(now.active_billions, 14)}B` : sized(now.model, now.billions)];
  words.push("--machine", many + (own ? `${own[1]} ${now.memory}GB` : now.machine));
  if (own) words.push("--bandwidth", plain(now.bandwidth, 14), "--peak", plain(now.peak, 14));
  words.push("--engine", b.engines[now.engine], "--weights", now.weights);
  words.push("--drafter", b.drafters[now.drafter] + (now.drafter === "draft model" ? ` ${sized(now.draft, now.draft_billions)}` : ""));
  words.push("--draft-length", String(now.draft_length), "--concurrency", String(now.concurrency), "--context", String(now.context));
  const bare = (text) => text.replace(/\s/g, "");
  if (bare(now.acceptance)) words.push("--acceptance", bare(now.acceptance));
  if (bare(now.acceptance) && now.acceptance_is !== OWN_TOKENS) words.push("--acceptance-is", now.acceptance_is);
  if (bare(now.cost_ratio)) words.push("--cost-ratio", bare(now.cost_ratio));
  for (const pair of bare(now.plain_times).split(",").filter(Boolean)) words.push("--plain", pair);
  return words;
}

/* The same as one line for a shell. */
const commandLine = (words) => ["specmini", ...words].map((word) => (/^[\w.:,/+-]+$/.test(word) ? word : `"${word}"`)).join(" ");

const movedBy = (move) => `${fixed(100 * Math.expm1(move), 0)}\u00a0%`;

const MATTERS = {
  acceptance: (share) => `acceptance: its likely error moves the speedup by ${share}`,
  "cost of drafting": (share) => `the cost of drafting: its likely error moves the speedup by ${share}`,
  "cost of checking": (share) => `the cost of checking: its likely error moves the speedup by ${share}`,
  "requests in flight": (share) => `requests in flight: twice as many move the speedup by ${share}`,
};

/* What to do next about the input that matters most. */
const NEXT = {
  acceptance: "Count it on your own text.",
  "cost of drafting": "Time a drafting step.",
  "cost of checking": "Time plain decoding at two loads.",
  "requests in flight": "Watch the load.",
};

/* Label, and words for an advice, line by line. */
const ADVICE_LINES = [
  ["Output of the server", ({ throughput }) => `${fixed(throughput)} times as much`],
  ["Tokens a round", ({ tokens, total, setting }) => `E = ${fixed(tokens)}${setting.tokens === null ? ", usual for this drafter" : ""}; a round costs ${fixed(total)} plain steps`],
  ["Best K", ({ best, gains }) => (best ? `${best}, ${fixed(gains[best])} times as fast` : "none: plain decoding is the fastest")],
  ["Break-even acceptance", ({ breakEven, setting }) => (Number.isNaN(breakEven) ? `none: at K = ${setting.length} not even 1 pays` : `α = ${fixed(breakEven)}: below it K = ${setting.length} loses`)],
  ["Break-even load", ({ breakEvenLoad }, b) => (breakEvenLoad === null ? `none up to ${b.most_requests.toLocaleString("en-US")} requests` : breakEvenLoad === 1 ? "it loses at every load" : `from ${plural(breakEvenLoad, "request")} in flight on it loses`)],
  ["A check is bound by", ({ bound }) => bound],
  ["Matters most", ({ mattersMost, moves }) => `${MATTERS[mattersMost](movedBy(moves[mattersMost]))}. ${NEXT[mattersMost]}`],
  ["Plain step", ({ seconds, setting }) => (seconds === null ? "not known: data sheets tell only ratios here" : `${fixed(1e3 * seconds, 1)} ms${setting.plainTimes.length ? ", on your scale" : ""}`)],
  ["Rests on", ({ setting }, b) => (setting.plainTimes.length ? `your plain times${setting.curve ? "" : " and data sheets"}` : `data sheets, ${b.kernels[setting.kernels]}`)],
];

const adviceWhy = ({ speedup, low, high }) => `a token comes ${fixed(speedup)} times as fast (80\u00a0% interval ${fixed(low)} to ${fixed(high)})`;
