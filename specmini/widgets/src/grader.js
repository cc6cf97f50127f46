/* The value of a formula at a point and the verdict on it, as specmini/practice/evaluation.py and
 * grader.py define them. `points` come from Python with the widget. */

const grader = (function () {
  const { relations, most_steps: most, largest_bound: largest, relative, absolute } = DATA.formula;
  const related = ({ kind }) => relations.includes(kind);

  function combine({ kind, text }, values) {
    if (values.some(Number.isNaN)) return Number.NaN;
    const [left, right] = values;
    switch (kind) {
      case "call":
        if (text === "min") return Math.min(...values);
        if (text === "max") return Math.max(...values);
        if (text === "exp") return left < 709 ? Math.exp(left) : Number.NaN;
        return left > 0 ? Math.log(left) : Number.NaN;
      case "negative": return -left;
      case "+": return left + right;
      case "-": return left - right;
      case "*": return left * right;
      case "/": return right ? left / right : Number.NaN;
      default: return left ** right;
    }
  }

  /* NaN where any part is undefined or infinite, or where it would take too long. */
  function evaluate(whole, point) {
    let steps = 0;
    function value(node, values) {
      steps += 1;
      if (steps > most) throw evaluate;
      const { kind, text, parts } = node;
      if (kind === "number") return Number(text);
      if (kind === "name") return values[text];
      if (kind === "sum") return total(parts, text, values);
      const result = combine(node, parts.map((part) => value(part, values)));
      return Number.isFinite(result) ? result : Number.NaN;
    }
    function total([body, ...bounds], index, values) {
      const [low, high] = bounds.map((bound) => value(bound, values));
      if (![low, high].every((bound) => Number.isInteger(bound) && Math.abs(bound) <= largest)) return Number.NaN;
      let sum = 0;
      for (let at = low; at <= high; at += 1) sum += value(body, { ...values, [index]: at });
      return Number.isFinite(sum) ? sum : Number.NaN;
    }
    try {
      return value(whole, point);
    } catch (stopped) {
      if (stopped !== evaluate) throw stopped;
      return Number.NaN;
    }
  }

  const same = (one, other) => Math.abs(one - other) <= relative * Math.abs(other) + absolute;
  const equal = (one, other) => (one === null || other === null ? false : typeof one === "boolean" ? one === other : same(one, other));
  const agree = (one, other) => one.every((value, place) => equal(value, other[place]));

  function at(node, point) {
    if (!related(node)) {
      const value = evaluate(node, point);
      return Number.isNaN(value) ? null : value;
    }
    const [left, right] = node.parts.map((part) => evaluate(part, point));
    if (Number.isNaN(left) || Number.isNaN(right)) return null;
    return node.kind === "<" || node.kind === "≤" ? left < right : left > right;
  }
  /* Values at every point; after the first that is undefined, null and no more work. */
  function valuesOf(node, places) {
    const found = [];
    for (const point of places) {
      const value = at(node, point);
      if (value === null) break;
      found.push(value);
    }
    return places.map((_, place) => (place < found.length ? found[place] : null));
  }

  function figure(value) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e-4 && size < 1e15) return String(Number(value.toPrecision(5))).replaceAll("-", "−");
    const [mantissa, power] = value.toExponential(4).split("e");
    return `${Number(mantissa)}·10^${Number(power)}`.replaceAll("-", "−");
  }

  const verdict = (kind, note = "", misconception = "", column = 0) => ({ kind, note, misconception, column });
  const spelling = (typed) => verdict("right", formula.symbols(typed).some((one) => one.kind === "name" && (one.typed === "γ" || one.typed === "gamma")) ? "γ is the paper's name for the draft length; I read it as K." : "");

  function read(typed, allowed) {
    const node = formula.parse(typed), stranger = formula.free(node).find(({ text }) => !allowed.includes(text));
    if (stranger) throw new FormulaError(`${stranger.text} at column ${stranger.column} has no place here; use ${[...allowed].sort().join(", ")}.`, stranger.column);
    return node;
  }

  function gradeFormula(typed, step, points) {
    const given = Object.entries(step.given || {}), allowed = [...step.names, ...given.map(([name]) => name)];
    const node = read(typed, allowed), wanted = formula.parse(step.right);
    if (related(node) !== related(wanted)) {
      return verdict("unreadable", `This step asks for ${related(wanted) ? "a condition, with > or <" : "a formula without > or <"}.`);
    }
    const places = points.map((point) => ({ ...point, ...Object.fromEntries(given.map(([name, form]) => [name, evaluate(formula.parse(form), point)])) }));
    const seen = valuesOf(node, places), sought = valuesOf(wanted, places);
    if (agree(seen, sought)) return spelling(typed);
    if (agree(valuesOf(formula.parse(typed, true), places), sought)) return verdict("known", "", "brackets");
    const known = step.wrong.find((one) => agree(seen, valuesOf(formula.parse(one.formula), places)));
    return known ? verdict("known", "", known.misconception) : verdict("wrong", difference(seen, sought, places, allowed));
  }

  function difference(seen, sought, places, allowed) {
    const number = seen.findIndex((value, place) => !equal(value, sought[place])), yours = seen[number];
    const place = `At ${allowed.map((name) => `${name} = ${figure(places[number][name])}`).join(", ")}`;
    if (yours === null) return `${place} yours has no value.`;
    if (typeof yours === "boolean") return `${place} your condition ${yours ? "holds" : "does not hold"}, but the round ${sought[number] ? "wins" : "loses"}.`;
    return `${place} yours gives ${figure(yours)}; it should be ${figure(sought[number])}.`;
  }

  function gradeNumber(typed, step) {
    const node = read(typed, Object.keys(step.at));
    if (related(node)) return verdict("unreadable", "This step asks for a number.");
    const value = evaluate(node, step.at);
    if (Math.abs(value - step.right) <= step.tolerance) return spelling(typed);
    const known = step.wrong.find((one) => Math.abs(value - evaluate(formula.parse(one.formula), step.at)) <= step.tolerance);
    if (known) return verdict("known", "", known.misconception);
    return verdict("wrong", Number.isNaN(value) ? "This has no value: it divides by 0, or is too large." : `I read ${figure(value)}; that is not it.`);
  }

  /* What is said about a typed formula, condition or number. */
  function grade(typed, step, points) {
    try {
      return step.kind === "number" ? gradeNumber(typed, step) : gradeFormula(typed, step, points);
    } catch (error) {
      if (!(error instanceof FormulaError)) throw error;
      return verdict("unreadable", error.message, "", error.column);
    }
  }

  function reading(typed) {
    try {
      return `I read: ${formula.write(formula.parse(typed))}`;
    } catch (error) {
      if (!(error instanceof FormulaError)) throw error;
      return error.message;
    }
  }

  const share = (rights) => rights.filter(Boolean).length / rights.length;
  const standing = (order) => order.concat(-1).findIndex((line, place) => line !== place);
  /* The score of any answer, 0 to 1. */
  function score(step, given, points) {
    if (step.kind === "choice") return share(step.options.map(({ id, right }) => right === given.includes(id)));
    if (step.kind === "order") return standing(given) / given.length;
    if (step.kind === "text") return given.length / step.rubric.length;
    return Number(grade(given, step, points).kind === "right");
  }

  /* The whole numbers below `length`, in an order that the seed decides. */
  function shuffled(seed, length) {
    const places = Array.from({ length }, (_, place) => place);
    let state = seed >>> 0;
    for (let last = length - 1; last > 0; last -= 1) {
      state = (Math.imul(1664525, state) + 1013904223) >>> 0;
      const other = Math.floor((state * (last + 1)) / 4294967296);
      [places[last], places[other]] = [places[other], places[last]];
    }
    return places;
  }
  /* The places of the steps of a mock interview, in the order of the interview. */
  const picked = (seed, count, steps) => shuffled(seed, steps).slice(0, count).sort((a, b) => a - b);

  return { grade, reading, score, standing, shuffled, picked, evaluate };
})();
