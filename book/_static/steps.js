/* The algorithms: the lines of a step light up when it is pointed at or its number is pressed, and a
   line's step when the line is. On a phone, where the source is far below, each step shows its lines. */

"use strict";

document.addEventListener("DOMContentLoaded", () => {
  for (const algorithm of document.querySelectorAll(".algorithm")) {
    const lines = new Map(); // number → element
    for (const line of algorithm.querySelectorAll(".source .line"))
      lines.set(Number(line.querySelector(".linenos").textContent), line);

    // Source that is taller than the window stays with the line asked for in the middle, or with one of
    // its ends at the window's.
    const source = algorithm.querySelector(".source");
    const HEAD = 64;
    const bring = (line) => {
      const below = line.getBoundingClientRect().top - source.getBoundingClientRect().top;
      const least = Math.min(HEAD, window.innerHeight - source.offsetHeight - 16);
      source.style.top = `${Math.max(least, Math.min(HEAD, window.innerHeight / 2 - below))}px`;
    };

    /* Lines as a step shows them by itself: without numbers and the name of the step, and each run of
       them no further in than it must be */
    const alone = (own) => {
      let [least, last] = [0, 0];
      return own.map((line, i) => {
        const copy = line.cloneNode(true);
        const number = Number(copy.querySelector(".linenos").textContent);
        copy.querySelector(".linenos").remove();
        const begins = (text) => /\S|$/.exec(text).index;
        if (!i || number > last + 1) least = begins(copy.textContent);
        least = Math.min(least, begins(copy.textContent));
        last = number;
        copy.style.setProperty("--in", `${begins(copy.textContent) - least + 2}ch`);
        const note = copy.querySelector(".c1");
        if (/^# steps? [\d–, ]+$/.test(note?.textContent ?? "")) note.remove();
        const spaces = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT).nextNode();
        spaces.data = spaces.data.trimStart();
        return copy;
      });
    };

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
      here.className = "here highlight";
      here.append(...alone(one.own));
      one.step.append(here);

      button.addEventListener("click", () => {
        pressed = pressed === one ? null : one;
        for (const other of steps)
          other.step.querySelector("button").setAttribute("aria-pressed", String(other === pressed));
        light(pressed);
        bring(one.own[0]);
        if (pressed && one.own[0].checkVisibility()) {
          const box = one.own[0].getBoundingClientRect();
          const seen = box.top > 60 && box.bottom < window.innerHeight;
          if (!seen) one.own[0].scrollIntoView({ block: "center" });
        }
      });
      one.step.addEventListener("mouseenter", () => {
        light(one);
        bring(one.own[0]);
      });
      one.step.addEventListener("mouseleave", () => light(pressed));
      for (const line of one.own) {
        line.addEventListener("mouseenter", () => light(one));
        line.addEventListener("mouseleave", () => light(pressed));
      }
    }
  }
});
