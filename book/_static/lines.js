/* What belongs together stays in one line: an equation, a number and its unit, a statement and its number.
   Apostrophes of tables are set as those of the text are. And how a line of code goes on that must be
   broken. */

"use strict";

/* The spaces before a line's first word and that word's first letter as one: else a line whose first word
   is too long would begin with an empty one. */
function keepSpaces(line) {
  const walk = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode;
    if (text.parentElement.matches(".linenos") || !text.data.trim()) continue;
    const start = document.createRange();
    start.setStart(line, 0);
    start.setEnd(text, /\S/.exec(text.data).index + 1);
    const together = document.createElement("span");
    together.className = "line-start";
    together.append(start.extractContents());
    line.prepend(together);
    return;
  }
}

const NAMED = "Theorem|Lemma|Proposition|Algorithm|Section|Figure|Assumption|Reading|step|stage|item|seed|" +
  "[Nn]otebook|[Cc]hapter";
const TIES = [
  /(?<=\S|^)[ \n](?=[=≥≤<>≈±]\s)/g, // before the sign of a relation, and …
  /(?<=\s[=≥≤<>≈±]|^[+−])[ \n](?=\S|$)/g, // … after it
  /(?<=[\d½])[ \n](?=(?:s|ms|µs|MB)\b)/g, // a number and its unit
  /[ \n](?=[%∎])/g,
  /(?<=[✓✎↻✗])[ \n]/g, // a mark and its word
  /(?<=\bStudent’s)[ \n](?=t\b)/g,
  new RegExp(`(?<=\\b(?:${NAMED})s?)[ \\n](?=\\d)`, "g"),
];
const OPERATIONS = [/(?<=\S|^)[ \n](?=[+−×]\s)/g, /(?<=\s[+−×])[ \n](?=\S|$)/g]; // but in a narrow head
const PASSED = "pre, code, script, style, .math, #bounds, #explorer, #regrets"; // scripts write the last three

document.addEventListener("DOMContentLoaded", () => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode;
    if (text.parentElement.closest(PASSED)) continue;
    const set = text.data.replace(/(?<=\w)'(?!\w{2})/g, "’");
    const ties = text.parentElement.closest("thead") ? TIES : [...TIES, ...OPERATIONS];
    const tied = ties.reduce((words, tie) => words.replace(tie, "\u00a0"), set)
      .replace(/(?<=[|–-])\u00a0/g, "\u2060\u00a0") // after these such a space alone does not hold
      .replace(/[^ \n]{36,}/g, (long) => long.replace(/\u00a0(?=[=≥≤<>])/g, " ")); // longer than a line
    if (tied !== text.data) text.data = tied;
  }

  const article = document.querySelector(".bd-article") ?? document.body;

  // A raised or lowered sign follows what bears it.
  for (const sign of article.querySelectorAll(":is(sup, sub)"))
    if (/\S$/.test(sign.previousSibling?.data ?? "")) sign.previousSibling.data += "\u2060";

  // A line of code that is too long goes on below its own beginning, a little further in.
  for (const code of article.querySelectorAll(".highlight pre")) {
    // Pygments closes its spans at the end of each line, so a line is whole markup.
    code.innerHTML = code.innerHTML
      .replace(/\n$/, "")
      .split("\n")
      .map((line) => `<span class="line">${line}\n</span>`)
      .join("");
    for (const line of code.querySelectorAll(".line")) {
      const number = line.querySelector(".linenos")?.textContent.length ?? 0;
      const begins = /\S|$/.exec(line.textContent.slice(number)).index;
      line.style.setProperty("--in", `${number + begins + (number ? 3 : 2)}ch`);
      if (begins) keepSpaces(line);
    }
  }
});
