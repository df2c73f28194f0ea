/* What belongs together stays in one line: an equation, a number and its sign, a statement and its
   number. Apostrophes of tables are set as those of the text are. */

"use strict";

(() => {
  const NAMED = "Theorem|Lemma|Proposition|Algorithm|Section|Figure|Assumption|Reading|step|stage|item|seed|" +
    "[Nn]otebook|[Cc]hapter";
  const OPERATIONS = [/(?<=\S) (?=[±+−×] )/g, /(?<=\s[±+−×]) /g]; // which a narrow head may break at
  const PASSED = "pre, code, script, .math, #bounds, #explorer, #regrets"; // scripts write the last three
  const TIES = [
    /(?<=\S) (?=[=≥≤<>≈] )/g, // before the sign of a relation, and …
    /(?<=\s[=≥≤<>≈]|^[+−]) /g, // … after it
    /(?<=\d) (?=%)/g,
    /(?<=\bStudent’s) (?=t\b)/g,
    new RegExp(`(?<=\\b(?:${NAMED})s?) (?=\\d)`, "g"),
  ];

  document.addEventListener("DOMContentLoaded", () => {
    const article = document.querySelector(".bd-article");
    if (!article) return;
    const walk = document.createTreeWalker(article, NodeFilter.SHOW_TEXT, (node) =>
      node.parentElement.closest(PASSED) ? NodeFilter.FILTER_REJECT
        : NodeFilter.FILTER_ACCEPT);
    while (walk.nextNode()) {
      const set = walk.currentNode.data.replace(/(?<=\w)'(?!\w{2})/g, "’");
      const ties = walk.currentNode.parentElement.closest("thead") ? TIES : [...TIES, ...OPERATIONS];
      const tied = ties.reduce((text, tie) => text.replace(tie, "\u00a0"), set)
        .replace(/[^ ]{32,}/g, (long) => long.replace(/\u00a0(?=[=≥≤<>])/g, " ")); // longer than a line
      if (tied !== walk.currentNode.data) walk.currentNode.data = tied;
    }
    // A raised or lowered sign follows what bears it.
    for (const sign of article.querySelectorAll(":is(sup, sub)"))
      if (/\S$/.test(sign.previousSibling?.data ?? "")) sign.previousSibling.data += "\u2060";
  });
})();
