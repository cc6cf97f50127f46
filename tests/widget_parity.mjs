// Evaluates calls into the assembled widget script and writes what came back.
//   node widget_parity.mjs SCRIPT CALLS
// CALLS is JSON: {"name": [[argument, ...], ...]}; the answer, on standard output, is
// {"name": [value, ...]}. NaN and the infinities, which JSON lacks, travel as strings.
import { readFileSync } from "node:fs";

const [script, calls] = process.argv.slice(2).map((path) => readFileSync(path, "utf8"));
const specmini = new Function(`${script}\nreturn specmini;`)();
const { DATA, theory, roofline } = specmini;
const pass = (machine, model, ...load) => roofline.passTime(DATA.machines[machine], DATA.models[model], ...load);

const functions = {
  tokens_per_round: theory.tokensPerRound,
  accepted_drafts: theory.acceptedDrafts,
  round_cost: theory.roundCost,
  speedup: theory.speedup,
  break_even_acceptance: theory.breakEvenAcceptance,
  best_draft_length(a, c, v, longest) {
    const lengths = Array.from({ length: longest + 1 }, (_, K) => K);
    return theory.best(lengths.map((K) => theory.speedup(a, c, K, K === 0 ? 1 : v)));
  },
  pass_time(...load) {
    const { time, computing, weights, cache, fits } = pass(...load);
    return [time, Number(computing), weights + cache, Number(fits)];
  },
  verify_cost: (machine, model, batch, K, context) =>
    roofline.verifyCost(DATA.machines[machine], DATA.models[model], batch, K, context),
  explorer(setting) {
    const { E, v, r, S, best } = specmini.evaluate(setting);
    return [E, v, r, S, best];
  },
  overlap(context, setting) {
    const { rows, rates, distance } = specmini.compared(context, setting);
    const columns = ["p", "q", "drafted", "accepted", "rejected", "recovered"];
    return [Object.values(rates), distance, columns.map((name) => rows.map((row) => row[name]))];
  },
  overlap_words(context, setting) {
    const seen = specmini.compared(context, setting);
    return [...specmini.overlapWords(setting.rule, seen), specmini.largest(seen), specmini.recoveredWords(setting.rule, seen)];
  },
  simulate(alpha, K, seed, rounds) {
    const next = specmini.simulation(DATA.passage, alpha, K, seed), count = specmini.tally();
    for (let n = 0; n < rounds; n += 1) count.add(next());
    return [count.rounds, count.words, count.means.length];
  },
  first_rounds(alpha, K, seed, rounds) {
    const next = specmini.simulation(DATA.passage, alpha, K, seed);
    return Array.from({ length: rounds }, next);
  },
  playback(rounds) {
    const next = specmini.recording(rounds), seen = [];
    for (let round = next(); round; round = next()) seen.push(specmini.told(round));
    return seen;
  },
  cut: specmini.cut,
  tape(text) {
    const { tokens, times, end, plainEnd, slower, plainly } = specmini.tape(text);
    return { tokens, times, end, plainEnd, slower, plainly: [0, ...times].map(plainly) };
  },
  refusal: (name, value) => specmini.refusal(DATA.ranges[name], name, value),
  page_model(steps) {
    const model = specmini.pageModel({ alpha: 0.8, words: ["a"] }), heard = [];
    const react = () => heard.push(model.get("alpha"));
    for (const [step, value] of steps) {
      if (step === "on") model.on("change:alpha", react);
      else if (step === "off") model.off("change:alpha", react);
      else model.set("alpha", value);
    }
    model.save_changes();
    return heard;
  },
};

const answers = {};
for (const [name, argumentLists] of Object.entries(JSON.parse(calls))) {
  answers[name] = argumentLists.map((list) => functions[name](...list));
}
process.stdout.write(JSON.stringify(answers, (_, value) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value));
