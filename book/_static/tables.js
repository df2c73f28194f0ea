// On a phone a row of a table becomes a card, and each cell needs its column's name before it.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.table")) {
    const names = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.textContent.trim());
    for (const row of table.tBodies[0].rows)
      [...row.cells].forEach((cell, i) => (cell.dataset.column = names[i] ?? ""));
  }
});

// Buttons that show the claims of one verdict. They are made from the table itself, so that without
// JavaScript the table is simply complete, and the counts cannot differ from its rows.
document.addEventListener("DOMContentLoaded", () => {
  const table = document.querySelector("table.claims");
  if (!table) return;
  const rows = [...table.tBodies[0].rows];
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  const verdictOf = (row) => row.cells[names.indexOf("verdict")].textContent.trim();

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
