/* The round player: a junior drafts words, the editor checks them all in one pass, keeps what is
 * right up to the first mistake and writes one word herself. Rounds are simulated, or those of a
 * recording of real models, which runs on its true clock beside plain decoding. */

const SPEEDS = { 900: "slow", 350: "medium", 90: "fast" };
const SHOWN_ROUNDS = 12;
const FRAME = 40; // milliseconds between two looks at the clock
const CALM_FRAME = 1000; // for readers who want no motion

// Who acts, in the words of the story and in those of real models.
const CAST = {
  simulated: { noun: "word", junior: "The junior", she: "she", editors: "the editor’s own" },
  recorded: { noun: "token", junior: "The draft model", she: "the target", editors: "the target’s own" },
};

function player({ model, el }) {
  const texts = model.get("recording"), recorded = texts.length > 0;
  const { noun, junior, she, editors } = CAST[recorded ? "recorded" : "simulated"];
  const panel = recorded ? racePanel() : meanPanel();
  const status = h("p", { class: "sm-status" }), clockWords = h("span", { class: "sm-clock" });
  const text = writer({ spaced: !recorded, most: recorded ? Infinity : SHOWN_ROUNDS });
  const beside = recorded ? plainText() : null, counts = [h("span", { class: "sm-count" }), h("span", { class: "sm-count" })];
  const { node: said, say, stop: hush } = announcer();
  const calm = matchMedia("(prefers-reduced-motion:reduce)");
  let taken, reel, source, count, round, shown, checked, over;
  let timer = 0, clock = 0, steps = 0, lastLook = 0;

  /* The next small thing that happens, in words. */
  function advance() {
    if (!round) {
      round = source();
      if (!round) {
        over = true;
        return `The recording ends here: ${plural(count.words, noun)} in ${milliseconds(reel.end)}, plain decoding takes ${milliseconds(reel.plainEnd)}.`;
      }
      text.open();
      shown = 0;
      checked = !round.drafted.length;
    }
    if (recorded) clock = Math.max(clock, reel.times[steps++]);
    const { drafted, accepted, next } = round;
    if (shown < drafted.length) {
      text.draft(drafted[shown]);
      return `${junior} drafts ${quoted(drafted[shown++])}.`;
    }
    if (!checked) {
      checked = true;
      text.check(accepted);
      const start = `One pass checks ${drafted.length === 1 ? "the guess" : drafted.length + " guesses"}: `;
      if (full(round)) return start + "all accepted.";
      return `${start}${accepted} accepted, ${quoted(drafted[accepted])} struck, ${drafted.length - accepted - 1} discarded.`;
    }
    const kind = !drafted.length ? "" : full(round) ? "bonus" : "corrected";
    text.own(next, kind);
    count.add(round);
    round = null;
    return kind === "bonus" ? `From the same pass ${she} adds a bonus ${noun}: ${quoted(next)}.`
      : kind ? `From the same pass ${she} writes ${recorded ? "its" : "her"} own ${noun}: ${quoted(next)}.` : `No guesses: one pass writes ${quoted(next)}.`;
  }
  function finishRound() {
    let message = advance();
    while (round) message = advance();
    return message;
  }
  /* Plays many rounds at once; only the last of them leave words on the page. */
  function run(many) {
    let message = "";
    for (let left = many; left > 0 && !over; left -= 1) {
      if (left > SHOWN_ROUNDS && !round && !recorded) count.add(source());
      else message = finishRound();
    }
    return message;
  }
  function begin(many) {
    pause();
    source = recorded ? recording(taken.rounds) : simulation(DATA.passage, model.get("alpha"), model.get("K"), model.get("seed"));
    count = tally();
    round = null;
    over = false;
    clock = steps = 0;
    text.clear(recorded ? taken.prompt : "");
    run(many);
  }
  const soFar = () => `${plural(count.rounds, "round")}: ${fixed(count.words / count.rounds)} ${noun}s per round.`;
  const settled = () => over && (!recorded || clock >= reel.last);

  function show(message, aloud = true) {
    status.textContent = message;
    if (recorded) {
      clockWords.textContent = milliseconds(clock);
      [count.words, reel.plainly(clock)].forEach((number, place) => { counts[place].textContent = plural(number, noun); });
      beside.show(taken.prompt, reel, clock);
      panel.draw(count, reel, clock);
    } else panel.draw(count, theory.tokensPerRound(model.get("alpha"), model.get("K")), model.get("K"));
    if (aloud) say(message);
    for (const control of [buttons.step, buttons.finish]) control.disabled = over;
    for (const control of [buttons.play, buttons.run]) control.disabled = settled();
    // Last, because asking for a height makes the browser lay the page out.
    text.node.scrollTop = text.node.scrollHeight;
  }
  function pause() {
    clearInterval(timer);
    timer = 0;
    buttons.play.textContent = "Play";
  }
  function play() {
    clearInterval(timer);
    buttons.play.textContent = "Pause";
    lastLook = performance.now();
    timer = recorded ? setInterval(look, calm.matches ? CALM_FRAME : FRAME) : setInterval(beat, Number(speed.value));
  }
  // A screen reader hears of whole rounds; single words would come faster than speech.
  const sayRound = () => say(`Round ${count.rounds}: ${told(count.history.at(-1))}.`);
  function beat() {
    const message = advance();
    show(message, false);
    if (!round) sayRound();
  }
  /* Catches up with what has happened on the recording's clock since the last look. */
  function look() {
    const now = performance.now(), before = count.rounds, until = clock + (now - lastLook) / Number(speed.value);
    lastLook = now;
    let message = status.textContent;
    while (!over && !(reel.times[steps] > until)) message = advance();
    clock = Math.min(until, reel.last);
    if (settled()) pause();
    show(message, settled());
    if (count.rounds > before && !settled()) sayRound();
  }

  const button = (label, act) => h("button", { type: "button", class: "sm-button", onclick: act }, label);
  const acting = (act) => () => { pause(); show(act()); };
  const buttons = {
    step: button("Step", acting(advance)),
    finish: button("Finish round", acting(finishRound)),
    play: button("Play", () => (timer ? pause() : play())),
    run: button(recorded ? "Run to the end" : "Run 100 rounds", acting(() => {
      const message = run(recorded ? Infinity : 100) || status.textContent;
      if (recorded) clock = reel.last;
      return over ? `${soFar()} ${message}` : soFar();
    })),
    restart: button("Restart", acting(() => { begin(0); return "A blank page. Step, or play."; })),
    luck: recorded ? null : button("New luck", () => change(model, { seed: (model.get("seed") + 1) % (DATA.ranges.seed.high + 1) })),
  };
  buttons.play.classList.add("sm-steady");

  const picker = (label, options, react) => {
    const id = uid("pick");
    const select = h("select", { id, onchange: react }, options.map(([value, words]) => h("option", { value }, words)));
    return { select, node: h("span", { class: "sm-choice" }, h("label", { for: id }, label), select) };
  };
  const { select: speed, node: speedNode } = picker("Speed", recorded
    ? SLOWER.map((factor) => [factor, factor === 1 ? "true speed" : `${factor}× slower`]) : Object.entries(SPEEDS), () => timer && play());
  const kinds = texts.map(({ kind }, index) => [index, kind]);
  const { select: kind, node: kindNode } = picker("Text", kinds, () => {
    take(texts[kind.value]);
    begin(1);
    show(`${taken.kind}: ${soFar()}`);
  });

  const half = (name, place, node) => h("div", {}, h("p", { class: "sm-label" }, name + ": ", counts[place]), node);
  const stage = recorded ? h("div", {}, half("With a draft", 0, text.node), half("Plain decoding", 1, beside.node)) : text.node;
  function take(next) {
    taken = next;
    reel = tape(taken);
    stage.className = `sm-race sm-${taken.kind}`;
    note.textContent = `Recorded: ${taken.about}. Plain decoding is shown with the same tokens, one every ${plain(reel.step, 3)} ms, the measured time of its step.`;
  }

  const fields = recorded ? [] : [
    field(model, DATA.ranges.alpha, { name: "alpha", label: "Acceptance rate α", hint: "chance that one guess is right", step: 0.01, speak: (value) => plain(value) }),
    field(model, DATA.ranges.K, { name: "K", label: "Draft length K", hint: "words guessed each round", step: 1, speak: (value) => plural(value, "word") }),
  ];
  const key = (state, label) => [h("span", { class: "sm-word sm-" + state }, label), " "];
  const title = model.get("title");
  const note = h("p", { class: "sm-note" }, "Each guess is right with probability α, independently of the others; real guesses are not quite that tidy. Moving α or K replays the same luck.");
  el.replaceChildren(h("div", { class: "sm sm-player", role: "group", "aria-label": title || "Round player" },
    title ? h("p", { class: "sm-title" }, title) : null,
    recorded ? h("div", { class: "sm-actions sm-top" }, texts.length > 1 ? kindNode : null, speedNode, h("span", {}, h("strong", {}, "Clock "), clockWords)) : null, stage, status,
    h("p", { class: "sm-key" }, key("draft", "drafted"), key("accepted", "accepted"), key("rejected", "struck"), key("discarded", "discarded"), key("own", editors)),
    h("div", { class: "sm-actions" }, buttons.step, buttons.finish, buttons.play, recorded ? null : speedNode, buttons.run, buttons.restart, buttons.luck),
    fields.length ? h("div", { class: "sm-fields" }, fields.map((one) => one.node)) : null, panel.nodes, note, said));

  if (recorded) take(texts[0]);
  speed.value = recorded ? reel.slower : 350;
  begin(recorded ? 1 : 3);
  show(`${plural(count.rounds, "round")} played so far. Step on, or play.`, false);
  const settings = ["alpha", "K", "seed"];
  const unwatch = watch(model, recorded ? [] : settings, () => {
    if (settings.some((name) => refusal(DATA.ranges[name], name, model.get(name)))) return;
    begin(Math.max(1, count.rounds));
    show(`Replayed ${soFar()}`);
  });
  return () => {
    pause();
    hush();
    unwatch();
    panel.stop();
    fields.forEach((one) => one.stop());
  };
}
