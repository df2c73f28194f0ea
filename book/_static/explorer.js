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
    over_ridge: "over tuned ridge", over_ridge_off: "±", clipped: "clipped, %",
    same_as_payoffs_of_0: "same arm as with payoffs of 0, %", GreedyRidge: "greedy ridge", Uniform: "uniform play",
    "GreedyRidge(plays=100)": "greedy ridge, 100 plays a round",
  };
  const NAMES = { Uniform: "uniform play", GreedyRidge: "greedy ridge" };
  const FIRST = ["SupBMM", "SupBTC", "TOFU", "Uniform", "GreedyRidge", "LinUCB"];

  const worldWords = (world) => WORLDS[world] ?? world;
  const noiseWords = (where) => NOISES[where] ?? where.replace("noise=", "");
  const policyWords = (group) => NAMES[group.policy] ?? group.policy;
  const settingsWords = (group) => group.settings.replace(/(\.\d{3})\d+/g, "$1") || "–";
  const plain = (group) => !/\b(plays|ridge)=/.test(group.settings);

  function number(x) {
    if (!Number.isFinite(x)) return "–";
    if (x !== 0 && (Math.abs(x) < 0.001 || Math.abs(x) >= 1e7)) return x.toExponential(2);
    return x.toLocaleString("en", { maximumSignificantDigits: 4 });
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
      html(box, "summary", {}, `${table}: ${index.places[table].what} (${mine.length} policies, ` +
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

  function colour(group, alpha = 1) {
    const hex = index.colours[group.policy] ?? "#888888";
    const dark = document.documentElement.dataset.theme === "dark";
    const parts = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    const shown = dark ? parts.map((x) => Math.round(x + 0.45 * (255 - x))) : parts;
    return `rgba(${shown.join(",")},${alpha})`;
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

  function options(all, along) {
    const stroke = ink();
    const grid = { stroke: stroke.replace("rgb(", "rgba(").replace(")", ", 0.15)") };
    const unit = state.relative ? `regret, in multiples of that of ${NAMES[state.relative]}` : "regret";
    const axis = { stroke, grid, ticks: grid, font: "12px sans-serif", labelFont: "13px sans-serif" };
    return {
      width: host.clientWidth,
      height: along ? 380 : 440,
      legend: { show: false },
      padding: [null, along && host.clientWidth > 600 ? 100 : null, null, null],
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
        { ...axis, label: unit, size: 75, values: (_, ticks) => ticks.map((x) => (x === null ? "" : number(x))) },
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
    if (host.clientWidth <= 600) return;
    const gap = 15 * devicePixelRatio;
    const ends = all.map((group, i) => ({ group, y: u.valToPos(u.data[3 * i + 1].findLast(Number.isFinite), "y", true) }));
    ends.sort((a, b) => b.y - a.y);
    let free = u.bbox.top + u.bbox.height;
    u.ctx.save();
    u.ctx.font = `${12 * devicePixelRatio}px sans-serif`;
    u.ctx.textBaseline = "middle";
    u.ctx.textAlign = "left"; // the axes leave it at right
    for (const { group, y } of ends) {
      const at = Math.min(y, free);
      free = at - gap;
      const [x, side] = [u.bbox.left + u.bbox.width + 8 * devicePixelRatio, 7 * devicePixelRatio];
      u.ctx.fillStyle = colour(group);
      u.ctx.fillRect(x, at - side / 2, side, side);
      u.ctx.fillStyle = ink(); // some colours are too pale for letters
      u.ctx.fillText(policyWords(group), x + 1.7 * side, at);
    }
    u.ctx.restore();
  }

  /* The values where the pointer or the arrow keys are, in words */
  function read(at) {
    const all = picked();
    if (at === null || at === undefined || !plot) return;
    const { along } = plot.shape;
    const x = plot.u.data[0][at];
    const told = all.flatMap((group, i) => {
      const [y, low, high] = [1, 2, 3].map((row) => plot.u.data[3 * i + row]?.[at]);
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
    readout.textContent = all.length ? "" : "Choose a policy.";
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
    for (const group of [...all].sort((a, b) => cost(a) - cost(b))) {
      const row = html(numbers, "tr", { "data-key": key(group) });
      const name = html(row, "th", { scope: "row" });
      html(name, "span", { class: "hbx-swatch", style: `background: ${colour(group)}` });
      name.append(policyWords(group));
      html(row, "td", {}, settingsWords(group));
      const values = [
        mean(group.regrets), quantile(group.regrets, 0.1), quantile(group.regrets, 0.9), cost(group), ratio(group),
      ];
      for (const value of values) html(row, "td", { "data-value": String(value) }, number(value));
      const button = html(html(row, "td"), "button", { type: "button" }, `${group.seeds.length} runs`);
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
      html(row, "td", {}, number(group.regrets[i] / group.plays));
    });
    dialog.showModal();
  }

  // The map of readings and the board: tables whose cells lead to their runs

  function bigTable(name) {
    const { columns, rows, filters } = index[name];
    const place = document.getElementById(`explorer-${name}`);
    const bar = html(place, "div", { class: "hbx-controls" });
    const box = html(place, "div", { class: "hbx-wide", tabindex: "0", role: "region", "aria-label": name });
    const table = html(box, "table");
    const head = html(html(table, "thead"), "tr");
    const shown = columns.filter((column) => !filters.includes(column)); // a filter's column is all alike
    shown.forEach((column) => html(head, "th", { scope: "col" }, HEADS[column] ?? column.replaceAll("_", " ")));
    const body = html(table, "tbody");
    const wanted = {};
    const fill = () => {
      body.replaceChildren();
      for (const cells of rows) {
        if (filters.some((one) => cells[columns.indexOf(one)][0] !== wanted[one])) continue;
        const row = html(body, "tr");
        cells.forEach(([text, tableName, group], j) => {
          if (!shown.includes(columns[j])) return;
          const cell = html(row, "td");
          if (!tableName) return void (cell.textContent = columns[j] === "width" ? text : short(text));
          const words = cells.filter((other) => other.length === 1).slice(0, 5).map(([x]) => x).join(", ");
          const said = { type: "button", "aria-label": `${columns[j]} ${text}: runs`, "data-value": text };
          const button = html(cell, "button", said, short(text));
          button.addEventListener("click", async () =>
            showRuns((await load(tableName))[group], `${columns[j]} ${text} (${words})`));
        });
      }
    };
    for (const filter of filters) {
      const values = unique(rows.map((cells) => cells[columns.indexOf(filter)][0]));
      [wanted[filter]] = values;
      const row = html(bar, "div");
      const id = `explorer-${name}-${filter}`;
      html(row, "label", { for: id }, filter);
      const field = html(row, "select", { id });
      values.forEach((value) => html(field, "option", { value }, WORLDS[value] ?? short(value)));
      field.addEventListener("change", () => { wanted[filter] = field.value; fill(); });
    }
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
