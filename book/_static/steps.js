/* The algorithms: the lines of a step light up when it is pointed at or its number is pressed, and a
   line's step when the line is. On a phone, where the source is far below, each step shows its lines. */

"use strict";

document.addEventListener("DOMContentLoaded", () => {
  for (const algorithm of document.querySelectorAll(".algorithm")) {
    const lines = new Map(); // number → element
    for (const pre of algorithm.querySelectorAll(".source pre")) {
      // Pygments closes its spans at the end of each line, so a line is whole markup.
      pre.innerHTML = pre.innerHTML
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => `<span class="line">${line || " "}</span>`)
        .join("");
      for (const line of pre.querySelectorAll(".line"))
        lines.set(Number(line.querySelector(".linenos").textContent), line);
    }

    const source = algorithm.querySelector(".source");
    source.classList.toggle("stays", source.offsetHeight < 0.8 * window.innerHeight);

    const steps = [...algorithm.querySelectorAll(".step")].map((step) => {
      const numbers = [...step.classList]
        .filter((name) => name.startsWith("line-"))
        .map((name) => Number(name.slice(5)));
      return { step, own: numbers.map((number) => lines.get(number)) };
    });
    let pressed = null;

    const light = (chosen) => {
      for (const line of lines.values()) line.classList.toggle("lit", !!chosen?.own.includes(line));
      for (const one of steps) one.step.classList.toggle("lit", one === chosen);
    };

    for (const one of steps) {
      const name = one.step.querySelector("strong");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name.textContent.replace(/\.$/, "");
      button.setAttribute("aria-pressed", "false");
      name.replaceWith(button);
      const here = document.createElement("pre");
      here.className = "here";
      here.append(...one.own.map((line) => line.cloneNode(true)));
      one.step.append(here);

      button.addEventListener("click", () => {
        pressed = pressed === one ? null : one;
        for (const other of steps)
          other.step.querySelector("button").setAttribute("aria-pressed", String(other === pressed));
        light(pressed);
        if (pressed && one.own[0].checkVisibility()) {
          const box = one.own[0].getBoundingClientRect();
          const seen = box.top > 60 && box.bottom < window.innerHeight;
          if (!seen) one.own[0].scrollIntoView({ block: "center" });
        }
      });
      one.step.addEventListener("mouseenter", () => light(one));
      one.step.addEventListener("mouseleave", () => light(pressed));
      for (const line of one.own) {
        line.addEventListener("mouseenter", () => light(one));
        line.addEventListener("mouseleave", () => light(pressed));
      }
    }
  }
});
