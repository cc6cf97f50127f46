/* The mock interview: a clock that pauses and traps nobody, and the summary at the end. */

const clockWords = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;

/* Counts down; speaks at half time, a minute before the end, and at the end. Then it stands at zero
 * and the reader goes on as long as they like. */
function countdown(minutes, say) {
  const whole = minutes * 60, node = h("span", { class: "sm-clock", role: "timer", "aria-live": "off" });
  const spoken = new Map([[whole / 2, "Half of the time is left."], [60, "One minute is left."], [0, "Time is up. Finish your answer, then end the interview."]]);
  let left = whole, started = 0, timer = 0, heard = whole;
  const now = () => Math.max(0, left - (timer ? (performance.now() - started) / 1000 : 0));
  function show() {
    const seconds = Math.ceil(now());
    node.textContent = seconds ? clockWords(seconds) : "0:00, time is up";
    for (const [at, words] of spoken) if (at < heard && seconds <= at) say(words);
    heard = seconds;
    if (!seconds) pause();
  }
  function pause() {
    left = now();
    clearInterval(timer);
    timer = 0;
  }
  function go() {
    if (timer || !now()) return;
    started = performance.now();
    timer = setInterval(show, 250);
    show();
  }
  show();
  return { node, go, pause() { pause(); show(); }, running: () => timer !== 0, taken: () => Math.round(whole - now()) };
}

/* What is said about a step afterwards. */
function outcomeWords({ first, note }) {
  if (first === null) return "– not answered";
  if (first === 1) return "✓ right";
  return `${first ? `◐ ${Math.round(100 * first)}% right` : "✗ wrong"}${note ? `: ${note}` : ""}`;
}

function mockSummary(rooms, seconds, link) {
  const right = rooms.filter(({ outcome }) => outcome.first === 1).length;
  const weak = [...new Set(rooms.filter(({ outcome }) => outcome.first !== 1).map(({ step }) => step.chapter))];
  const head = `${right} of ${rooms.length} right at the first answer, in ${clockWords(seconds)}.`;
  const links = weak.flatMap((chapter, place) => [place ? ", " : " ", link(chapter)]);
  return {
    words: head,
    node: h("div", {}, h("p", { class: "sm-label", tabindex: "-1" }, head),
      h("ul", { class: "sm-summary" }, rooms.map(({ step, outcome }) => h("li", {}, h("strong", {}, step.title), " ", outcomeWords(outcome)))),
      h("p", {}, ...(weak.length ? ["Revisit:", ...links, "."] : ["Nothing to revisit."]))),
  };
}
