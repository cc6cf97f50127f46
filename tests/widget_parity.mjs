// Evaluates calls into the assembled widget script and writes what came back.
//   node widget_parity.mjs SCRIPT CALLS
// CALLS is JSON: {"name": [[argument, ...], ...]}; the answer, on standard output, is
// {"name": [value, ...]}. NaN and the infinities, which JSON lacks, travel as strings.
import { readFileSync } from "node:fs";

const [script, calls] = process.argv.slice(2).map((path) => readFileSync(path, "utf8"));
const specmini = new Function(`${script}\nreturn specmini;`)();
const { DATA, theory, roofline } = specmini;
// A machine or a model is a key of the catalog, or an entry of its own.
const run = (machine, model, how) => ({
  machine: DATA.machines[machine] || machine,
  model: DATA.models[model] || model,
  ...how,
});

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
  pass_time(machine, model, how, ...load) {
    const pass = roofline.passTime(run(machine, model, how), ...load);
    const { weights, attention, communication, overhead } = pass.times;
    return [
      ...[pass.time, weights, attention, communication, overhead, pass.weightBytes, pass.cache],
      ...[pass.linearFlops, pass.attentionFlops, pass.touched, pass.weights + pass.cache],
      ...[Number(pass.computing), Number(pass.attending), Number(pass.fits)],
    ];
  },
  verify_cost: (machine, model, how, ...load) => roofline.verifyCost(run(machine, model, how), ...load),
  ridge_tokens: (machine, model, how) => roofline.ridgeTokens(run(machine, model, how)),
  roof(setting) {
    const { step, check, v, ridge, largest } = specmini.passes(setting);
    return [step.time, check.time, v, ridge, largest, Number(check.fits)];
  },
  impossible: specmini.impossible,
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
  review: (memory, grade, today) => specmini.schedule.review(memory, grade, today),
  queue(entries, ids, today, newPerDay) {
    const { due, fresh, drill } = specmini.schedule.queue(specmini.schedule.from(entries), ids, today, newPerDay);
    return [...due, ...fresh, ...drill];
  },
  exported: (entries) => specmini.schedule.dumps(specmini.schedule.from(entries)),
  imported(text) {
    try {
      return specmini.schedule.loads(text).size;
    } catch (error) {
      return error.message;
    }
  },
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
