/* What a tool printed about acceptance, as tokens per round; specmini/conversions.py has the kinds. */

const PRINTED = {
  tokens: "tokens a round, 1 to K + 1",
  tokens_plus_one: "tokens a round, plus 1",
  accepted: "accepted drafts a round, 0 to K",
  filled: "tokens a round ÷ (K + 1)",
  share: "accepted ÷ drafted, 0 to 1",
  output_share: "accepted ÷ tokens of the output, 0 to 1",
  survival: "one number a position: share of rounds that get so far",
  alpha: "chance that one draft is accepted, 0 to 1",
  conditional: "one number a position: chance once those before are accepted",
};

/* E of numbers of a kind at this K, or why there is none: { tokens } or { wrong }. */
function tokensFromPrinted(kind, numbers, K) {
  const listed = kind === "survival" || kind === "conditional", [value] = numbers;
  const refuse = (must) => ({ wrong: `acceptance must ${must}, got ${numbers.map((one) => plain(one)).join(", ")}` });
  if (numbers.length !== (listed ? K : 1)) return refuse(listed ? `be ${plural(K, "number")}, one a position` : "be one number");
  const share = listed || kind === "share" || kind === "alpha";
  if (share && numbers.some((one) => one > 1)) return refuse("be in [0, 1] (a share, not a percentage)");
  if (kind === "filled" && !(value >= 1 / (K + 1) && value <= 1)) return refuse(`be in [1 / ${K + 1}, 1]`);
  if (kind === "output_share" && value >= 1) return refuse("be in [0, 1)");
  if (kind === "survival" && numbers.some((one, index) => one > numbers[index - 1])) return refuse("not rise from position to position");
  let product = 1;
  const tokens = {
    tokens: () => value,
    tokens_plus_one: () => value - 1,
    accepted: () => value + 1,
    filled: () => Math.max(value * (K + 1), 1),
    share: () => 1 + value * K,
    output_share: () => 1 / (1 - value),
    survival: () => 1 + numbers.reduce((sum, one) => sum + one, 0),
    alpha: () => theory.tokensPerRound(value, K),
    conditional: () => 1 + numbers.reduce((sum, one) => sum + (product *= one), 0),
  }[kind]();
  return tokens >= 1 && tokens <= K + 1 ? { tokens } : refuse(`give 1 to ${K + 1} tokens a round`);
}
