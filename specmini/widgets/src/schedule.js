/* When a flash card is due: SM-2 as in specmini/practice/schedule.py, which says where it comes
 * from. Every number is whole, so both sides agree to the day. Memories live in a Map: an id that
 * names a part of every object is then nothing special. */

const FIELDS = ["repetitions", "ease", "interval", "last", "first", "drill"];
const dueDay = ({ last, interval }) => last + interval;

const schedule = {
  review(memory, grade, today) {
    const { quality, ease_gain: gains, ranges, first_ease: firstEase, first_intervals: first } = DATA.schedule;
    const drill = quality[grade] < 4;
    if (memory && memory.last === today) return { ...memory, drill };
    const before = memory || { repetitions: 0, ease: firstEase, interval: 1, last: today, first: today, drill };
    if (quality[grade] < 3) return { ...before, repetitions: 0, interval: 1, last: today, drill };
    const [leastEase, mostEase] = ranges.ease, repetitions = before.repetitions + 1;
    const ease = Math.max(leastEase, before.ease + gains[grade]);
    const grown = Math.min(Math.ceil((before.interval * ease) / 100), ranges.interval[1]);
    return {
      repetitions: Math.min(repetitions, ranges.repetitions[1]), ease: Math.min(ease, mostEase),
      interval: first[repetitions] || grown, last: today, first: before.first, drill,
    };
  },
  /* `due`, `fresh` and `drill` are ids in the order of their turn; `ids` those of the deck. */
  queue(memories, ids, today, newPerDay) {
    const known = ids.filter((id) => memories.has(id));
    const due = known.filter((id) => dueDay(memories.get(id)) <= today);
    due.sort((one, other) => dueDay(memories.get(one)) - dueDay(memories.get(other)));
    const begun = [...memories.values()].filter(({ first }) => first === today).length;
    const fresh = ids.filter((id) => !memories.has(id)).slice(0, Math.max(0, newPerDay - begun));
    const drill = known.filter((id) => memories.get(id).drill && memories.get(id).last === today);
    return { due, fresh, drill };
  },
  dumps(memories) {
    const sorted = [...memories].sort(([one], [other]) => (one < other ? -1 : 1));
    const entries = Object.fromEntries(sorted.map(([id, memory]) => [id, Object.fromEntries(FIELDS.map((name) => [name, memory[name]]))]));
    return JSON.stringify({ format: DATA.schedule.format, memories: entries });
  },
  /* A Map of memories; throws an Error that says what is wrong where. */
  loads(text) {
    let saved = null;
    try {
      saved = JSON.parse(text);
    } catch {
      throw new Error("progress must be JSON, as the export writes it");
    }
    if (!isObject(saved) || saved.format !== DATA.schedule.format) throw new Error(`progress must have the format "${DATA.schedule.format}"`);
    return schedule.from(saved.memories);
  },
  from(entries) {
    if (!isObject(entries)) throw new Error("memories must be an object of cards");
    return new Map(Object.entries(entries).map(([id, entry]) => [id, checkedMemory(id, entry)]));
  },
};

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function checkedMemory(id, entry) {
  if (!/^[a-z0-9-]{1,120}$/.test(id)) throw new Error("memories must have ids of small letters, digits and hyphens");
  const named = isObject(entry) && Object.keys(entry).length === FIELDS.length && FIELDS.every((name) => Object.hasOwn(entry, name));
  if (!named) throw new Error(`memory of ${id} must have the fields ${FIELDS.join(", ")}`);
  for (const [name, [low, high]] of Object.entries(DATA.schedule.ranges)) {
    if (!Number.isInteger(entry[name]) || entry[name] < low || entry[name] > high) throw new Error(`${name} of ${id} must be a whole number in [${low}, ${high}]`);
  }
  if (typeof entry.drill !== "boolean") throw new Error(`drill of ${id} must be true or false`);
  if (entry.first > entry.last) throw new Error(`first of ${id} must be at most its last, ${entry.last}`);
  return entry;
}
