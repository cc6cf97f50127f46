"""Formulas to try a parser and a grader with: right, rewritten, hostile, and scribbled."""

import random

from specmini.practice.expression import RELATIONS, Node, parse, write
from specmini.practice.interview import interview

HOSTILE = [
    "",
    " ",
    "()",
    ")",
    "(",
    "[1)",
    "{",
    "1e999",
    "1e308*10",
    "0/0",
    "1/0",
    "NaN",
    "Infinity",
    "a^a^a^a^a^a^a",
    "9^9^9^9",
    "(-1)^(1/2)",
    "0^-1",
    "-K^K^K",
    "log(0)",
    "log(-1)",
    "exp(1e9)",
    "exp(-1e9)",
    "min()",
    "max(1)",
    "min(1,2,3,4,5,6,7,8,9)",
    "sum",
    "sum(",
    "sum(1,i,0)",
    "sum(1,i,0,1e9)",
    "sum(1,i,0,0.5)",
    "sum(i,i,3,1)",
    "sum(1/i,i,0,K)",
    "sum(1,c,0,K)",
    "sum(sum(1,i,0,9999),j,0,9999)",
    "sum_{i=0}^",
    "sum_i=0^K a^i",
    "Σ_{i=0}^{K}",
    "sum_{i=0}",
    "\\",
    "\\\\",
    "\\frac",
    "\\frac{1}",
    "\\frac{1}{0}",
    "\\frac12",
    "\\left(\\right)",
    "\\foo",
    "__proto__",
    "constructor",
    "toString",
    "a.b",
    "a;alert(1)",
    "<img src=x>",
    "'",
    '"',
    "`",
    "${a}",
    "α" * 200,
    "a" * 201,
    "a" * 200,
    "1" * 200,
    "+" * 199 + "1",
    "-" * 199 + "a",
    "(" * 100,
    "(" * 39 + "a" + ")" * 39,
    "(" * 40 + "a" + ")" * 40,
    "((" * 60,
    "a^" * 99 + "a",
    "2^" * 30 + "2",
    "1+" * 99 + "1",
    "a " * 99,
    "1.2.3",
    "1..2",
    ".",
    "..",
    "...",
    "1 + … + a^K",
    "1e",
    "1e+",
    "2e3",
    "2,5",
    "a=b",
    "E = ",
    "= a",
    "a == c",
    "a > c > 1",
    "> c",
    "a >",
    "α≥c",
    "a<=c",
    "S = S",
    "😀",
    "a😀",
    "𝛼",
    "a\u0000",
    "a\u202fK",
    "a\u2009+\u00a0c",
    "−a",
    "a–c",
    "a·c×K÷v⋅j",
    "Kc+K c+c K",
    "2K",
    "K2",
    "K 2",
    "1/2K",
    "1/2 K c",
    "1/(1-a)(Kc+1)",
    "alphaK",
    "Kalpha",
    "amin(1,2)",
    "gamma",
    "(1-γ)",
    "x",
    "b",
    "beta",
    "C",
    "e^a",
    "pi",
    "|a|",
    "a!",
    "a%",
    "a^",
    "a**",
    "a***c",
    "a//c",
    "a^^c",
]


def hostile():
    return [*HOSTILE, "(" * 1_000_000, "9" * 1_000_000, "a+" * 500_000, "α" * 250]


def known_right():
    """Right answers in the forms in which people write them."""
    steps = interview().steps
    return [
        *(step["right"] for step in steps if isinstance(step.get("right"), str)),
        *("sum_{i=0}^{K} α^i", "sum_{i=0}^K a^i", "Σ_(i=0)^K a**i", "sum(α^i, i, 0, K)"),
        *("1 + sum(a^i, i, 1, K)", "\\sum_{i=0}^{\\gamma} \\alpha^i", "1 + a(1-a^K)/(1-a)"),
        *("\\frac{1-\\alpha^{\\gamma+1}}{1-\\alpha}", "(a^(K+1)-1)/(a-1)", "E = (1−α^(K+1))/(1−α)"),
        *("S = E/(Kc + v)", "\\frac{E}{\\left(v + K \\cdot c\\right)}", "c < a", "(1+a)/(1+c) > 1"),
        *("2.401", "3.3616/1.4", "6", "1 + K c", "c·K + 1"),
    ]


def typed(node: Node, rng: random.Random) -> str:
    """Write a tree in one of the many ways in which a reader may."""
    pick = rng.choice
    if node.kind in RELATIONS:
        left, right = (typed(part, rng) for part in node.parts)
        turned = {"<": ">", ">": "<", "≤": "≥", "≥": "≤"}
        return pick([f"{left}{node.kind}{right}", f"{right} {turned[node.kind]} {left}"])
    if node.kind == "name":
        others = {"α": ["α", "a", "alpha", "\\alpha "], "K": ["K", "k", "γ", "gamma "]}
        return pick(others.get(node.text, [node.text]))
    if node.kind == "number":
        return node.text
    if node.kind == "call":
        return f"{node.text}({','.join(typed(part, rng) for part in node.parts)})"
    if node.kind == "sum":
        body, low, high = (typed(part, rng) for part in node.parts)
        index = node.text
        return pick([
            f"sum({body}, {index}, {low}, {high})",
            f"(sum_{{{index}={low}}}^{{{high}}}({body}))",
            f"(Σ_({index}={low})^({high})({body}))",
        ])  # fmt: skip
    inner = [f"{pick('([')}{typed(part, rng)}" for part in node.parts]
    parts = [text + (")" if text[0] == "(" else "]") for text in inner]
    if node.kind == "negative":
        return f"({pick('-−–')}{parts[0]})"
    left, right = parts
    space = pick(["", " "])
    ways = {
        "+": [f"{left}{space}+{space}{right}", f"{right}+{left}"],
        "-": [f"{left}{pick('-−')}{right}", f"-{right}+{left}"],
        "*": [f"{left}{pick('*·×')}{right}", f"{left}{right}", f"{right}{space}{left}"],
        "/": [f"{left}/{right}", f"\\frac{{{left}}}{{{right}}}", f"{left}·{right}^-1"],
        "^": [f"{left}^{right}", f"{left}**{right}", f"{left}^{{{right}}}"],
    }
    return f"({pick(ways[node.kind])})"


def rewritten(form: str, rng: random.Random) -> str:
    """The same formula in another form, the plainest if that would be too long."""
    node = parse(form)
    text = typed(node, rng)
    return text if len(text) <= 200 else write(node)


def scribbles(forms: list[str], rng: random.Random, count: int) -> list[str]:
    """Forms with some characters dropped, doubled, swapped or replaced."""
    signs = "()[]{}^*/+-−=<>≥.,_ \\0129aαKkcvjiρEeγSx…&"
    found = []
    for _ in range(count):
        text = list(rng.choice(forms))
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(text) + 1)
            what = rng.randrange(4)
            if what == 0:
                text[at:at] = rng.choice(signs)
            elif what == 1:
                del text[at : at + 1]
            elif what == 2:
                text[at : at + 1] = rng.choice(signs)
            else:
                text[at : at + 2] = reversed(text[at : at + 2])
        found.append("".join(text))
    return found
