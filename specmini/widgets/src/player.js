/* The round player: a junior drafts words, the editor checks them all in one pass, keeps what is
 * right up to the first mistake and writes one word herself. Rounds are simulated, or played back
 * from a recording of real models. */

const SPEEDS = { 900: "slow", 350: "medium", 90: "fast" };
const SHOWN_ROUNDS = 12;

/* The text as it grows: words in their states, old rounds dropped, struck words gone in the end. */
function writer(spaced) {
  const node = h("div", { class: "sm-text", tabindex: "0", role: "group", "aria-label": "Text written so far" });
  let box = null, guesses = [], fallen = [];
  function write(token, kind) {
    const space = token.match(/^\s*/)[0], word = token.slice(space.length);
    const mark = h("span", { class: "sm-word sm-" + kind }, word || quoted(token).slice(1, -1));
    box.append(h("span", {}, space, mark, spaced ? " " : ""));
    return mark;
  }
  return {
    node,
    open() {
      // The next round starts from text that reads as text.
      fallen.forEach((struck) => struck.remove());
      if (box) box.classList.remove("sm-current");
      while (node.childElementCount >= SHOWN_ROUNDS) node.firstElementChild.remove();
      guesses = [];
      fallen = [];
      node.append((box = h("span", { class: "sm-current" })));
    },
    draft: (token) => guesses.push(write(token, "draft")),
    check(accepted) {
      guesses.forEach((mark, index) => {
        mark.className = "sm-word sm-" + (index < accepted ? "accepted" : index === accepted ? "rejected" : "discarded");
      });
      fallen = guesses.slice(accepted).map((mark) => mark.parentNode);
    },
    own(token, kind) {
      write(token, "own");
      if (!kind) return;
      fallen.push(h("small", { class: "sm-tag" }, kind + " "));
      box.append(fallen.at(-1));
    },
    clear() {
      box = null;
      node.replaceChildren();
    },
  };
}

function player({ model, el }) {
  const rounds = model.get("rounds"), recorded = rounds.length > 0;
  const noun = recorded ? "token" : "word";
  const inks = rounds.flatMap((round) => [...round.drafted, round.next]);
  const text = writer(!inks.some((token) => /^\s|\s$/.test(token)));
  const panel = tallyPanel(noun, recorded
    ? { number: "whole recording", line: "whole recording", sentence: "the whole recording has" }
    : { number: "formula expects", line: ["expected, (1 − α", h("sup", {}, "K+1"), ")/(1 − α)"], sentence: "the formula expects" });
  const status = h("p", { class: "sm-status" });
  const { node: said, say, stop: hush } = announcer();
  const recordedMean = rounds.reduce((sum, round) => sum + round.accepted + 1, 0) / rounds.length;
  const longestRecorded = Math.max(0, ...rounds.map((round) => round.drafted.length));
  let source, count, round, shown, checked, over, timer = 0;

  /* The next small thing that happens, in words. */
  function advance() {
    if (!round) {
      round = source();
      if (!round) {
        over = true;
        return "The recording ends here.";
      }
      text.open();
      shown = 0;
      checked = !round.drafted.length;
    }
    const { drafted, accepted, next } = round;
    if (shown < drafted.length) {
      text.draft(drafted[shown]);
      return `The junior drafts ${quoted(drafted[shown++])}.`;
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
    return kind === "bonus" ? `From the same pass she adds a bonus ${noun}: ${quoted(next)}.`
      : kind ? `From the same pass she writes her own ${noun}: ${quoted(next)}.` : `No guesses: one pass writes ${quoted(next)}.`;
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
    source = recorded ? recording(rounds) : simulation(DATA.passage, model.get("alpha"), model.get("K"), model.get("seed"));
    count = tally();
    round = null;
    over = false;
    text.clear();
    run(many);
  }
  const soFar = () => `${plural(count.rounds, "round")}: ${fixed(count.words / count.rounds)} ${noun}s per round.`;

  function show(message, aloud = true) {
    status.textContent = message;
    panel.draw(count, recorded ? recordedMean : theory.tokensPerRound(model.get("alpha"), model.get("K")), recorded ? longestRecorded : model.get("K"));
    if (aloud) say(message);
    for (const control of [buttons.step, buttons.finish, buttons.play, buttons.run]) control.disabled = over;
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
    timer = setInterval(() => {
      const message = advance();
      if (over) pause();
      // A screen reader hears of whole rounds; single words would come faster than speech.
      show(message, false);
      if (!round && count.rounds) say(`Round ${count.rounds}: ${told(count.history.at(-1))}.`);
    }, Number(speed.value));
  }

  const button = (label, act) => h("button", { type: "button", class: "sm-button", onclick: act }, label);
  const acting = (act) => () => { pause(); show(act()); };
  const buttons = {
    step: button("Step", acting(advance)),
    finish: button("Finish round", acting(finishRound)),
    play: button("Play", () => (timer ? pause() : play())),
    run: button(recorded ? "Run to the end" : "Run 100 rounds", acting(() => {
      const message = run(recorded ? Infinity : 100);
      return over ? `${soFar()} ${message}` : soFar();
    })),
    restart: button("Restart", acting(() => { begin(0); return "A blank page. Step, or play."; })),
    luck: recorded ? null : button("New luck", () => change(model, { seed: (model.get("seed") + 1) % (DATA.ranges.seed.high + 1) })),
  };
  buttons.play.classList.add("sm-steady");
  const speedId = uid("speed");
  const speed = h("select", { id: speedId, onchange: () => timer && play() },
    Object.entries(SPEEDS).map(([delay, label]) => h("option", { value: delay, selected: label === "medium" }, label)));
  const fields = recorded ? [] : [
    field(model, DATA.ranges.alpha, { name: "alpha", label: "Acceptance rate α", hint: "chance that one guess is right", step: 0.01, speak: (value) => plain(value) }),
    field(model, DATA.ranges.K, { name: "K", label: "Draft length K", hint: "words guessed each round", step: 1, speak: (value) => plural(value, "word") }),
  ];
  const key = (kind, label) => [h("span", { class: "sm-word sm-" + kind }, label), " "];
  const title = model.get("title");
  el.replaceChildren(h("div", { class: "sm sm-player", role: "group", "aria-label": title || "Round player" },
    title ? h("p", { class: "sm-title" }, title) : null, text.node, status,
    h("p", { class: "sm-key" }, key("draft", "drafted"), key("accepted", "accepted"), key("rejected", "struck"), key("discarded", "discarded"), key("own", "the editor’s own")),
    h("div", { class: "sm-actions" }, buttons.step, buttons.finish, buttons.play, h("span", { class: "sm-choice" }, h("label", { for: speedId }, "Speed"), speed), buttons.run, buttons.restart, buttons.luck),
    fields.length ? h("div", { class: "sm-fields" }, fields.map((one) => one.node)) : null, panel.nodes,
    h("p", { class: "sm-note" }, recorded ? "A recording of real rounds, played back as it happened."
      : "Each guess is right with probability α, independently of the others; real guesses are not quite that tidy. Moving α or K replays the same luck."),
    said));

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
