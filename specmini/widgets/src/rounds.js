/* Rounds of drafting and checking without any page: a junior whose guesses are right or wrong by a
 * seeded coin, a recording that is played back, and the tally of either. A round is
 * {drafted: [words], accepted: how many stand, next: the editor's own word}; in a recording also
 * ms: [drafting, the target's pass, the whole round]. */

/* mulberry32 by Tommy Ettinger (public domain): 32 bits of state, uniform numbers in [0, 1). */
function mulberry32(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/* Endless rounds over `passage`, pairs "the editor's word/a wrong guess". Every guess is right with
 * probability alpha, independently of the others: the assumption behind the formula. */
function simulation(passage, alpha, K, seed) {
  const words = passage.split(" ").map((pair) => pair.split("/"));
  const coin = mulberry32(seed);
  let position = 0;
  const word = (offset) => words[(position + offset) % words.length];
  return () => {
    const right = Array.from({ length: K }, () => coin() < alpha);
    const wrong = right.indexOf(false);
    const accepted = wrong < 0 ? K : wrong;
    const round = { drafted: right.map((good, offset) => word(offset)[good ? 0 : 1]), accepted, next: word(accepted)[0] };
    position += accepted + 1;
    return round;
  };
}

function recording(rounds) {
  let index = 0;
  return () => rounds[index++] || null;
}

/* Counts finished rounds; `means[n]` is the mean number of words a round after n + 1 rounds, and
 * `ends[n]` when the round of a recording ended, with the words there were by then. */
function tally() {
  const self = { rounds: 0, words: 0, means: [], ends: [], history: [] };
  self.add = (round) => {
    self.rounds += 1;
    self.words += round.accepted + 1;
    self.means.push(self.words / self.rounds);
    if (round.ms) self.ends.push([(self.ends.length ? self.ends.at(-1)[0] : 0) + round.ms[2], self.words]);
    self.history = [...self.history.slice(-4), round];
  };
  return self;
}

const full = (round) => round.accepted === round.drafted.length;

/* A token in running text: white space alone would be invisible. */
const quoted = (token) => `“${token.trim() || visible(token)}”`;

function told(round) {
  const { drafted, accepted, next, ms } = round;
  const lasted = ms ? `, ${milliseconds(ms[2])}` : "";
  if (!drafted.length) return `drafted nothing, wrote ${quoted(next)}${lasted}`;
  const ending = full(round) ? `bonus ${quoted(next)}` : `${quoted(drafted[accepted])} → ${quoted(next)}`;
  return `drafted ${drafted.length}, accepted ${accepted}, ${ending}${lasted}`;
}
