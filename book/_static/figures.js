/* A figure grows when it is pressed: the drawing is a button, and a dialog shows it as large as its
   lines need. Without JavaScript the figure simply stands there. */

"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const figures = document.querySelectorAll('.bd-article img[src$=".svg"]');
  if (!figures.length) return;

  const dialog = document.createElement("dialog");
  dialog.className = "figure-large";
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  const room = document.createElement("div");
  room.tabIndex = 0;
  room.setAttribute("role", "region");
  room.setAttribute("aria-label", "Enlarged figure");
  dialog.append(close, room);
  document.body.append(dialog);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });

  for (const figure of figures) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "enlarge";
    button.title = "Enlarge this figure";
    figure.replaceWith(button);
    button.append(figure);
    button.addEventListener("click", () => {
      room.replaceChildren(figure.cloneNode());
      dialog.showModal();
    });
  }
});
