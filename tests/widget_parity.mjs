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
  acceptance_for: theory.acceptanceFor,
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
  placed(setting, points) {
    const { E, r, S, top, cheaper, better, best, near } = specmini.placed(setting, points);
    return [[E, r, S, top, cheaper, better], best, near.map((point) => point.name)];
  },
  placed_words(setting, points) {
    return Object.values(specmini.placedWords(setting, specmini.placed(setting, points)));
  },
  iso_speedup: specmini.isoSpeedup,
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
  marking: (contents, cases) => cases.map(([id, marks]) => {
    const grade = specmini.graded(contents[id], marks);
    return { ...grade, words: specmini.gradeWords(grade), hints: [1, 2, 3].map((step) => specmini.hintWords(contents[id], marks, step)) };
  }),
  toggling(content, positions) {
    let marks = [];
    return positions.map((position) => (marks = specmini.toggled(content, marks, position)));
  },
  advice: (basis, settings) => settings.map((now) => {
    const { wrong, cost, gains, moves, setting, ...told } = specmini.adviseOn(basis, now);
    if (wrong) return { wrong };
    return { ...told, gains, moves, cost, words: specmini.commandWords(basis, now), spilled: setting.spilled };
  }),
  // check, drafting, seconds, sequences without and with the drafter, E and r, at each concurrency
  rounds: (basis, asked) => asked.map(([now, concurrencies]) => {
    const { setting, wrong } = specmini.adviceSetting(basis, now);
    if (wrong) return null;
    return concurrencies.map((one) => {
      const cost = specmini.costOf(basis, setting, one), { check, drafting, seconds, plainRunning, running } = cost;
      return [check, drafting, seconds, plainRunning, running, specmini.expectedTokens(basis, setting), specmini.plainSteps(basis, setting, cost)];
    });
  }),
  asked_concurrencies: specmini.askedConcurrencies,
  wrong_text: (basis, name, text) => specmini.wrongText[name](basis)(text),
  refusal: (name, value) => specmini.refusal(DATA.ranges[name], name, value),
  parsed(text, tight) {
    try {
      const node = specmini.formula.parse(text, tight);
      return [node, specmini.formula.write(node), specmini.formula.free(node).map((name) => name.text)];
    } catch (error) {
      if (error.column === undefined) throw error;
      return [error.message, error.column];
    }
  },
  evaluated: (text, point) => specmini.grader.evaluate(specmini.formula.parse(text), point),
  graded: specmini.grader.grade,
  answered: specmini.grader.score,
  reading: specmini.grader.reading,
  picked: specmini.grader.picked,
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

// What a page finds as localStorage: a store that may refuse everything, or to keep more.
function storage(how, content) {
  if (how === "none") return undefined;
  const kept = new Map(content === null ? [] : [["specmini:progress", content]]);
  const refuse = () => { throw new Error("refused"); };
  return {
    getItem: (key) => (how === "refused" ? refuse() : kept.has(key) ? kept.get(key) : null),
    setItem: (key, text) => (how === "works" ? kept.set(key, text) : refuse()),
    removeItem: (key) => kept.delete(key),
  };
}
// Calls of the progress functions on a page of their own, each with what came back or was thrown.
functions.progress = (how, content, calls) => {
  Object.defineProperty(globalThis, "localStorage", { value: storage(how, content), configurable: true, writable: true });
  const fresh = new Function(`${script}\nreturn specmini;`)();
  return calls.map(([name, ...given]) => {
    try {
      const answer = fresh[name](...given);
      return answer === undefined ? null : answer;
    } catch (error) {
      return { error: error.message };
    }
  });
};

const answers = {};
for (const [name, argumentLists] of Object.entries(JSON.parse(calls))) {
  answers[name] = argumentLists.map((list) => functions[name](...list));
}
process.stdout.write(JSON.stringify(answers, (_, value) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value));
