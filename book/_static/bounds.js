/* The page "What the bounds say": Theorems 1 to 3 for any setting, computed here.

   The formulas are those of src/heavybandit/theory.py, under the same names, with the arguments in
   the same order and the same refusals; tests/browser/test_bounds_words.py holds the two equal over a
   grid. Everything below the formulas is the page: numbers in words, sentences, table, drawing,
   controls. No library, and nothing is fetched. */

"use strict";

(() => {
  // What is allowed at the door (checks.py)

  function demand(holds, name, value, allowed) {
    if (holds) return;
    const written = Number.isInteger(value) ? `${value}.0` : `${value}`; // as Python writes it
    const got = written.replace("Infinity", "inf").replace("NaN", "nan");
    throw new RangeError(`${name} must be ${allowed}, got ${got}`);
  }

  function requireEps(eps) {
    demand(eps > 0 && eps <= 1, "eps", eps, "in (0, 1]");
  }

  function requireDelta(delta) {
    demand(delta >= 1e-200 && delta < 1, "delta", delta, "in [1e-200, 1)");
  }

  function requirePositive(name, value) {
    demand(value > 0 && value < Infinity, name, value, "positive and finite");
  }

  function requireAtLeast(name, value, least) {
    demand(value >= least && value < Infinity, name, value, `at least ${least} and finite`);
  }

  // The formulas

  const TRIVIAL = 2; // theory.TRIVIAL: the most one play can cost, two means in [−1, 1]

  /* theory.log_term (Propositions 1 and 2): L = ln(2KT ln T / δ) */
  function logTerm(T, K, delta) {
    requireAtLeast("horizon", T, 3);
    requireAtLeast("n_arms", K, 1);
    requireDelta(delta);
    return Math.log((2 * K * T * Math.log(T)) / delta);
  }

  /* theory.plays_per_round (Proposition 1): r = ⌈8L⌉ plays of SupBMM's arm per round */
  function playsPerRound(T, K, delta) {
    return Math.ceil(8 * logTerm(T, K, delta));
  }

  /* theory.theorem1 (Theorem 1, SupBMM; v bounds the central moment):
     120 (1 + (12v)^{1/(1+ε)}) ln T √(2dL) T^{1/(1+ε)} + 5 √(2TL) */
  function theorem1(T, d, K, v, delta, eps) {
    requireAtLeast("dim", d, 1);
    requirePositive("v", v);
    requireEps(eps);
    const L = logTerm(T, K, delta);
    const power = 1 / (1 + eps);
    const main = 120 * (1 + (12 * v) ** power) * Math.log(T) * Math.sqrt(2 * d * L) * T ** power;
    return main + 5 * Math.sqrt(2 * T * L);
  }

  /* theory.theorem2 (Theorem 2, SupBTC; v bounds the raw moment):
     2√T + 40 ln T √(dT) + 40 (⅔L + √(2Lv) + v) ln T √d T^{1/(1+ε)} */
  function theorem2(T, d, K, v, delta, eps) {
    requireAtLeast("dim", d, 1);
    requirePositive("v", v);
    requireEps(eps);
    const L = logTerm(T, K, delta);
    const width = (2 / 3) * L + Math.sqrt(2 * L * v) + v;
    return (
      2 * Math.sqrt(T) +
      40 * Math.log(T) * Math.sqrt(d * T) +
      40 * width * Math.log(T) * Math.sqrt(d) * T ** (1 / (1 + eps))
    );
  }

  /* theory.theorem3 (Theorem 3): (1/32) (d−1)^{ε/(1+ε)} T^{1/(1+ε)} */
  function theorem3(T, d, eps) {
    requireAtLeast("horizon", T, 3);
    requireAtLeast("dim", d, 1);
    requireEps(eps);
    return (1 / 32) * (d - 1) ** (eps / (1 + eps)) * T ** (1 / (1 + eps));
  }

  /* theory.theorem3_gamma (Theorem 3): γ = (K/(T+2K))^{1/(1+ε)} */
  function theorem3Gamma(T, K, eps) {
    requireAtLeast("horizon", T, 3);
    requireAtLeast("n_arms", K, 1);
    requireEps(eps);
    return (K / (T + 2 * K)) ** (1 / (1 + eps));
  }

  /* theory.theorem3_applies (Theorem 3): T ≥ K ≥ 4, T ≥ (2d)^{(1+ε)/(2ε)}, d ≥ K */
  function theorem3Applies(T, d, K, eps) {
    requireAtLeast("horizon", T, 3);
    requireAtLeast("dim", d, 1);
    requireAtLeast("n_arms", K, 1);
    requireEps(eps);
    // In logarithms, because the power overflows as ε falls to 0.
    const longEnough = Math.log(T) >= ((1 + eps) / (2 * eps)) * Math.log(2 * d);
    return T >= K && K >= 4 && longEnough && d >= K;
  }

  /* The least T of theorem3Applies when K ≥ 4 and d ≥ K (Theorem 3): (2d)^{(1+ε)/(2ε)} */
  function theorem3Printed(d, K, eps) {
    requireEps(eps);
    requireAtLeast("n_arms", K, 4);
    requireAtLeast("dim", d, K);
    return (2 * d) ** ((1 + eps) / (2 * eps));
  }

  /* theory.theorem3_repaired (notebook 05, no statement of the paper):
     max(2d, 0.38^{(1+ε)/ε} (d−1)((d−1)/K)^{(1+ε)/(2ε)}), for d ≥ K+1 and K ≥ 4 */
  function theorem3Repaired(d, K, eps) {
    requireEps(eps);
    requireAtLeast("n_arms", K, 4);
    requireAtLeast("dim", d, K + 1);
    // In logarithms, because the power overflows as ε falls to 0.
    const root = Math.log(0.38) + Math.log((d - 1) / K) / 2;
    const logNeeded = Math.log(d - 1) + ((1 + eps) / eps) * root;
    return Math.max(2 * d, logNeeded < 700 ? Math.exp(logNeeded) : Infinity);
  }

  /* What uniform play costs on Theorem 3's construction with the printed γ (notebook 05):
     Tγ^ε (1 − 1/K), exactly. With moments of at most 2 no instance of the kind costs more than
     twice that. */
  function uniformOnConstruction(T, K, eps) {
    return T * theorem3Gamma(T, K, eps) ** eps * (1 - 1 / K);
  }

  /* theory.horizon_of_use (no statement): the T from which on bound(T) < ρT */
  function horizonOfUse(bound, regretPerPlay, start = 3, stop = 1e300) {
    requirePositive("regret_per_play", regretPerPlay);
    requirePositive("start", start);
    requireAtLeast("stop", stop, start);
    const useless = (T) => !(bound(T) < regretPerPlay * T);
    // bound(T)/T can rise before it falls, so the last crossing is looked for from above.
    const last = 1 + Math.ceil(10 * Math.log(stop / start));
    const step = (Math.log10(stop) - Math.log10(start)) / last;
    const grid = (i) => (i <= 0 ? start : i === last ? stop : 10 ** (Math.log10(start) + i * step));
    let i = last;
    while (i > 0 && !Number.isFinite(bound(grid(i)))) i -= 1; // overflow says nothing of the bound
    if (useless(grid(i))) return Infinity;
    while (i > 0 && !useless(grid(i - 1))) i -= 1;
    if (i === 0) return start;
    let low = grid(i - 1);
    let high = grid(i);
    for (;;) {
      const middle = low * Math.sqrt(high / low);
      if (!(low < middle && middle < high)) return high;
      if (useless(middle)) low = middle;
      else high = middle;
    }
  }

  // Numbers in words

  const LARGEST = "10²⁹⁵"; // horizonOfUse looks at least this far before K/δ makes L overflow

  function superscript(exponent) {
    return String(exponent).replace(/./g, (sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] || "⁻");
  }

  /* x with as many digits after the first as asked for: 4.1·10⁷, 2,795, 0.08 */
  function rounded(x, more = 1) {
    if (x === 0) return "0";
    const [mantissa, exponent] = x.toExponential(more).split("e");
    const power = Number(exponent);
    if (power >= 5 || power < -3) {
      const times = Number(mantissa) === x / 10 ** power ? String(Number(mantissa)) : mantissa;
      return times === "1" ? `10${superscript(power)}` : `${times}·10${superscript(power)}`;
    }
    if (power >= 2) return Math.round(x).toLocaleString("en");
    return String(Number(x.toPrecision(more + 1)));
  }

  /* A number that the reader chose: every digit of it, up to six */
  function chosen(x) {
    let more = 0;
    while (more < 5 && Number(x.toExponential(more)) !== x) more += 1;
    if (x >= 1e5 || x < 1e-3) return rounded(x, more);
    return Number.isInteger(x) ? x.toLocaleString("en") : String(Number(x.toPrecision(more + 1)));
  }

  // What the setting gives: all numbers of the page, in one place

  const POLICIES = { theorem1: "SupBMM", theorem2: "SupBTC" };
  const NAMES = { theorem1: "Theorem 1", theorem2: "Theorem 2" };

  function upperBound(id, s) {
    const formula = id === "theorem1" ? theorem1 : theorem2;
    const v = id === "theorem1" ? s.v : s.raw;
    return (T) => formula(T, s.d, s.K, v, s.delta, s.eps);
  }

  function upper(id, s) {
    const bound = upperBound(id, s);
    const at = bound(s.T);
    const plays = id === "theorem1" ? playsPerRound(s.T, s.K, s.delta) : 1;
    let state = "speaks";
    if (plays > s.T) state = "short";
    else if (!(at < TRIVIAL * s.T)) state = "silent";
    else if (!(at < s.cost * s.T)) state = "idle";
    return {
      id, bound, at, plays, state,
      trivialFrom: horizonOfUse(bound, TRIVIAL),
      uniformFrom: horizonOfUse(bound, s.cost),
    };
  }

  /* Why the lower bound does not hold at this T, or "" if its conditions are met */
  function unmet(met, name, s, leastDim, words, from, formula) {
    if (met) return "";
    if (s.K < 4) return `${name} needs K ≥ 4, and here K = ${s.K}.`;
    if (s.d < leastDim) return `${name} needs d ≥ ${words}, and here d = ${s.d} and K = ${s.K}.`;
    return `${name} needs T ≥ ${formula} = ${rounded(from)}, and here T = ${chosen(s.T)}.`;
  }

  function lower(s) {
    const printed = s.K >= 4 && s.d >= s.K ? theorem3Printed(s.d, s.K, s.eps) : NaN;
    const repaired = s.K >= 4 && s.d > s.K ? theorem3Repaired(s.d, s.K, s.eps) : NaN;
    const applies = theorem3Applies(s.T, s.d, s.K, s.eps);
    const proved = s.T >= repaired; // not if repaired is NaN, where there is no such T
    const at = theorem3(s.T, s.d, s.eps);
    const onConstruction = uniformOnConstruction(s.T, s.K, s.eps);
    let state = "stands";
    if (!applies) state = "unmet";
    else if (2 * onConstruction < at) state = "false";
    else if (onConstruction < at) state = "unsupported";
    else if (s.d === s.K) state = "stageless";
    return {
      printed, repaired, applies, at, onConstruction, state,
      proved,
      whyNotPrinted: unmet(applies, "Theorem 3", s, s.K, "K", printed, "(2d)^((1+ε)/(2ε))"),
      whyNotRepaired: unmet(
        proved, "Theorem 3′", s, s.K + 1, "K + 1", repaired,
        "max{2d, 0.38^((1+ε)/ε)(d−1)((d−1)/K)^((1+ε)/(2ε))}",
      ),
    };
  }

  function evaluate(s) {
    return { theorem1: upper("theorem1", s), theorem2: upper("theorem2", s), lower: lower(s) };
  }

  // The sentences

  function upperSentence(s, u) {
    const T = chosen(s.T);
    const [name, policy] = [NAMES[u.id], POLICIES[u.id]];
    if (u.state === "short") {
      const why = `${policy} plays its arm ${u.plays} times per round, and T is too short for one`;
      return `At T = ${T} ${name} says nothing: ${why}.`;
    }
    const promise = `At T = ${T} ${name} promises at most ${rounded(u.at)}`;
    const most = `the ${rounded(TRIVIAL * s.T)} that no policy can exceed`;
    const uniform = rounded(s.cost * s.T);
    const before = (horizon) =>
      Number.isFinite(horizon) ? `before T = ${rounded(horizon)}` : `at any T up to ${LARGEST}`;
    const later = before(u.uniformFrom);
    if (u.state === "silent") {
      const silent = `${promise}, more than ${most}: it says nothing ${before(u.trivialFrom)}`;
      return Number.isFinite(u.trivialFrom)
        ? `${silent}, and nothing against uniform play ${later}.`
        : `${silent}.`;
    }
    if (u.state === "idle") {
      const but = `but uniform play costs ${uniform}: against it the bound says nothing ${later}`;
      return `${promise}, less than ${most}, ${but}.`;
    }
    const better = `but for a chance of ${chosen(s.delta)}, ${policy} does better`;
    const since = rounded(u.uniformFrom);
    return `${promise}, less than the ${uniform} that uniform play costs: ${better}, from T = ${since} on.`;
  }

  function printedSentence(l) {
    if (l.state === "unmet") return l.whyNotPrinted;
    const [value, here] = [rounded(l.at, 3), rounded(l.onConstruction, 3)];
    const most = rounded(2 * l.onConstruction, 3);
    const reason = {
      stands: `; on its construction uniform play costs ${here}.`,
      stageless: "; with d = K its construction has no stage, but the bound can be had in another way.",
      unsupported: `. Its construction does not show that: uniform play costs ${here} there.`,
      false:
        ". That is false: with the printed γ and moments of at most 2, uniform play costs " +
        `no more than ${most} on any such instance.`,
    }[l.state];
    const claim = "Theorem 3 as printed claims that for every algorithm there is an instance";
    return `${claim} that costs it at least ${value} in expectation${reason}`;
  }

  function repairedSentence(l) {
    if (l.whyNotRepaired) return l.whyNotRepaired;
    const proved = `Theorem 3′, with γ chosen anew, is proved from T = ${rounded(l.repaired)} on`;
    const instance = "for every algorithm there is an instance that costs it";
    return `${proved}: ${instance} at least ${rounded(l.at, 3)} in expectation.`;
  }

  /* The one sentence that is read out when something changes */
  function summary(s, { theorem1: one, theorem2: two, lower: l }) {
    const clause = {
      silent: (who, s) => `${who} say${s} nothing`,
      short: (who) => `${who} has no round to speak of`,
      idle: (who, s) => `${who} promise${s} less than 2 per play but not less than uniform play costs`,
      speaks: (who, s) => `${who} promise${s} less than uniform play costs`,
    };
    const clauses =
      one.state === two.state
        ? [clause[one.state]("Theorems 1 and 2", "")]
        : [one, two].map((u) => clause[u.state](NAMES[u.id], "s"));
    const refuted = "Theorem 3 is false as printed, read with its proof's bound of 2 on the moments";
    const printed = {
      unmet: "Theorem 3 does not apply",
      false: refuted,
      unsupported: "Theorem 3's construction does not show what it claims",
      stageless: "Theorem 3 holds, though its construction has no stage",
      stands: "Theorem 3 is claimed, but Theorem 3′ does not cover this T",
    };
    const repaired = {
      unmet: "Theorem 3 is proved as repaired",
      false: `${refuted}, but proved as repaired`,
      unsupported: "Theorem 3's construction does not show what it claims, but the repaired one does",
      stands: "Theorem 3 holds as repaired",
    };
    clauses.push((l.proved ? repaired : printed)[l.state]);
    const last = clauses.pop();
    return `At T = ${chosen(s.T)} ${clauses.join(", ")}, and ${last}.`;
  }

  /* Every sentence of the page, by the id of its place */
  function sentences(s, found = evaluate(s)) {
    return {
      "bounds-summary": summary(s, found),
      "bounds-say-theorem1": upperSentence(s, found.theorem1),
      "bounds-say-theorem2": upperSentence(s, found.theorem2),
      "bounds-say-theorem3": printedSentence(found.lower),
      "bounds-say-theorem3-repaired": repairedSentence(found.lower),
    };
  }

  // The drawing: regret against plays, both axes logarithmic

  const DECADES = [2, 16]; // of T
  const SAMPLES = 140;
  const SVG = "http://www.w3.org/2000/svg"; // a name that every browser knows: nothing is fetched

  function svg(parent, tag, attributes, text = "") {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.textContent = text;
    parent.append(node);
    return node;
  }

  /* The lines from top to bottom of the legend; `from` is the first T at which a line is drawn. */
  function lines(s, found) {
    const claim = (T) => theorem3(T, s.d, s.eps);
    return [
      { id: "theorem1", label: "Theorem 1", value: found.theorem1.bound, from: 0 },
      { id: "theorem2", label: "Theorem 2", value: found.theorem2.bound, from: 0 },
      { id: "trivial", label: "2 per play", value: (T) => TRIVIAL * T, from: 0 },
      { id: "uniform", label: "uniform", value: (T) => s.cost * T, from: 0 },
      // The repaired bound first, as a broad band: the printed one is the same line and lies on it.
      { id: "theorem3-repaired", label: "Thm 3′", value: claim, from: found.lower.repaired },
      { id: "theorem3", label: "Theorem 3", value: claim, from: found.lower.printed },
    ];
  }

  function samples(line) {
    const points = [];
    const [first, last] = [Math.max(DECADES[0], Math.log10(line.from || 1)), DECADES[1]];
    if (Number.isNaN(line.from) || !(first < last)) return points;
    for (let i = 0; i <= SAMPLES; i += 1) {
      const x = first + ((last - first) * i) / SAMPLES;
      points.push([x, Math.log10(line.value(10 ** x))]);
    }
    return points;
  }

  /* Labels at the right edge, moved apart so that none covers another */
  function spread(labels, gap, top, bottom) {
    labels.sort((a, b) => a.y - b.y);
    let free = top;
    for (const label of labels) {
      label.at = Math.max(label.y, free);
      free = label.at + gap;
    }
    let limit = bottom;
    for (const label of [...labels].reverse()) {
      label.at = Math.min(label.at, limit);
      limit = label.at - gap;
    }
  }

  function draw(host, s, found) {
    const width = Math.max(280, host.clientWidth);
    const height = Math.round(Math.min(440, Math.max(320, 0.6 * width)));
    const box = { left: 42, right: width - 84, top: 30, bottom: height - 40 };
    const drawn = lines(s, found).map((line) => ({ ...line, points: samples(line) }));
    const heights = drawn.flatMap((line) => line.points.map((p) => p[1])).filter(Number.isFinite);
    const low = Math.min(0, Math.floor(Math.min(...heights)));
    const high = Math.max(18, Math.ceil(Math.max(...heights)));
    const x = (decade) =>
      box.left + ((decade - DECADES[0]) / (DECADES[1] - DECADES[0])) * (box.right - box.left);
    const y = (decade) => box.bottom - ((decade - low) / (high - low)) * (box.bottom - box.top);
    const place = ([a, b]) => `${x(a).toFixed(2)},${y(b).toFixed(2)}`;

    const root = svg(host.ownerDocument.createDocumentFragment(), "svg", {
      viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
      "aria-labelledby": "bounds-title bounds-desc",
    });
    const write = (words, left, down, anchor, look = "") =>
      svg(root, "text", { x: left, y: down, "text-anchor": anchor, class: look }, words);
    svg(root, "title", { id: "bounds-title" }, "Regret bounds against the number of plays");
    const where = "The sentences and tables on this page say what the lines show.";
    svg(root, "desc", { id: "bounds-desc" }, `Both axes are logarithmic. ${where}`);

    // Above 2T no policy can be: a bound that lies there says nothing.
    const [west, east] = DECADES.map((t) => place([t, Math.log10(TRIVIAL) + t]));
    const [above, beside] = [place([DECADES[1], high]), place([DECADES[0], high])];
    svg(root, "path", { class: "hb-nothing", d: `M${west}L${east}L${above}L${beside}Z` });
    write("a bound up here says nothing", box.left + 8, box.top + 15, "start");

    const every = width < 520 ? 4 : 2;
    const power = (t) => (t === 0 ? "1" : `10${superscript(t)}`);
    for (let t = DECADES[0]; t <= DECADES[1]; t += every) {
      svg(root, "line", { x1: x(t), x2: x(t), y1: box.top, y2: box.bottom, class: "hb-grid" });
      write(power(t), x(t), box.bottom + 16, "middle");
    }
    for (let t = Math.ceil(low / every) * every; t <= high; t += every) {
      svg(root, "line", { x1: box.left, x2: box.right, y1: y(t), y2: y(t), class: "hb-grid" });
      write(power(t), box.left - 6, y(t) + 4, "end");
    }
    write("plays T", (box.left + box.right) / 2, height - 6, "middle");
    write("regret", 2, 14, "start");

    const now = x(Math.log10(s.T));
    svg(root, "line", { x1: now, x2: now, y1: box.top, y2: box.bottom, class: "hb-now" });
    // Beside the word "regret" and not beyond the right edge.
    const middle = Math.min(Math.max(now, box.left + 50), box.right);
    write(`T = ${chosen(s.T)}`, middle, box.top - 8, "middle");

    const labels = [];
    for (const line of drawn) {
      const d = line.points.length ? `M${line.points.map(place).join("L")}` : "";
      svg(root, "path", { id: `bounds-path-${line.id}`, class: `hb-line hb-${line.id}`, d });
      if (!line.points.length) continue;
      labels.push({ ...line, y: y(line.points[line.points.length - 1][1]) });
      if (s.T < line.from) continue;
      const dot = { cx: now, cy: y(Math.log10(line.value(s.T))), r: 3.5 };
      svg(root, "circle", { ...dot, class: `hb-dot hb-${line.id}` });
    }
    // A ring where a bound begins to say something: at 2 per play.
    for (const { id, trivialFrom } of [found.theorem1, found.theorem2]) {
      const at = Math.log10(trivialFrom);
      if (at > DECADES[1]) continue;
      const ring = { cx: x(at), cy: y(at + Math.log10(TRIVIAL)), r: 6 };
      svg(root, "circle", { ...ring, class: `hb-ring hb-${id}` });
    }
    spread(labels, 15, box.top + 4, box.bottom);
    for (const { id, label, y: from, at } of labels) {
      const d = `M${box.right},${from}L${box.right + 8},${at}H${box.right + 14}`;
      svg(root, "path", { class: `hb-line hb-lead hb-${id}`, d });
      write(label, box.right + 17, at + 4, "start", `hb-label hb-${id}`);
    }
    host.replaceChildren(root);
  }

  // Controls: a slider over round numbers and a field for any number, for each parameter

  const STEPS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];

  /* Round numbers from min to max, ten to a power of ten; whole numbers only, if so asked */
  function ladder(min, max, whole) {
    const values = [];
    for (let k = Math.floor(Math.log10(min)); k <= Math.log10(max); k += 1) {
      values.push(...STEPS.map((m) => Number(`${m}e${k}`)));
    }
    return values.filter((x) => x >= min && x <= max && (!whole || Number.isInteger(x)));
  }

  const HUNDREDTHS = Array.from({ length: 96 }, (_, i) => (i + 5) / 100);

  // T and ε first, next to the drawing that they change most.
  const PARAMETERS = [
    { id: "T", name: "T", label: "T, plays", min: 100, max: 1e16, whole: true },
    { id: "eps", name: "ε", label: "ε, of the 1+ε moment", min: 0.05, max: 1, values: HUNDREDTHS },
    { id: "d", name: "d", label: "d, dimension", min: 1, max: 20000, whole: true },
    { id: "K", name: "K", label: "K, arms", min: 2, max: 1000, whole: true },
    { id: "v", name: "the central moment v", label: "v, central (SupBMM)", min: 0.001, max: 1000 },
    { id: "raw", name: "the raw moment v", label: "v, raw (SupBTC)", min: 0.001, max: 1000 },
    { id: "delta", name: "δ", label: "δ, chance of failure", min: 1e-6, max: 0.5 },
    { id: "cost", name: "uniform play's cost", label: "uniform play's cost per play", min: 0.001, max: 2 },
  ];

  // Section 6 prints all but T and uniform play's cost, which notebook 03 measures.
  const SECTION6 = { T: 1e5, eps: 1, d: 10, K: 20, v: 3, raw: 4, delta: 0.01, cost: 0.08 };
  const SMALL_WORLD = { ...SECTION6, T: 1e10, d: 2, K: 4, v: 0.0027, raw: 1.0027, cost: 0.73 };
  /* A setting about Theorem 3: its moments are at most 2, and uniform play costs what it does on the
     printed construction for this T, to three digits. Section 6's cost is of another instance. */
  function construction(T, d, K) {
    const cost = Number((uniformOnConstruction(T, K, SECTION6.eps) / T).toPrecision(3));
    return { ...SECTION6, T, d, K, v: 2, raw: 2, cost };
  }
  const PRESETS = [
    { label: "Section 6", setting: SECTION6 },
    { label: "Small world (notebook 03)", setting: SMALL_WORLD },
    { label: "Theorem 3′ proved", setting: construction(1e4, 41, 4) },
    { label: "Theorem 3 refuted", setting: construction(1e6, 16001, 4) },
  ];

  /* Why a text is no value for a parameter, or "" if it is one */
  function refusal(parameter, text) {
    const value = text.trim() === "" ? NaN : Number(text);
    const fits = value >= parameter.min && value <= parameter.max;
    if (fits && (!parameter.whole || Number.isInteger(value))) return "";
    const kind = parameter.whole ? "a whole number" : "a number";
    const range = `${kind} from ${chosen(parameter.min)} to ${chosen(parameter.max)}`;
    return `${parameter.name} is "${text}", but must be ${range}.`;
  }

  function nearest(values, x) {
    const distance = (value) => Math.abs(Math.log(value / x));
    return values.reduce((best, value, i) => (distance(value) < distance(values[best]) ? i : best), 0);
  }

  function html(parent, tag, attributes, text = "") {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.textContent = text;
    parent.append(node);
    return node;
  }

  function say(id, words) {
    const node = document.getElementById(id);
    const kept = words.replace(/ ([=≥]) /g, "\u00a0$1\u00a0"); // no line ends at such a sign
    if (node.textContent !== kept) node.textContent = kept; // or it would be read out again
  }

  function fill(id, value, words) {
    const cell = document.getElementById(id);
    cell.textContent = words;
    if (Number.isNaN(value)) delete cell.dataset.value;
    else cell.dataset.value = String(value);
  }

  function fillHorizon(id, T) {
    if (Number.isNaN(T)) fill(id, T, "never");
    else fill(id, T, Number.isFinite(T) ? rounded(T) : `beyond ${LARGEST}`);
  }

  function start(page) {
    const setting = { ...SECTION6 };
    const controls = {};
    let pending = 0;

    function remember() {
      // In the query, because a fragment is where the book keeps its headings. Other keys stay.
      const address = new URL(window.location.href);
      const same = PARAMETERS.every(({ id }) => setting[id] === SECTION6[id]);
      for (const { id } of PARAMETERS) {
        if (same) address.searchParams.delete(id);
        else address.searchParams.set(id, String(setting[id]));
      }
      try {
        window.history.replaceState(window.history.state, "", address);
      } catch {
        // A browser may forbid it for a page opened from a file: then the address stays as it is.
      }
    }

    function show() {
      const found = evaluate(setting);
      for (const id of ["theorem1", "theorem2"]) {
        const u = found[id];
        fill(`bounds-at-${id}`, u.at, rounded(u.at));
        fillHorizon(`bounds-trivial-${id}`, u.trivialFrom);
        fillHorizon(`bounds-uniform-${id}`, u.uniformFrom);
      }
      fill("bounds-at-trivial", TRIVIAL * setting.T, rounded(TRIVIAL * setting.T));
      fill("bounds-at-uniform", setting.cost * setting.T, rounded(setting.cost * setting.T));
      const l = found.lower;
      fill("bounds-at-theorem3", l.applies ? l.at : NaN, l.applies ? rounded(l.at, 3) : "nothing");
      fill(
        "bounds-at-theorem3-repaired", l.proved ? l.at : NaN, l.proved ? rounded(l.at, 3) : "nothing",
      );
      fillHorizon("bounds-from-theorem3", l.printed);
      fillHorizon("bounds-from-theorem3-repaired", l.repaired);
      for (const [id, words] of Object.entries(sentences(setting, found))) say(id, words);
      for (const { id } of PARAMETERS) {
        const { slider, field, output, values } = controls[id];
        slider.value = String(nearest(values, setting[id]));
        slider.setAttribute("aria-valuetext", chosen(setting[id]));
        output.textContent = chosen(setting[id]);
        if (document.activeElement !== field) {
          const short = setting[id] >= 1e6 ? setting[id].toExponential() : String(setting[id]);
          field.value = short.replace("+", "");
          field.removeAttribute("aria-invalid");
        }
      }
      draw(document.getElementById("bounds-plot"), setting, found);
    }

    function change(values) {
      Object.assign(setting, values);
      say("bounds-note", "");
      show();
      // Browsers limit how often an address may change: it does so when the hand rests.
      window.clearTimeout(pending);
      pending = window.setTimeout(remember, 150);
    }

    function addControl(parameter, parent) {
      const { id, label, min, max, whole } = parameter;
      const values = parameter.values || ladder(min, max, whole);
      const row = html(parent, "div", { class: "hb-control" });
      html(row, "label", { for: `bounds-${id}` }, label);
      const ids = `bounds-${id} bounds-${id}-exact`;
      const output = html(row, "output", { id: `bounds-${id}-output`, for: ids });
      const slider = html(row, "input", {
        type: "range", id: `bounds-${id}`, min: 0, max: values.length - 1, step: 1,
      });
      const field = html(row, "input", {
        type: "number", id: `bounds-${id}-exact`, min, max, step: whole ? 1 : "any",
        "aria-label": `${label}: exact value`, "aria-describedby": "bounds-note",
        autocomplete: "off",
      });
      slider.addEventListener("input", () => change({ [id]: values[Number(slider.value)] }));
      field.addEventListener("input", () => {
        const why = refusal(parameter, field.value);
        if (why) {
          field.setAttribute("aria-invalid", "true");
          say("bounds-note", why);
        } else {
          field.removeAttribute("aria-invalid");
          change({ [id]: Number(field.value) });
        }
      });
      // What was refused does not stay in the field while the page shows something else.
      field.addEventListener("blur", () => {
        say("bounds-note", "");
        show();
      });
      controls[id] = { slider, field, output, values };
    }

    const sliders = page.querySelector(".hb-controls");
    for (const parameter of PARAMETERS) addControl(parameter, sliders);
    const buttons = page.querySelector(".hb-presets");
    for (const { label, setting: preset } of PRESETS) {
      html(buttons, "button", { type: "button" }, label).addEventListener("click", () => change(preset));
    }

    const notes = [];
    const query = new URLSearchParams(window.location.search);
    for (const parameter of PARAMETERS) {
      const text = query.get(parameter.id);
      if (text === null) continue;
      const why = refusal(parameter, text);
      if (why) notes.push(`In the address, ${why}`);
      else setting[parameter.id] = Number(text);
    }
    page.hidden = false; // before it is drawn, because what is hidden has no width
    show();
    say("bounds-note", notes.join(" "));

    // The theme adds and removes columns after the page has loaded, without the window changing.
    const plot = document.getElementById("bounds-plot");
    let width = plot.clientWidth;
    new ResizeObserver(() => {
      if (plot.clientWidth === width) return;
      width = plot.clientWidth;
      draw(plot, setting, evaluate(setting));
    }).observe(plot);
  }

  window.heavybanditBounds = {
    TRIVIAL, logTerm, playsPerRound, theorem1, theorem2, theorem3, theorem3Gamma, theorem3Applies,
    theorem3Printed, theorem3Repaired, uniformOnConstruction, horizonOfUse, sentences,
  };

  const page = document.getElementById("bounds");
  if (page) start(page);
})();
