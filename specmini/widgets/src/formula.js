/* Formulas as readers type them: specmini/practice/symbols.py and expression.py say how they are
 * read, and a test holds the two against each other. A node is {kind, text, parts, column}. */

class FormulaError extends Error {
  constructor(message, column) {
    super(message);
    this.column = column;
  }
}

const formula = (function () {
  const { most_characters: most, deepest, blanks, letters, names, functions, sums, fractions, words_of_signs: spelled, signs, pairs, words, opening, relations, indexes, arguments: taken } = DATA.formula;
  const has = (table, key) => Object.hasOwn(table, key);
  const digit = (character) => character !== undefined && character >= "0" && character <= "9";
  const symbol = (kind, text, column, typed) => ({ kind, text, column, typed });
  const node = (kind, text, parts, column) => ({ kind, text, parts, column });

  function endOfNumber(text, at) {
    const run = () => { while (digit(text[at])) at += 1; };
    run();
    if (text[at] === "." && text.slice(at, at + 3).join("") !== "...") {
      at += 1;
      run();
    }
    if (text[at] === "e" || text[at] === "E") {
      const first = text[at + 1] === "+" || text[at + 1] === "-" ? at + 2 : at + 1;
      if (digit(text[first])) {
        at = first;
        run();
      }
    }
    return at;
  }

  /* The names in a run of letters: "Kc" is two, "alpha" is one. */
  function named(typed, column) {
    const found = [];
    let rest = typed;
    if (rest === "\\") throw new FormulaError(`I cannot read “${rest}” at column ${column}.`, column);
    const cut = (word) => {
      rest = rest.slice(word.length);
      column += word.length;
    };
    if (rest[0] === "\\") {
      cut("\\");
      const word = Object.keys(spelled).sort((a, b) => b.length - a.length || (a < b ? -1 : 1)).find((one) => rest.startsWith(one));
      if (word) {
        if (spelled[word]) found.push(symbol("sign", spelled[word], column, word));
        cut(word);
      }
    }
    while (rest) {
      const word = words.find((one) => rest.startsWith(one)) || rest[0];
      const meaning = functions.includes(word) ? word : sums.includes(word) ? "sum" : fractions.includes(word) ? "frac" : null;
      if (meaning) found.push(symbol("word", meaning, column, word));
      else if (has(names, word)) found.push(symbol("name", names[word], column, word));
      else throw new FormulaError(`I do not know the name “${word}” at column ${column}.`, column);
      cut(word);
    }
    return found;
  }

  function symbols(typed) {
    // A string of a million characters is not even cut into them.
    const text = typed.length > 2 * most ? null : Array.from(typed), found = [];
    if (!text || text.length > most) throw new FormulaError(`This is longer than ${most} characters.`, 0);
    for (let at = 0; at < text.length;) {
      const start = at, character = text[at], column = at + 1;
      if (blanks.includes(character)) at += 1;
      else if (digit(character) || (character === "." && digit(text[at + 1]))) {
        at = endOfNumber(text, at);
        const number = text.slice(start, at).join("");
        if (!Number.isFinite(Number(number))) throw new FormulaError(`The number at column ${column} is too large.`, column);
        found.push(symbol("number", number, column, number));
      } else if (letters.includes(character) || character === "\\") {
        for (at += 1; at < text.length && letters.includes(text[at]);) at += 1;
        found.push(...named(text.slice(start, at).join(""), column));
      } else if (character === "…" || text.slice(at, at + 3).join("") === "...") {
        throw new FormulaError(`I cannot read the dots at column ${column}; write sum_{i=0}^{K} α^i.`, column);
      } else {
        const two = text.slice(at, at + 2).join(""), one = has(pairs, two) ? two : character;
        const sign = has(pairs, one) ? pairs[one] : has(signs, one) ? signs[one] : null;
        if (!sign) throw new FormulaError(`I cannot read “${one}” at column ${column}.`, column);
        found.push(symbol("sign", sign, column, one));
        at += one.length;
      }
    }
    return [...found, symbol("end", "", text.length + 1, "")];
  }

  function parse(typed, tight = false) {
    const found = symbols(typed);
    let at = 0, depth = 0;
    const now = () => found[at];
    const take = () => (now().kind === "end" ? now() : found[at++]);
    const sees = (...wanted) => now().kind === "sign" && wanted.includes(now().text);
    const opens = () => now().kind === "sign" && has(opening, now().text);
    const follows = () => now().kind === "name" || now().kind === "word" || opens();
    function refuse(wanted) {
      if (at === 0 && now().kind === "end") throw new FormulaError("There is nothing to read yet.", 0);
      const before = found[at - 1], after = before ? before.column + Array.from(before.typed).length - 1 : 0;
      const place = after ? `after column ${after}` : "at the beginning";
      const seen = now().kind === "end" ? "it ends there" : `found “${now().typed}”`;
      throw new FormulaError(`I expected ${wanted} ${place}, but ${seen}.`, after);
    }
    const expect = (sign) => { if (sees(sign)) take(); else refuse(sign); };
    function deeper(things, column, read) {
      depth += 1;
      if (depth > deepest) throw new FormulaError(`More than ${deepest} ${things} at column ${column}.`, column);
      const inside = read();
      depth -= 1;
      return inside;
    }

    const sum = () => deeper("brackets stand inside each other", now().column, () => {
      let left = product();
      while (sees("+", "-")) {
        const { text, column } = take();
        left = node(text, "", [left, product()], column);
      }
      return left;
    });
    function product() {
      let left = tight ? joined() : signed();
      for (;;) {
        if (sees("*", "/")) {
          const { text, column } = take();
          left = node(text, "", [left, tight ? joined() : signed()], column);
        } else if (follows()) {
          const { column } = now();
          left = node("*", "", [left, power()], column);
        } else return left;
      }
    }
    function joined() {
      let left = signed();
      while (follows()) {
        const { column } = now();
        left = node("*", "", [left, power()], column);
      }
      return left;
    }
    function signed() {
      const before = [];
      while (sees("+", "-")) before.push(take());
      return before.reverse().reduce((inside, { text, column }) => (text === "-" ? node("negative", "", [inside], column) : inside), power());
    }
    function power() {
      const base = atom();
      if (!sees("^")) return base;
      const { column } = take();
      return node("^", "", [base, deeper("powers stand above each other", column, signed)], column);
    }
    function atom() {
      const { kind, text, column } = now();
      if (kind === "number" || kind === "name") {
        take();
        return node(kind, text, [], column);
      }
      if (opens()) return bracket();
      if (kind !== "word") refuse("a number, a name or (");
      const word = take();
      if (text === "sum") return summation(word);
      return text === "frac" ? node("/", "", [braced(), braced()], column) : call(word);
    }
    function bracket() {
      const closing = opening[take().text], inside = sum();
      expect(closing);
      return inside;
    }
    const braced = () => (sees("{") ? bracket() : refuse("{"));
    function call({ text, column }) {
      expect("(");
      const given = [sum()];
      while (sees(",")) {
        take();
        given.push(sum());
      }
      expect(")");
      const [fewest, largest] = taken[text];
      if (given.length < fewest || given.length > largest) {
        const needed = fewest === largest ? String(fewest) : `${fewest} or more`;
        throw new FormulaError(`${text} at column ${column} takes ${needed} ${needed === "1" ? "value" : "values"}, got ${given.length}.`, column);
      }
      return node("call", text === "ln" ? "log" : text, given, column);
    }
    function summation({ column }) {
      if (!sees("_")) {
        expect("(");
        const body = sum();
        expect(",");
        const name = index();
        expect(",");
        const low = sum();
        expect(",");
        const high = sum();
        expect(")");
        return node("sum", name, [body, low, high], column);
      }
      take();
      const closing = opens() ? opening[take().text] : null, name = index();
      expect("=");
      const low = closing ? sum() : atom();
      if (closing) expect(closing);
      expect("^");
      const high = atom();
      return node("sum", name, [deeper("brackets stand inside each other", column, product), low, high], column);
    }
    function index() {
      if (now().kind !== "name" || !indexes.includes(now().text)) refuse("an index such as i");
      return take().text;
    }

    if (now().kind === "name" && found[1].kind === "sign" && found[1].text === "=") at += 2;
    let whole = sum();
    if (sees(...relations)) {
      const { text, column } = take();
      whole = node(text, "", [whole, sum()], column);
    }
    if (now().kind !== "end") refuse("a sign such as + or *");
    return whole;
  }

  /* The names that take a value from outside, from left to right. */
  const free = ({ kind, text, parts, column }) => (kind === "name" ? [{ text, column }]
    : parts.flatMap((part, place) => free(part).filter((name) => kind !== "sum" || place > 0 || name.text !== text)));

  const LEVEL = { "+": 1, "-": 1, "*": 2, "/": 2, negative: 2, "^": 4 };
  const inside = (one, least) => ((LEVEL[one.kind] || 9) < least ? `(${write(one)})` : write(one));
  function write({ kind, text, parts }) {
    if (relations.includes(kind)) return `${write(parts[0])} ${kind} ${write(parts[1])}`;
    if (kind === "call") return `${text}(${parts.map(write).join(", ")})`;
    if (kind === "sum") return `sum(${write(parts[0])}, ${text}, ${write(parts[1])}, ${write(parts[2])})`;
    if (!LEVEL[kind]) return text;
    if (kind === "negative") return "−" + inside(parts[0], 3);
    if (kind === "^") return `${inside(parts[0], 5)}^${inside(parts[1], 5)}`;
    const sign = { "-": "−", "*": "·" }[kind] || kind;
    return `${inside(parts[0], LEVEL[kind])} ${sign} ${inside(parts[1], LEVEL[kind] + 1)}`;
  }

  return { symbols, parse, free, write };
})();
