/* The page of the search: what it shows of a page is read in words. A formula in TeX would be shown as it
   is written; here a short one keeps its letters, and a longer one is left out. A word is not cut. */

"use strict";

document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const names = "alpha beta gamma delta epsilon eta theta kappa lambda nu rho sigma tau chi Psi Lambda le ge ln log";
  const signs = "α β γ δ ε η θ κ λ ν ρ σ τ χ Ψ Λ ≤ ≥ ln log".split(" ");
  const letters = new Map(names.split(" ").map((name, i) => [name, signs[i]]));

  function inWords(tex) {
    const bare = tex.trim().replace(/^\\[([]|\\[)\]]$/g, "").trim();
    const said = bare.replace(/\\([A-Za-z]+) ?/g, (whole, name) => letters.get(name) ?? whole);
    return said.length > 16 || /[\\{}]/.test(said) ? "…" : said;
  }

  const toText = Search.htmlToText;
  Search.htmlToText = (source, anchor) => {
    const page = new DOMParser().parseFromString(source, "text/html");
    for (const formula of page.querySelectorAll(".math")) formula.textContent = inWords(formula.textContent);
    return toText(page.documentElement.outerHTML, anchor);
  };

  const summarise = Search.makeSearchSummary;
  Search.makeSearchSummary = (...given) => {
    const summary = summarise(...given);
    if (summary) {
      summary.textContent = summary.textContent.replace(/^\.\.\.\S*\s+/, "… ").replace(/\s+\S*\.\.\.$/, " …");
    }
    return summary;
  };
});
