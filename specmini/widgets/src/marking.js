/* What the marks in a paragraph are worth, and the hints on the way: specmini.practice.marking in
 * JavaScript. Marks are positions of words; a mark is a phrase that is judged, or a run of others. */

const isError = (span) => span.verdict !== "right";
const spanAt = (content, position) => content.spans.find(({ first, last }) => first <= position && position <= last);
const bare = (words) => words.replace(/^[“"]+|[”",.;:?!]+$/g, "");
const phraseOf = (content, span) => bare(content.words.slice(span.first, span.last + 1).join(" "));
const sentenceOf = (content, position) => content.sentences.filter((start) => start <= position).length;

/* The marks after a word was chosen: a phrase is marked or unmarked as a whole. */
function toggled(content, marks, position) {
  const span = spanAt(content, position), next = new Set(marks), on = !next.has(position);
  for (let word = span ? span.first : position; word <= (span ? span.last : position); word += 1) {
    if (on) next.add(word);
    else next.delete(word);
  }
  return [...next].sort((one, other) => one - other);
}

function graded(content, marks) {
  const given = new Set(marks), marked = ({ first }) => given.has(first), errors = content.spans.filter(isError);
  const plainAt = (position) => given.has(position) && !spanAt(content, position);
  const ids = (spans) => spans.map(({ id }) => id);
  const found = ids(errors.filter(marked)), wrongly = ids(content.spans.filter((span) => !isError(span) && marked(span)));
  const strays = marks.filter((position) => plainAt(position) && !plainAt(position - 1)).length;
  const count = found.length + wrongly.length + strays;
  return {
    found, wrongly, strays, missed: ids(errors.filter((span) => !marked(span))), marks: count, errors: errors.length,
    precision: count ? found.length / count : 0, recall: found.length / errors.length, score: (2 * found.length) / (count + errors.length),
  };
}

function gradeWords({ found, marks, errors, score }) {
  if (!marks) return `Nothing is marked yet; ${plural(errors, "error")} to find.`;
  return `${found.length} of ${plural(errors, "error")} found with ${plural(marks, "mark")}. `
    + `Precision ${found.length}/${marks}: the marks that are errors. Recall ${found.length}/${errors}: the errors that are marked. `
    + `Score ${wholePercent(score)}: twice the errors found over marks plus errors.`;
}

const HINTS = 3;
function hintWords(content, marks, step) {
  const { missed, errors } = graded(content, marks), left = content.spans.filter(({ id }) => missed.includes(id));
  if (step === 1) return `There ${errors === 1 ? "is" : "are"} ${plural(errors, "error")} in this paragraph.`;
  if (!left.length) return "All errors are marked.";
  if (step === 3) return `The next error begins with “${bare(content.words[left[0].first])}”.`;
  const counts = new Map();
  for (const { first } of left) counts.set(sentenceOf(content, first), (counts.get(sentenceOf(content, first)) || 0) + 1);
  return `Errors not yet marked: ${[...counts].map(([place, count]) => `sentence ${place}: ${count}`).join("; ")}.`;
}
