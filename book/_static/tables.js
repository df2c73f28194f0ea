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

// A dotted name breaks after a dot or an underscore, if it must.
document.addEventListener("DOMContentLoaded", () => {
  for (const name of document.querySelectorAll("table.table code .pre")) {
    const parts = name.textContent.split(/(?<=[._-])(?=\w)/);
    name.replaceChildren(...parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
  }
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
      // where the table scrolls anyway, its head has two lines or three
      head.style.setProperty("--half", `${Math.ceil(0.6 * head.textContent.length) + 1}ch`);
    }
    if (body.every((cell) => numeric(cell.textContent))) return;
    for (const row of rows) row.cells[i].classList.add("words");
    for (const cell of body) cell.classList.toggle("long", cell.textContent.length > 24);
  });
}

// A word of one to three signs ends a name on a line of its own only where the table is too wide else.
function keepLastWords(table) {
  for (const cell of table.querySelectorAll("th, td.words")) {
    const found = cell.children.length ? null : /^([^]* )?(\S+ \S{1,3})\s*$/.exec(cell.textContent);
    if (!found) continue;
    const last = document.createElement("span");
    last.className = "last-words";
    last.textContent = found[2];
    cell.replaceChildren(found[1] ?? "", last);
  }
}

// More than three lines in a head, or more than two in a short cell.
function isCramped(place) {
  const lines = ({ cells: [cell] }) => {
    if (!cell) return 0;
    const look = getComputedStyle(cell);
    const inside = cell.clientHeight - parseFloat(look.paddingTop) - parseFloat(look.paddingBottom);
    return Math.round(inside / parseFloat(look.lineHeight));
  };
  const heads = [...place.querySelectorAll("thead tr")];
  const rows = [...place.querySelectorAll("tbody tr")].filter((row) => !row.querySelector(".long"));
  return heads.some((row) => lines(row) > 3) || rows.some((row) => lines(row) > 2);
}

// A name that a column repeats row after row stands once, above its rows.
function groupRows(table) {
  const rows = [...table.tBodies[0].rows];
  const heads = [...(table.tHead?.rows ?? [])];
  if (heads.length !== 1 || rows.some((row) => row.cells.length !== heads[0].cells.length)) return;
  const names = rows.map((row) => row.cells[0].textContent);
  const begins = (i) => names[i] !== names[i - 1];
  if (6 * names.filter((_, i) => begins(i)).length > rows.length) return;
  rows.forEach((row, i) => {
    const [cell] = row.cells;
    cell.remove();
    if (!begins(i)) return;
    const above = document.createElement("tr");
    above.className = "group";
    const name = document.createElement("th");
    name.scope = "rowgroup";
    name.colSpan = row.cells.length;
    name.textContent = names[i];
    above.append(name);
    row.before(above);
  });
  heads[0].cells[0].remove();
}

// Where a table of long names is too wide, a name stands above its row instead of before it.
function stackNames(table) {
  for (const row of [...table.rows].filter((one) => one.cells.length > 1)) {
    const above = document.createElement("tr");
    above.className = "name-above";
    row.before(above);
    above.append(row.cells[0]);
    above.cells[0].colSpan = row.cells.length;
  }
}

function unstackNames(table) {
  for (const above of table.querySelectorAll("tr.name-above")) {
    const [name] = above.cells;
    name?.removeAttribute("colspan"); // there may be none while a page is being taken apart
    above.nextElementSibling?.prepend(...above.cells);
    above.remove();
  }
}

// A table has its short cells in one line each, smaller if need be; only then are they broken, and only
// then do long names stand above their rows. What is wider or taller than it should be all the same
// scrolls in its place, by keys too, and fades where there is more. What does not scroll is no stop.
const WAYS = ["whole", "whole tight", "tight", "tight loose", "whole tight stacked", "whole tight roomy"];
document.addEventListener("DOMContentLoaded", () => {
  const places = [];
  for (const table of document.querySelectorAll(".cell_output table.dataframe")) {
    const place = document.createElement("div");
    table.replaceWith(place);
    place.append(table);
    places.push(place);
    groupRows(table);
    alignColumns(table);
    keepLastWords(table);
  }
  const isWide = (place) => place.scrollWidth > place.clientWidth + 1;
  const fade = (place) =>
    place.classList.toggle("more", place.scrollLeft + place.clientWidth < place.scrollWidth - 1);
  for (const place of places) place.addEventListener("scroll", () => fade(place), { passive: true });
  const hasLongNames = (place) => place.querySelector("tbody :is(th, td).long:first-child:not(:only-child)");
  const mark = () => {
    for (const place of places) {
      unstackNames(place.firstChild);
      place.removeAttribute("tabindex");
      place.querySelector("caption")?.style.removeProperty("width");
    }
    let wide = places;
    for (const ways of WAYS) {
      for (const place of wide) {
        place.className = `wide-table ${ways}`;
        const stacks = ways.endsWith("stacked") && hasLongNames(place);
        (stacks ? stackNames : unstackNames)(place.firstChild);
      }
      wide = wide.filter((place) => isWide(place) || isCramped(place)); // all are read after all are written
    }
    wide = wide.filter(isWide);
    for (const place of places) { // tables of one cell are set alike
      const beside = place.closest(".cell_output")?.querySelector(".wide-table.tight");
      if (beside && !place.classList.contains("tight")) place.className = "wide-table whole tight";
    }
    for (const place of places) {
      const scrolls = wide.includes(place);
      const caption = place.querySelector("caption");
      const name = caption?.textContent ?? "table";
      // to be read unscrolled, and before what fades
      if (caption && scrolls) caption.style.width = `${place.clientWidth - 32}px`;
      for (const [key, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", name]]) {
        if (scrolls) place.setAttribute(key, value);
        else place.removeAttribute(key);
      }
      fade(place);
    }
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
