/* The explorer: recorded regrets, asked by world, noise, horizon and policy.

   What it shows is made of data/ by book/explore.py: index.js is loaded with the page, a table when a
   reader chooses one of its places. Lines are drawn by uPlot (_static/vendor). Nothing is fetched from
   elsewhere, and without a server all of it works from a folder. */

"use strict";

(() => {
  const page = document.getElementById("regrets");
  if (!page) return;
  const { index } = window.heavybanditData;
  const home = new URL("explorer/", document.currentScript.src);

  // Words

  const WORLDS = {
    section6: "aligned (Section 6)",
    misaligned: "misaligned",
    symmetric: "symmetric",
    lower_bound: "of Theorem 3",
  };
  const NOISES = {
    "noise=student-t": "Student's t",
    "noise=pareto": "Pareto, as in Section 6",
    "noise=pareto-centred": "Pareto, centred",
    "noise=Pareto(centred=True scale=1.0 shape=2.2)": "skewed: Pareto, shape 2.2, centred",
    "noise=SymmetricPareto(scale=0.3 shape=1.6)": "no variance: symmetric Pareto, shape 1.6",
  };
  const HEADS = {
    over_ridge: "over tuned ridge", clipped: "clipped,\u00a0%", same_as_payoffs_of_0: "same arm,\u00a0%",
    GreedyRidge: "greedy ridge", Uniform: "uniform play", "GreedyRidge(plays=100)": "greedy, 100 plays",
  };
  const FILTERS = { instance: "World", noise: "Noise", horizon: "Horizon, plays" };
  const NAMES = { Uniform: "uniform play", GreedyRidge: "greedy ridge" };
  const FIRST = ["SupBMM", "SupBTC", "TOFU", "Uniform", "GreedyRidge", "LinUCB"];

  const worldWords = (world) => WORLDS[world] ?? world;
  const noiseWords = (where) => NOISES[where] ?? where.replace("noise=", "");
  const policyWords = (group) => NAMES[group.policy] ?? group.policy;
  const settingsWords = (group) => group.settings.replace(/(\.\d{3})\d+/g, "$1") ;
  const plain = (group) => !/\b(plays|ridge)=/.test(group.settings);

  const raised = (digits) => [...digits].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]).join("");

  function number(x, leastDigits = 1) {
    if (!Number.isFinite(x)) return "–";
    if (x !== 0 && (Math.abs(x) < 0.001 || Math.abs(x) >= 1e7)) {
      const [factor, power] = x.toExponential(2).replace("+", "").split("e");
      return `${Number(factor) === 1 ? "" : `${factor}·`}10${raised(power)}`;
    }
    return x.toLocaleString("en", { minimumSignificantDigits: leastDigits, maximumSignificantDigits: 4 });
  }

  /* A number of a wide table as it is read; the whole of it is told with its runs */
  function short(text) {
    if (!/^-?\d+(\.\d+)?$/.test(text)) return text;
    const given = (text.split(".")[1] ?? "").length;
    const places = given > 4 ? 4 : Math.min(given, 1); // regret per play, or a share in percent
    const words = Number(text).toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
    return words.replace(/^-(?=.*[1-9])/, "−").replace(/^-/, "");
  }

  function html(parent, tag, attributes = {}, text = "") {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.textContent = text;
    parent?.append(node);
    return node;
  }

  // Numbers

  const mean = (values) => values.reduce((sum, x) => sum + x, 0) / values.length;

  /* As numpy.quantile: linear between the two neighbours */
  function quantile(values, q) {
    const sorted = [...values].sort((a, b) => a - b);
    const at = q * (sorted.length - 1);
    const low = Math.floor(at);
    const high = Math.min(low + 1, sorted.length - 1);
    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
  }

  const cost = (group) => mean(group.regrets) / group.plays;

  /* Mean regret of a group after so many plays: along its curve, or as if every play cost the same */
  function regretAt(group, plays) {
    if (!group.curve) return cost(group) * plays;
    const { plays: x, mean: y } = group.curve;
    const i = x.findIndex((one) => one >= plays);
    if (i < 0) return y.at(-1) + cost(group) * (plays - x.at(-1));
    const [x0, y0] = i ? [x[i - 1], y[i - 1]] : [0, 0];
    return y0 + ((plays - x0) / (x[i] - x0)) * (y[i] - y0);
  }

  // Tables, loaded once each

  const loading = new Map();

  function load(name) {
    if (!loading.has(name)) {
      loading.set(name, new Promise((done, failed) => {
        const script = html(document.head, "script", { src: new URL(`${name}.js`, home).href });
        script.onload = () =>
          done(window.heavybanditData[`table_${name}`].map((group, i) => ({ ...group, table: name, i })));
        script.onerror = () => failed(new Error(`the table ${name} could not be loaded`));
      }));
    }
    return loading.get(name);
  }

  // What was chosen

  const places = Object.entries(index.places).flatMap(([table, { places: list }]) =>
    list.map(([world, where, horizon]) => ({ table, world, where, horizon })),
  );
  const state = { world: "section6", where: "noise=student-t", horizon: 100000, relative: "", scale: "linear" };
  let groups = []; // of the place
  let chosen = new Set(); // keys of groups
  const key = (group) => `${group.table}.${group.i}`;
  const picked = () => groups.filter((group) => chosen.has(key(group)));

  function reference(group) {
    const fits = (one) => one.policy === state.relative && plain(one);
    return groups.find((one) => fits(one) && one.table === group.table) ?? groups.find(fits);
  }

  /* What a group costs beside its reference; NaN where there is none */
  function ratio(group) {
    const other = state.relative ? reference(group) : undefined;
    return other ? cost(group) / cost(other) : NaN;
  }

  // Controls

  const controls = page.querySelector(".hbx-controls");

  function select(id, label, options, value, change) {
    let field = document.getElementById(`explorer-${id}`);
    if (!field) {
      const row = html(controls, "div");
      html(row, "label", { for: `explorer-${id}` }, label);
      field = html(row, "select", { id: `explorer-${id}` });
      field.addEventListener("change", () => change(field.value));
    }
    field.replaceChildren(...options.map(([one, words]) => html(null, "option", { value: one }, words)));
    field.value = String(value);
  }

  const unique = (values) => [...new Set(values)];

  /* The nearest place there is: the choices further down follow those further up */
  function settle() {
    const inWorld = places.filter((place) => place.world === state.world);
    const wheres = unique(inWorld.map((place) => place.where));
    if (!wheres.includes(state.where)) [state.where] = wheres;
    const inPlace = inWorld.filter((place) => place.where === state.where);
    const horizons = unique(inPlace.map((place) => place.horizon)).sort((a, b) => a - b);
    if (!horizons.includes(state.horizon)) [state.horizon] = horizons;
    return { wheres, horizons };
  }

  const narrow = window.matchMedia("(max-width: 767px)"); // a phone

  let latest = 0;

  async function show(keep = false) {
    latest += 1;
    const asked = latest;
    const { wheres, horizons } = settle();
    const worlds = unique(places.map((place) => place.world));
    const change = (name, as = (x) => x) => (value) => { state[name] = as(value); show(); };
    select("world", "World", worlds.map((one) => [one, worldWords(one)]), state.world, change("world"));
    select("noise", "Noise", wheres.map((one) => [one, noiseWords(one)]), state.where, change("where"));
    const plays = horizons.map((one) => [one, one.toLocaleString("en")]);
    select("horizon", "Horizon, plays", plays, state.horizon, change("horizon", Number));
    const others = [["", "nothing: regret"], ["Uniform", "uniform play"], ["GreedyRidge", "greedy ridge"]];
    const draw = (name) => (value) => { state[name] = value; render(); };
    select("relative", "Relative to", others, state.relative, draw("relative"));
    select("scale", "Scale", [["linear", "linear"], ["log", "logarithmic"]], state.scale, draw("scale"));

    const here = (one) =>
      one.world === state.world && one.where === state.where && one.horizon === state.horizon;
    const loaded = await Promise.all(unique(places.filter(here).map((one) => one.table)).map(load));
    if (asked !== latest) return; // a newer choice was made while the tables were on their way
    groups = loaded.map((table) => table.filter(here)).sort(byWorth).flat();
    if (!keep) chosen = new Set(first());
    listPolicies();
    render();
    page.dataset.place = `${state.world} ${state.where} ${state.horizon}`; // what is shown by now
  }

  /* Tables with curves first, then those with more seeds */
  function byWorth(a, b) {
    const curves = (table) => (table.some((group) => group.curve?.plays.length > 1) ? 1 : 0);
    return curves(b) - curves(a) || b[0].seeds.length - a[0].seeds.length;
  }

  function first() {
    const inTable = groups.filter((group) => group.table === groups[0].table);
    const named = FIRST.map((name) => inTable.find((one) => one.policy === name && plain(one)));
    const found = named.filter(Boolean);
    return (found.length > 3 ? found : inTable.slice(0, 8)).map(key);
  }

  function listPolicies() {
    const list = page.querySelector(".hbx-policies");
    list.replaceChildren(html(null, "legend", {}, "Policies"));
    unique(groups.map((group) => group.table)).forEach((table, i) => {
      const mine = groups.filter((group) => group.table === table);
      const box = html(list, "details");
      box.open = i === 0;
      const { seeds } = mine[0];
      const many = mine.length === 1 ? "1 policy" : `${mine.length} policies`;
      html(box, "summary", {}, `${table}: ${index.places[table].what} (${many}, ` +
        `seeds ${seeds[0]} to ${seeds.at(-1)})`);
      const rows = html(box, "div", { class: "hbx-list" });
      for (const group of mine) {
        const label = html(rows, "label");
        const tick = html(label, "input", { type: "checkbox", value: key(group) });
        tick.checked = chosen.has(key(group));
        tick.addEventListener("change", () => {
          chosen[tick.checked ? "add" : "delete"](key(group));
          render();
        });
        label.append(` ${policyWords(group)} `);
        html(label, "small", {}, group.settings && settingsWords(group));
      }
    });
  }

  // The drawing

  const host = document.getElementById("explorer-plot");
  const readout = document.getElementById("explorer-readout");
  let plot = null;

  function ink() {
    return getComputedStyle(document.body).color;
  }

  /* In the dark a grey changes sides, and a colour is lightened no more than it must be */
  function colour(group, alpha = 1) {
    const hex = index.colours[group.policy] ?? "#888888";
    let parts = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    if (document.documentElement.dataset.theme === "dark") {
      const light = (rgb) => 0.21 * rgb[0] + 0.72 * rgb[1] + 0.07 * rgb[2];
      if (Math.max(...parts) - Math.min(...parts) < 20) parts = parts.map((x) => 235 - 0.75 * x);
      while (light(parts) < 110) parts = parts.map((x) => x + 0.1 * (255 - x));
    }
    return `rgba(${parts.map(Math.round).join(",")},${alpha})`;
  }

  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

  /* Second and further settings of a policy have its colour and another dash */
  function dash(group, all) {
    return DASHES[all.filter((one) => one.policy === group.policy).indexOf(group) % DASHES.length];
  }

  const positive = (values) => values.map((x) => (state.scale === "log" && !(x > 0) ? null : x));

  /* Each group's x, mean, first and ninth decile, as they are drawn */
  function lines(all) {
    const along = all.every((group) => group.curve?.plays.length > 1);
    const series = all.map((group, i) => {
      const other = state.relative ? reference(group) : undefined;
      const ends = [mean(group.regrets), quantile(group.regrets, 0.1), quantile(group.regrets, 0.9)];
      const x = along ? group.curve.plays : [i];
      const plays = along ? group.curve.plays : [group.plays];
      const values = along ? [group.curve.mean, group.curve.low, group.curve.high] : ends.map((y) => [y]);
      if (!state.relative) return [x, ...values];
      return [x, ...values.map((y) => y.map((v, j) => (other ? v / regretAt(other, plays[j]) : null)))];
    });
    return { along, series };
  }

  /* On a logarithmic scale of several decades: the powers of ten alone */
  function powers(_, ticks) {
    const whole = (x) => Math.abs(Math.log10(x) - Math.round(Math.log10(x))) < 1e-9;
    if (state.scale !== "log" || ticks.filter(whole).length < 3) return ticks;
    return ticks.map((x) => (whole(x) ? x : null));
  }

  function options(all, along) {
    const stroke = ink();
    const grid = { stroke: stroke.replace("rgb(", "rgba(").replace(")", ", 0.15)") };
    const unit = state.relative ? `regret, in multiples of that of ${NAMES[state.relative]}` : "regret";
    const axis = { stroke, grid, ticks: grid, font: "12px sans-serif", labelFont: "13px sans-serif" };
    return {
      width: host.clientWidth,
      height: along ? 380 : 440,
      legend: { show: false },
      padding: [null, along ? (host.clientWidth > 600 ? 100 : null) : 45, null, null],
      cursor: { drag: { x: false, y: false } },
      scales: {
        x: { time: false, range: along ? undefined : [-0.5, all.length - 0.5] },
        y: { distr: state.scale === "log" ? 3 : 1, range: state.scale === "log" ? undefined : [0, null] },
      },
      axes: [
        along
          ? { ...axis, label: "plays" }
          : {
              ...axis, rotate: -35, size: 110, grid: { show: false },
              splits: () => all.map((_, i) => i),
              values: () => all.map(policyWords),
            },
        { ...axis, grid: { ...grid, filter: powers }, ticks: { ...grid, filter: powers }, filter: powers,
          label: unit, size: 75, values: (_, ticks) => ticks.map((x) => (x === null ? "" : number(x))) },
      ],
      series: [
        {},
        ...all.flatMap((group) => [
          {
            stroke: colour(group), width: 2.2, dash: dash(group, all), spanGaps: true,
            points: { show: !along, size: 9, fill: colour(group) },
          },
          ...[0, 1].map(() => ({ stroke: "transparent", spanGaps: true, points: { show: false } })),
        ]),
      ],
      bands: along
        ? all.map((group, i) => ({ series: [3 * i + 3, 3 * i + 2], fill: colour(group, 0.15) }))
        : [],
      hooks: {
        draw: [
          (u) => (along ? nameLines(u, all) : all.forEach((group, i) => whisker(u, i, colour(group)))),
        ],
        setCursor: [(u) => read(u.cursor.idx)],
      },
    };
  }

  /* From the first to the ninth decile */
  function whisker(u, i, stroke) {
    const [low, high] = [2, 3].map((row) => u.valToPos(u.data[3 * i + row][i], "y", true));
    const x = u.valToPos(i, "x", true);
    u.ctx.save();
    u.ctx.strokeStyle = stroke;
    u.ctx.lineWidth = 3 * devicePixelRatio;
    u.ctx.beginPath();
    u.ctx.moveTo(x, low);
    u.ctx.lineTo(x, high);
    u.ctx.stroke();
    u.ctx.restore();
  }

  /* Each line's name at its end, moved apart so that none covers another */
  function nameLines(u, all) {
    const beside = host.clientWidth > 600; // else there is no room but on the lines
    const gap = 15 * devicePixelRatio;
    const ends = all.map((group, i) => ({ group, y: u.valToPos(u.data[3 * i + 1].findLast(Number.isFinite), "y", true) }));
    ends.sort((a, b) => b.y - a.y);
    let free = u.bbox.top + u.bbox.height;
    u.ctx.save();
    u.ctx.font = `${12 * devicePixelRatio}px sans-serif`;
    u.ctx.textBaseline = "middle";
    u.ctx.textAlign = beside ? "left" : "right"; // the axes leave it at right
    u.ctx.strokeStyle = getComputedStyle(document.body).backgroundColor;
    u.ctx.lineWidth = 4 * devicePixelRatio;
    for (const { group, y } of ends) {
      const at = Math.min(beside ? y : y - 0.6 * gap, free);
      free = at - gap;
      const edge = u.bbox.left + u.bbox.width;
      const side = 7 * devicePixelRatio;
      const x = beside ? edge + 8 * devicePixelRatio : edge - side;
      const words = beside ? x + 1.7 * side : x - 0.7 * side;
      if (!beside) u.ctx.strokeText(policyWords(group), words, at); // no line goes through a name
      u.ctx.fillStyle = colour(group);
      u.ctx.fillRect(x, at - side / 2, side, side);
      u.ctx.fillStyle = ink(); // some colours are too pale for letters
      u.ctx.fillText(policyWords(group), words, at);
    }
    u.ctx.restore();
  }

  /* The value of a line; where it has no point, because its policy plays in rounds, on the line between two */
  function valueAt(data, row, along, at) {
    const [x, y] = [data[0], data[row]];
    if (!along || Number.isFinite(y[at])) return y[at];
    const before = y.findLastIndex((value, i) => i < at && Number.isFinite(value));
    const after = y.findIndex((value, i) => i > at && Number.isFinite(value));
    if (before < 0 || after < 0) return y[before] ?? null; // after its last point that; before its first nothing
    return y[before] + ((x[at] - x[before]) / (x[after] - x[before])) * (y[after] - y[before]);
  }

  /* The values where the pointer or the arrow keys are, in words */
  function read(at) {
    const all = picked();
    if (at === null || at === undefined || !plot) return;
    const { along } = plot.shape;
    const x = plot.u.data[0][at];
    const told = all.flatMap((group, i) => {
      const [y, low, high] = [1, 2, 3].map((row) => valueAt(plot.u.data, 3 * i + row, along, at));
      if (y === null || y === undefined) return [];
      return [`${policyWords(group)} ${number(y)} (${number(low)} to ${number(high)})`];
    });
    readout.textContent = (along ? `After ${x.toLocaleString("en")} plays: ` : "") + told.join("; ");
  }

  function render() {
    const all = picked();
    fillNumbers(all);
    remember();
    plot?.u.destroy();
    plot = null;
    readout.textContent = all.length
      ? "Point at the drawing, or press the arrow keys on it, to read its values: mean (first to ninth decile)."
      : "Choose a policy.";
    if (!all.length) return;
    const shape = lines(all);
    const joined = window.uPlot.join(shape.series);
    plot = { u: null, shape };
    const data = [joined[0], ...joined.slice(1).map(positive)];
    plot.u = new window.uPlot(options(all, shape.along), data, host);
  }

  host.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !plot) return;
    event.preventDefault();
    const { u } = plot;
    const last = u.data[0].length - 1;
    const at = Math.min(last, Math.max(0, (u.cursor.idx ?? (step > 0 ? -1 : last + 1)) + step));
    u.setCursor({ left: u.valToPos(u.data[0][at], "x"), top: 10 });
  });

  let width = host.clientWidth;
  new ResizeObserver(() => {
    if (host.clientWidth === width) return;
    width = host.clientWidth;
    plot?.u.setSize({ width, height: plot.u.height });
  }).observe(host);
  new MutationObserver(render).observe(document.documentElement, { attributeFilter: ["data-theme"] });

  // The numbers, and the runs behind them

  const numbers = page.querySelector(".hbx-numbers tbody");

  function fillNumbers(all) {
    numbers.replaceChildren();
    numbers.closest("table").classList.toggle("hbx-absolute", !state.relative);
    for (const group of [...all].sort((a, b) => cost(a) - cost(b))) {
      const row = html(numbers, "tr", { "data-key": key(group) });
      const name = html(row, "th", { scope: "row" });
      html(name, "span", { class: "hbx-swatch", style: `background: ${colour(group)}` });
      name.append(policyWords(group));
      if (group.settings) html(name, "small", {}, settingsWords(group));
      const values = [
        mean(group.regrets), quantile(group.regrets, 0.1), quantile(group.regrets, 0.9), cost(group), ratio(group),
      ];
      for (const value of values) html(row, "td", { "data-value": String(value) }, number(value, 4));
      const button = html(html(row, "td"), "button", {
        type: "button", "aria-label": `${policyWords(group)}: ${group.seeds.length} runs`,
      }, String(group.seeds.length));
      button.addEventListener("click", () => showRuns(group, policyWords(group)));
    }
  }

  const dialog = page.querySelector("dialog");
  dialog.querySelector("button").addEventListener("click", () => dialog.close());

  function showRuns(group, title) {
    dialog.querySelector("h3").textContent = title;
    dialog.querySelector("p").textContent =
      `Table ${group.table} of data/: world ${worldWords(group.world)}, ${noiseWords(group.where)}, ` +
      `${group.policy} with ${group.settings || "no settings"}, horizon ${group.horizon.toLocaleString("en")}; ` +
      `mean regret ${number(mean(group.regrets))}, per play ${number(cost(group))}.`;
    const body = dialog.querySelector("tbody");
    body.replaceChildren();
    group.seeds.forEach((seed, i) => {
      const row = html(body, "tr");
      html(row, "th", { scope: "row" }, String(seed));
      html(row, "td", {}, group.plays.toLocaleString("en"));
      html(row, "td", { "data-value": String(group.regrets[i]) }, String(group.regrets[i]));
      html(row, "td", {}, number(group.regrets[i] / group.plays, 4));
    });
    dialog.showModal();
  }

  // The map of readings and the board: tables whose cells lead to their runs

  /* What a cell shows: a number that leads to its runs, or words */
  function fillCell(cell, { cells, columns }, column) {
    const [text, tableName, group] = cells[columns.indexOf(column)];
    if (!tableName) {
      const words = column === "width" ? text : short(text);
      const off = columns.includes(`${column}_off`) ? short(cells[columns.indexOf(`${column}_off`)][0]) : "";
      cell.textContent = off ? (Number(off) ? `${words}\u00a0±\u00a0${off}` : "–") : words;
      return;
    }
    const who = columns.includes("policy") ? `${cells[columns.indexOf("policy")][0]}: ` : "";
    const said = { type: "button", "aria-label": `${column} ${text}: runs`, "data-value": text };
    const button = html(cell, "button", said, short(text));
    button.addEventListener("click", async () =>
      showRuns((await load(tableName))[group], `${who}${who ? column : headWords(column)} ${text}`));
  }

  const headWords = (column) => HEADS[column] ?? column.replaceAll("_", " ");

  /* One row per line of the table */
  function fillRows(table, lines, columns) {
    const head = html(html(table, "thead"), "tr");
    columns.forEach((column) => html(head, "th", { scope: "col" }, headWords(column)));
    const body = html(table, "tbody");
    for (const line of lines) {
      const row = html(body, "tr");
      columns.forEach((column) => fillCell(html(row, "td"), line, column));
    }
  }

  /* One column per line, so that a phone has room for all: the lines of a width stand side by side */
  function fillBlocks(table, lines, [across, along, ...columns]) {
    const value = ({ cells, columns: all }, column) => cells[all.indexOf(column)][0];
    for (const one of unique(lines.map((line) => value(line, across)))) {
      const mine = lines.filter((line) => value(line, across) === one);
      const body = html(table, "tbody");
      const head = html(body, "tr");
      html(head, "th", { scope: "col" }, `${across} ${one}`);
      mine.forEach((line) => html(head, "th", { scope: "col" }, value(line, along)));
      for (const column of columns) {
        const row = html(body, "tr");
        html(row, "th", { scope: "row" }, headWords(column));
        mine.forEach((line) => fillCell(html(row, "td"), line, column));
      }
    }
  }

  function bigTable(name) {
    const { columns, rows, filters } = index[name];
    const place = document.getElementById(`explorer-${name}`);
    const bar = html(place, "div", { class: "hbx-controls" });
    const about = html(place, "p", { class: "hbx-about" });
    const box = html(place, "div", { class: "hbx-wide", tabindex: "0", role: "region", "aria-label": name });
    const wanted = {};
    const fields = {};
    const at = (cells, column) => cells[columns.indexOf(column)][0];
    const left = new Set([...filters, "seeds"]); // all alike in what is shown
    const fill = () => {
      let found = rows;
      for (const filter of filters) { // each offers what there is with those before it
        const values = unique(found.map((cells) => at(cells, filter)));
        if (!values.includes(wanted[filter])) [wanted[filter]] = values;
        const said = (value) => WORLDS[value] ?? short(value);
        fields[filter].replaceChildren(...values.map((value) => html(null, "option", { value }, said(value))));
        fields[filter].value = wanted[filter];
        found = found.filter((cells) => at(cells, filter) === wanted[filter]);
      }
      const lines = found.map((cells) => ({ cells, columns }));
      const merged = narrow.matches && columns.includes("constants");
      const shown = columns.filter((column) =>
        !left.has(column) && !column.endsWith("_off") && !(merged && column === "constants"));
      if (columns.includes("seeds")) {
        about.textContent = `Means over ${unique(found.map((cells) => at(cells, "seeds"))).join(" or ")} seeds.`;
      }
      const table = document.createElement("table");
      if (narrow.matches && shown[0] === "width") fillBlocks(table, lines, shown);
      else fillRows(table, lines, shown);
      if (shown.includes("constants")) { // they have a column of their own
        for (const row of table.tBodies[0].rows) {
          const [policy, constants] = row.cells;
          policy.textContent = policy.textContent.replace(`, ${constants.textContent}`, "");
        }
      }
      box.replaceChildren(table);
    };
    for (const filter of filters) {
      const row = html(bar, "div");
      const id = `explorer-${name}-${filter}`;
      html(row, "label", { for: id }, FILTERS[filter]);
      fields[filter] = html(row, "select", { id });
      fields[filter].addEventListener("change", () => { wanted[filter] = fields[filter].value; fill(); });
    }
    narrow.addEventListener("change", fill);
    fill();
  }

  // The address

  function remember() {
    const address = new URL(window.location.href);
    for (const [name, value] of Object.entries(state)) address.searchParams.set(name, String(value));
    address.searchParams.set("policies", [...chosen].join(" "));
    try {
      window.history.replaceState(window.history.state, "", address);
    } catch {
      // A browser may forbid it for a page opened from a file: then the address stays as it is.
    }
  }

  const query = new URLSearchParams(window.location.search);
  for (const name of Object.keys(state))
    if (query.has(name)) state[name] = name === "horizon" ? Number(query.get(name)) : query.get(name);
  if (!places.some((place) => place.world === state.world)) state.world = "section6";
  if (!["", "Uniform", "GreedyRidge"].includes(state.relative)) state.relative = "";
  if (!["linear", "log"].includes(state.scale)) state.scale = "linear";
  if (query.has("policies")) chosen = new Set(query.get("policies").split(" "));
  page.hidden = false;
  bigTable("map");
  bigTable("board");
  show(query.has("policies")).then(() => (page.dataset.ready = "true"));
})();
