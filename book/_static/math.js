/* No formula is wider than its block. MathJax sets a formula in one line. One that is too wide is set
   again from its TeX: inline in pieces between which the line may break, displayed a little smaller or,
   where that is not enough, in several lines. What is still too wide is set smaller. Where the room
   changes, all of it is done again. */

"use strict";

(() => {
  const WORDS = "le ge leq geq ll gg lt gt approx sim to gets in ne neq iff implies mapsto quad qquad " +
    "Longrightarrow Rightarrow subset subseteq propto equiv parallel";
  const RELATIONS = new Set([..."=<>", ...WORDS.split(" ").map((word) => `\\${word}`)]);
  const SUMS = new Set([..."+-", "\\cdot", "\\times", "\\pm"]);
  const OPEN = /^([{([]|\\(\{|left|begin|lVert|lvert|lfloor|lceil|langle))$/;
  const CLOSE = /^([})\]]|\\(\}|right|end|rVert|rvert|rfloor|rceil|rangle))$/;

  /* TeX cut before each relation, sum or product outside all brackets, and after each comma */
  function pieces(source) {
    const tex = source.replace(/^\s*\\begin\{split\}([\s\S]*)\\end\{split\}\s*$/, "$1");
    const found = [""];
    let depth = 0;
    let previous = "";
    for (const token of tex.match(/\\[A-Za-z]+|\\.|[\s\S]/g) ?? []) {
      if (depth === 0 && /^(&|\\\\|\\tag|\\label)$/.test(token)) return [source]; // it has lines already
      const delimiter = /^\\(left|right)$/.test(previous); // its bracket was counted already
      const breaks = RELATIONS.has(token) || (SUMS.has(token) && !RELATIONS.has(previous));
      if (depth === 0 && (breaks || previous === ",") && found.at(-1).trim()) found.push("");
      if (!delimiter && OPEN.test(token)) depth += 1;
      if (!delimiter && CLOSE.test(token)) depth -= 1;
      found[found.length - 1] += token;
      if (token.trim()) previous = token;
    }
    return found.map((piece, i) => (i ? `{}${piece}` : piece));
  }

  const widthOf = (node) => node.querySelector("mjx-math")?.getBoundingClientRect().width ?? 0;

  function blockOf(node) {
    let block = node.parentElement;
    while (/^inline|contents/.test(getComputedStyle(block).display)) block = block.parentElement;
    return block;
  }

  function roomIn(block) {
    const look = getComputedStyle(block);
    return block.clientWidth - parseFloat(look.paddingLeft) - parseFloat(look.paddingRight);
  }

  const APART = /^\{\}\\q?quad/; // a formula after another one, with a space between
  const WHOLE = 0.8; // of its size, down to which a displayed formula is rather smaller than broken

  const set = (tex, display) => window.MathJax.tex2chtml(tex, { display });

  /* MathJax writes the rules of a construction when it first meets one, and thinks that it is done. */
  function writeStyles() {
    window.MathJax.startup.document.reset({ processed: true });
    window.MathJax.startup.document.updateDocument();
  }

  /* Pieces of known widths filled into lines */
  function inLines(parts, widths, room, indent) {
    const lines = [];
    let left = 0;
    parts.forEach((part, i) => {
      const next = parts.findIndex((other, j) => j > i && APART.test(other));
      const whole = widths.slice(i, next < 0 ? undefined : next).reduce((sum, x) => sum + x, 0);
      const begins = APART.test(part) && whole > left; // which rather begins a line than is broken
      if (!lines.length || widths[i] > left || begins) {
        lines.push(begins ? "" : "\\quad ");
        left = lines.length > 1 ? room - indent : room;
      }
      lines[lines.length - 1] += begins ? part.replace(APART, "") : part;
      left -= widths[i];
    });
    lines[0] = lines[0].replace("\\quad ", "");
    return `\\begin{aligned}&${lines.join("\\\\&")}\\end{aligned}`;
  }

  function held(...nodes) {
    const together = document.createElement("span");
    together.className = "with-sign";
    together.append(...nodes);
    return together;
  }

  const heads = new Map(); // an opening bracket with the first piece of a formula → where it belongs

  /* The last piece keeps the place, which may be one that the next sign must not leave; a bracket
     before the formula goes with the first piece. */
  function put(again, whole) {
    const place = whole.closest(".with-sign") ?? whole;
    const pieces = again.slice(0, -1);
    if (pieces.length && place !== whole && place.firstChild.nodeType === Node.TEXT_NODE) {
      pieces[0] = held(place.firstChild, pieces[0]);
      heads.set(pieces[0], place);
    }
    place.before(...pieces);
    whole.replaceWith(again.at(-1));
  }

  /* A comma or a full stop does not begin a line, and an opening bracket does not end one */
  function keepSigns() {
    for (const formula of document.querySelectorAll("span.math")) {
      const before = /[(“‘[]+$/.exec(formula.previousSibling?.data ?? "");
      const after = /^[.,;:!?)’”]+/.exec(formula.nextSibling?.data ?? "");
      if (!before && !after) continue;
      const together = held();
      if (before) formula.previousSibling.splitText(before.index);
      if (after) formula.nextSibling.splitText(after[0].length);
      formula.before(together);
      if (before) together.append(together.previousSibling);
      together.append(formula);
      if (after) together.append(together.nextSibling);
    }
  }

  const replaced = new Map(); // a formula as MathJax set it → what stands in its place
  let items = [];

  function restore() {
    for (const [whole, again] of replaced) {
      again.at(-1).before(whole);
      again.forEach((node) => node.remove());
    }
    replaced.clear();
    for (const [head, place] of heads) {
      place.prepend(head.firstChild);
      head.remove();
    }
    heads.clear();
    items.forEach((item) => item.typesetRoot.style.removeProperty("font-size"));
  }

  /* First all is read, then all is written, and so on: else the page would be laid out anew for
     every formula. */
  function fitAll() {
    restore();
    const found = items.filter((item) => item.typesetRoot.isConnected).map((item) => {
      const whole = item.typesetRoot;
      return { item, whole, room: roomIn(blockOf(whole)), width: widthOf(whole) };
    });
    const wide = found.filter(({ room, width }) => room > 0 && width > room);
    for (const one of wide) {
      one.parts = pieces(one.item.math);
      const single = one.item.display && !one.parts.some((part) => APART.test(part));
      if (single && WHOLE * one.width < one.room) one.parts = [one.item.math];
      one.host = one.whole.parentElement;
      const lines = one.item.display && one.parts.length > 1;
      one.measured = (lines ? one.parts : []).map((part) => set(`\\displaystyle ${part}`, false));
      one.host.append(...one.measured);
    }
    writeStyles();
    for (const one of wide) {
      one.widths = one.measured.map(widthOf);
      one.indent = 2 * parseFloat(getComputedStyle(one.host).fontSize); // \quad, and a little to spare
    }
    for (const { item, whole, parts, measured, widths, room, indent } of wide) {
      measured.forEach((node) => node.remove());
      if (parts.length < 2) continue;
      const again = item.display
        ? [set(inLines(parts, widths, room, indent), true)]
        : parts.map((part) => set(part, false));
      put(again, whole);
      replaced.set(whole, again);
    }
    writeStyles();
    const nodes = wide.flatMap(({ whole, room }) =>
      (replaced.get(whole) ?? [whole]).map((node) => ({ node, room, width: widthOf(node) })));
    for (const { node, room, width } of nodes)
      if (width > room) node.style.fontSize = `${Math.floor((100 * (room - 1)) / width)}%`;
  }

  window.addEventListener("load", () => {
    window.MathJax?.startup?.promise?.then(() => {
      items = [...window.MathJax.startup.document.math];
      keepSigns();
      fitAll();
      const article = document.querySelector(".bd-article");
      article.dataset.fitted = String(article.clientWidth);
      let pending = 0;
      new ResizeObserver(() => {
        window.clearTimeout(pending);
        if (article.dataset.fitted === String(article.clientWidth)) return;
        pending = window.setTimeout(() => {
          fitAll(); // when the width has come to rest
          article.dataset.fitted = String(article.clientWidth);
        }, 60);
      }).observe(article);
    });
  });
})();
