// On a phone a row of a table becomes a card, and each cell needs its column's name before it. A name
// is copied when its formulas are set.
window.addEventListener("load", () => {
  const name = () => {
    for (const table of document.querySelectorAll("table.table")) {
      const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
      for (const row of table.tBodies[0].rows) {
        [...row.cells].slice(1).forEach((cell, i) => {
          const words = document.createElement("span");
          words.className = "column-name";
          const head = heads[i + 1]?.cloneNode(true).childNodes ?? [];
          words.append(...head, ": ");
          cell.prepend(words);
        });
      }
    }
  };
  if (window.MathJax?.startup?.promise) window.MathJax.startup.promise.then(name);
  else name();
});

// Numbers stand right, one below the other; a column that holds words stands left, head and all.
function alignColumns(table) {
  const rows = [...table.rows].filter((row) => row.cells.length === table.rows[0].cells.length);
  const signs = /^([\d\s.,·+\-−–⁰¹²³⁴-⁹⁻%±×∞()[\]≤≥*]|\b(to|of)\b)+$/;
  const numeric = (text) => (/\d/.test(text) ? signs : /^([–\s]*|none)$/).test(text);
  [...table.rows[0].cells].forEach((_, i) => {
    const body = rows.filter((row) => row.parentElement.tagName === "TBODY").map((row) => row.cells[i]);
    for (const head of rows.map((row) => row.cells[i]).filter((cell) => !body.includes(cell))) {
      head.classList.toggle("long", head.textContent.length > 12);
      head.classList.toggle("longer", head.textContent.length > 24);
    }
    if (body.every((cell) => numeric(cell.textContent))) return;
    for (const row of rows) row.cells[i].classList.add("words");
    for (const cell of body) cell.classList.toggle("long", cell.textContent.length > 24);
  });
}

function goesOn(place) {
  const more = place.scrollWidth - place.clientWidth - place.scrollLeft > 1;
  place.classList.toggle("more", more && place.hasAttribute("tabindex"));
  if (!more) return;
  place.style.setProperty("--caption", `${place.querySelector("caption")?.offsetHeight ?? 0}px`);
}

// A table has its short cells in one line each, smaller if need be or if its head would be tall; only
// then are they broken. What is wider than its place all the same scrolls there, by keys too, and fades
// where it goes on. What does not scroll is no stop.
document.addEventListener("DOMContentLoaded", () => {
  const places = [];
  for (const table of document.querySelectorAll(".cell_output table.dataframe")) {
    const place = document.createElement("div");
    table.replaceWith(place);
    place.append(table);
    place.addEventListener("scroll", () => goesOn(place), { passive: true });
    places.push(place);
    alignColumns(table);
  }
  const isWide = (place) => place.scrollWidth > place.clientWidth + 1;
  const words = document.createRange();
  const linesOf = (cell) => {
    words.selectNodeContents(cell);
    return new Set([...words.getClientRects()].map((box) => Math.round(box.top))).size;
  };
  const isTall = (place, most) => [...place.querySelectorAll("thead th")].some((head) => linesOf(head) > most);
  const mark = () => {
    for (const place of places) {
      place.removeAttribute("tabindex");
      place.querySelector("caption")?.style.removeProperty("width");
    }
    let wide = places;
    for (const ways of ["whole", "whole tight", "tight", "whole tight roomy"]) {
      for (const place of wide) place.className = `wide-table ${ways}`;
      const last = ways.endsWith("roomy"); // all are read after all are written
      wide = wide.filter((place) => isWide(place) || (!last && isTall(place, ways === "whole" ? 3 : 4)));
    }
    for (const place of places) { // tables of one cell are set alike
      const beside = place.closest(".cell_output")?.querySelector(".wide-table.tight");
      if (beside && !place.classList.contains("tight")) place.className = "wide-table whole tight";
    }
    for (const place of places) {
      const scrolls = wide.includes(place);
      const caption = place.querySelector("caption");
      const name = caption?.textContent ?? "table";
      if (caption && scrolls) caption.style.width = `${place.clientWidth}px`; // to be read unscrolled
      for (const [key, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", name]]) {
        if (scrolls) place.setAttribute(key, value);
        else place.removeAttribute(key);
      }
    }
    places.forEach(goesOn);
  };
  new ResizeObserver(mark).observe(document.querySelector(".bd-article") ?? document.body);
});

// Buttons that show the claims of one verdict. They are made from the table itself, so that without
// JavaScript the table is simply complete, and the counts cannot differ from its rows.
document.addEventListener("DOMContentLoaded", () => {
  const table = document.querySelector("table.claims");
  if (!table) return;
  const rows = [...table.tBodies[0].rows];
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  const verdicts = new Map(rows.map((row) => [row, row.cells[names.indexOf("verdict")].textContent.trim()]));
  const verdictOf = (row) => verdicts.get(row); // as it was before columns were named on a phone

  const counts = new Map([["all", rows.length]]);
  rows.forEach((row) => counts.set(verdictOf(row), (counts.get(verdictOf(row)) ?? 0) + 1));

  const filters = document.createElement("div");
  filters.className = "claims-filters";
  filters.setAttribute("role", "group");
  filters.setAttribute("aria-label", "Show claims by verdict");
  const shown = document.createElement("p");
  shown.className = "claims-shown";
  shown.setAttribute("role", "status");

  const show = (verdict) => {
    rows.forEach((row) => (row.hidden = verdict !== "all" && verdictOf(row) !== verdict));
    [...filters.children].forEach((button) =>
      button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict)),
    );
    shown.textContent = `${counts.get(verdict)} of ${rows.length} claims shown`;
  };

  counts.forEach((count, verdict) => {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.verdict = verdict;
    button.textContent = `${verdict} (${count})`;
    button.addEventListener("click", () => show(verdict));
    filters.append(button);
  });

  const place = table.closest(".pst-scrollable-table-container") ?? table;
  place.before(filters, shown);
  show("all");
});
