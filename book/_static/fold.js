/* One switch per page for all folded code. What a reader chose holds for the next page too. */

"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const folded = [...document.querySelectorAll(".bd-article details.hide.above-input")];
  if (!folded.length) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "fold-switch";

  const show = (open) => {
    folded.forEach((cell) => (cell.open = open));
    button.setAttribute("aria-pressed", String(open));
    button.textContent = open ? "Hide the code" : `Show all code (${folded.length} cells)`;
  };
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-pressed") !== "true";
    localStorage.setItem("heavybandit-code", String(open));
    show(open);
  });
  document.querySelector(".bd-article h1").after(button);
  show(localStorage.getItem("heavybandit-code") === "true");
});
