/* Where a line may not break, and how a line of code goes on when it must. */

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

// Neither an equation at its sign, nor a number before its unit, nor a mark before its word, nor a proof
// before its end.
const TIES = [
  /(?<=\S|^)[ \n](?=[=≥≤<>≈±+−×]\s)/g, // before the sign of a relation or an operation, and …
  /(?<=\s[=≥≤<>≈±+−×])[ \n](?=\S|$)/g, // … after it
  /(?<=[\d½])[ \n](?=(?:s|ms|µs|MB)\b)/g,
  /[ \n](?=[%∎])/g,
  /(?<=[✓✎↻✗])[ \n]/g,
];

document.addEventListener("DOMContentLoaded", () => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode;
    if (text.parentElement.closest("pre, code, script, style, .math")) continue;
    const tied = TIES.reduce((words, tie) => words.replace(tie, "\u00a0"), text.data);
    if (tied !== text.data) text.data = tied;
  }

  const article = document.querySelector(".bd-article") ?? document.body;

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
