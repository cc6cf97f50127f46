/* The true clock of a recording: when each small thing happened, and how far plain decoding would
 * be by then. All times are milliseconds since the first round began. */

const SLOWER = [1000, 300, 100, 30, 10, 1];
const WATCHED = 20000; // milliseconds that a reader may want to watch

const milliseconds = (time) => `${fixed(time, 1)} ms`;
const written = ({ drafted, accepted, next }) => [...drafted.slice(0, accepted), next];

/* When each step of the player happened: every guess, the check, the target's own token. */
function moments(rounds) {
  let begun = 0;
  return rounds.flatMap(({ drafted, ms: [drafting, passing, whole] }) => {
    const guesses = drafted.map((_, index) => begun + (drafting * (index + 1)) / drafted.length);
    const check = drafted.length ? [begun + drafting + passing] : [];
    begun += whole;
    return [...guesses, ...check, begun];
  });
}

/* Everything about a recorded text that stands still while it plays. */
function tape({ rounds, plain_ms: step }) {
  const tokens = rounds.flatMap(written), times = moments(rounds);
  const end = times.at(-1), plainEnd = tokens.length * step, last = Math.max(end, plainEnd);
  const slower = SLOWER.reduce((best, factor) => (Math.abs(last * factor - WATCHED) < Math.abs(last * best - WATCHED) ? factor : best));
  // A hair more, so that a step that ends now has ended.
  const plainly = (time) => Math.min(tokens.length, Math.floor(time / step + 1e-9));
  return { tokens, times, step, end, plainEnd, last, slower, plainly };
}

/* The other half of the race: the same tokens, one each step. */
function plainText() {
  const node = textBox("Text of plain decoding so far"), fresh = h("span");
  let shown = "";
  return {
    node,
    show(before, { tokens, plainly }, time) {
      const text = tokens.slice(0, plainly(time)).join("");
      if (before + text === shown) return;
      shown = before + text;
      fresh.textContent = text;
      node.replaceChildren(promptText(before), fresh);
      node.scrollTop = node.scrollHeight;
    },
  };
}
