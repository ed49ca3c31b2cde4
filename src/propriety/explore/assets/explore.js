"use strict";
// The page: controls become a question, the library answers, the answer is drawn.
(() => {
  const settings = JSON.parse(document.getElementById("settings").textContent);
  const get = (id) => document.getElementById(id);
  const short = charts.short;
  const families = new Map(settings.families.map((family) => [family.name, family]));
  const state = { way: "family", family: settings.family, stops: [], handles: null, text: "", threshold: settings.threshold, data: settings.data[0].name };
  let answer = null, judged = null, judgedLog = null;

  function make(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  // -- where answers come from ------------------------------------------------------------------------

  // A server is asked over HTTP; without one, each family is a file that was computed beforehand.
  const server = {
    async ask(what, query, signal) {
      const response = await fetch(`${what}?${new URLSearchParams(query)}`, { signal });
      const told = await response.json();
      if (!response.ok) throw new Error(told.error);
      return told;
    },
    faces: (query) => server.ask("faces", query),
    models: (query, data, signal) => server.ask("models", { ...query, data }, signal),
  };
  const kept = {
    files: new Map(),
    file(family) {
      if (!kept.files.has(family)) {
        kept.files.set(family, new Promise((resolve, reject) => {
          kept.arrived = kept.arrived ?? new Map();
          kept.arrived.set(family, resolve);
          const script = make("script", { src: `data/${family}.js` });
          script.onerror = () => reject(new Error(`data/${family}.js cannot be read`));
          document.head.append(script);
        }));
      }
      return kept.files.get(family);
    },
    async at(query) {
      const { sliders } = families.get(query.family), file = await kept.file(query.family);
      const place = sliders.reduce((sum, { name, stops }) => sum * stops.length + stops.findIndex((stop) => String(stop) === String(query[name])), 0);
      return file[place];
    },
    faces: async (query) => (await kept.at(query)).faces,
    models: async (query, data) => (await kept.at(query)).models[data],
  };
  window.explorer = { keep: (family, content) => kept.arrived.get(family)(content) };
  const source = settings.server ? server : kept;

  function query() {
    if (state.way === "handles") return { handles: state.handles.join(",") };
    if (state.way === "text") return { loss: state.text };
    const { sliders } = families.get(state.family);
    return { family: state.family, ...Object.fromEntries(sliders.map(({ name, stops }, k) => [name, stops[state.stops[k]]])) };
  }

  // -- the faces --------------------------------------------------------------------------------------

  const faces = new Map();
  let handles = null;
  function face(name) {
    if (!faces.has(name)) faces.set(name, new charts.Chart(get("charts"), name, { interactive: name === "weight" && settings.server }));
    return faces.get(name);
  }

  function drawFaces() {
    const c = settings.thresholds[state.threshold].c;
    for (const [name, chart] of faces) chart.figure.hidden = !answer.faces.some((one) => one.name === name);
    for (const one of answer.faces) {
      const chart = face(one.name), x = settings.grids[one.x];
      const from = one.x === "p" ? 0 : x[0], to = one.x === "p" ? 1 : x[x.length - 1];
      chart.axes({
        title: one.title, xlabel: one.xlabel, ylabel: one.ylabel, x: [from, to], y: [one.low, one.high], log: one.log,
        xticks: one.x === "p" ? [0, 0.25, 0.5, 0.75, 1] : undefined,
        described: `${one.title} of ${answer.title}, from ${short(one.low)} to ${short(one.high)}`,
      });
      chart.curves([
        ...one.reference.map(({ y, dashed }) => ({ x, y, dashed, kind: "log" })),
        ...one.curves.map(({ y, dashed }) => ({ x, y, dashed, kind: "own" })),
      ]);
      chart.mark(one.x === "p" ? c : null);
    }
    const weight = faces.get("weight");
    if (handles === null && settings.server && weight) {
      handles = new charts.Handles(weight, settings.handles, settings.handle_low, settings.handle_high, (values) => {
        state.handles = values;
        changed();
      });
    }
    if (handles !== null) {
      handles.show(state.way === "handles");
      if (state.way === "handles") handles.set(state.handles);
    }
  }

  function drawWords() {
    get("loss").textContent = answer.title + (answer.link ? `, link ${answer.link}` : "");
    get("note").textContent = answer.note || (answer.link ? "" : "It has no weight function, and so no score: it is for trees and for judging.");
    get("reference").textContent = answer.reference;
    get("about").textContent = state.way === "family" ? answer.about : "";
    get("properties").tBodies[0].replaceChildren(...answer.properties.map(({ name, holds, reason }) => make("tr", {},
      Object.assign(make("th", {}, name), { scope: "row" }), make("td", {}, holds ? "yes" : "no"), make("td", {}, reason))));
    drawThreshold();
  }

  function drawThreshold() {
    const { c, words, costs } = settings.thresholds[state.threshold];
    get("threshold-value").textContent = c;
    get("threshold").setAttribute("aria-valuetext", `${c}: ${words}`);
    get("threshold-words").textContent = `${words} The positive class is decided from p = ${c} on.`;
    for (const one of answer.faces) if (one.x === "p") face(one.name).mark(c);
    get("values").caption.textContent = `At p = ${c}`;
    get("values").tBodies[0].replaceChildren(...answer.values.map(({ name, at }) => make("tr", {},
      Object.assign(make("th", {}, name), { scope: "row" }), make("td", { className: "number" }, short(at[state.threshold], 5)))));
    get("code").textContent = answer.code.replace("{costs}", costs);
    const [fp, fn] = costs.match(/[\d.e+-]+/g);
    get("command").textContent = `${answer.command} --fp-cost ${fp} --fn-cost ${fn}`;
  }

  // -- the models -------------------------------------------------------------------------------------

  const CHANCE = { "-1": "yes, cheaper", 0: "no", 1: "yes, dearer" };
  let pictures = new Map();

  function drawModels() {
    const data = settings.data.find((one) => one.name === state.data), { c } = settings.thresholds[state.threshold];
    const at = (model, key) => (model.error ? null : model[key][state.threshold]);
    const number = (value, digits = 4) => make("td", { className: "number" }, value === null ? "–" : short(value, digits));
    get("costs").caption.textContent = `Cost of 1,000 cases at the threshold ${c}, in false alarms, on rows that were not fitted`;
    get("costs").tBodies[0].replaceChildren(...judged.models.map((model, k) => {
      const log = judgedLog.models[k], row = make("tr", {}, Object.assign(make("th", {}, model.title), { scope: "row" }));
      if (model.error) row.append(make("td", { colSpan: 5 }, model.error));
      else {
        row.append(number(at(model, "cost")), number(at(log, "cost")), number(at(model, "difference")),
          make("td", {}, CHANCE[at(model, "verdict")]),
          make("td", { className: "number" }, `${short(model.log_loss, 4)} / ${short(log.log_loss, 4)}`));
      }
      return row;
    }));
    const warned = [...new Set(judged.models.flatMap((model) => model.warnings ?? []))];
    get("data-about").textContent = [data.about, data.rows, `The class that can be missed is ${data.positive}.`, ...warned].join(" ");
    get("boundaries").hidden = !data.plane;
    get("boundaries-heading").textContent = `Boundary: where the probability is ${c}`;
    judged.models.forEach((model, k) => drawModel(model, judgedLog.models[k], data, c));
  }

  function picture(place, name) {
    if (!pictures.has(place + name)) pictures.set(place + name, new charts.Chart(get(place).querySelector(".charts"), `${place} ${name}`));
    return pictures.get(place + name);
  }

  function drawModel(model, log, data, c) {
    const both = [{ kind: "log", of: log }, { kind: "own", of: model }].filter(({ of }) => !of.error);
    if (data.plane) {
      const { low, high, columns, points } = data.plane, chart = picture("boundaries", model.name);
      chart.axes({
        title: model.title, xlabel: columns[0], ylabel: columns[1], x: [low[0], high[0]], y: [low[1], high[1]],
        described: `${model.title}: where its probability is ${c}, for this loss and for the log loss`,
      });
      chart.plane(low, high, points, both.map(({ kind, of }) => ({ kind, ...of.plane })), c);
    }
    const chart = picture("reliabilities", model.name);
    chart.axes({
      title: model.title, xlabel: "stated probability", ylabel: "share of the class", x: [0, 1], y: [0, 1],
      xticks: [0, 0.25, 0.5, 0.75, 1], described: `${model.title}: share of the class at each stated probability, for this loss and for the log loss`,
    });
    chart.curves([
      { x: [0, 1], y: [0, 1], kind: "right" },
      ...both.map(({ kind, of }) => ({ kind, x: of.reliability.p, y: of.reliability.rate })),
    ]);
    chart.mark(c);
  }

  // -- questions --------------------------------------------------------------------------------------

  // One question at a time: while it is open, only the newest of those that follow is kept.
  let open = false, waiting = false, timer = 0, controller = null;

  async function ask() {
    if (open) { waiting = true; return; }
    open = true;
    const asked = query();
    try {
      answer = await source.faces(asked);
      problem("");
      drawFaces();
      drawWords();
      document.body.dataset.shown = JSON.stringify(asked);
    } catch (error) {
      problem(error.message);
      giveUp();
      get("fitting").textContent = "Nothing is fitted.";
    }
    open = false;
    if (waiting) { waiting = false; ask(); }
  }

  function problem(text) {
    get("problem").textContent = text;
  }

  // Fits wait until nothing has changed for a while; a fit that is out of date is given up.
  function giveUp() {
    clearTimeout(timer);
    controller?.abort();
  }

  function fit(delay = 350) {
    giveUp();
    get("judged").setAttribute("aria-busy", "true");
    get("fitting").textContent = "Fitting a linear model, a tree and boosting …";
    timer = setTimeout(async () => {
      controller = new AbortController();
      const { signal } = controller, asked = query(), data = state.data, slow = setTimeout(() => {
        get("fitting").textContent = "Fitting … the first fit compiles, which takes some seconds; later ones do not.";
      }, 2000);
      try {
        const log = await source.models({ ...(settings.server ? { loss: "Log()" } : { family: "Log" }) }, data, signal);
        const own = await source.models(asked, data, signal);
        if (signal.aborted) return;
        [judgedLog, judged] = [log, own];
        if (shownData !== data) forgetPictures(data);
        drawModels();
        get("fitting").textContent = settings.server ? `Fitted in ${short(own.seconds, 2)} s.` : "";
        get("judged").setAttribute("aria-busy", "false");
        document.body.dataset.fitted = JSON.stringify({ ...asked, data });
      } catch (error) {
        if (!signal.aborted) get("fitting").textContent = `Not fitted: ${error.message}`;
      } finally {
        clearTimeout(slow);
      }
    }, delay);
  }

  let shownData = null;
  function forgetPictures(data) {
    shownData = data;
    pictures = new Map();
    for (const place of document.querySelectorAll("#judged .charts")) place.replaceChildren();
  }

  function changed() {
    remember();
    ask();
    fit();
  }

  // -- controls ---------------------------------------------------------------------------------------

  function showWay() {
    for (const way of ["family", "handles", "text"]) get(`by-${way}`).hidden = state.way !== way;
    for (const input of document.querySelectorAll("[name=way]")) input.checked = input.value === state.way;
  }

  function showSliders() {
    const { sliders } = families.get(state.family);
    get("family").value = state.family;
    get("sliders").replaceChildren(...sliders.map(({ name, stops }, k) => {
      const id = `slider-${name}`, value = make("output", { id: `${id}-value` });
      value.htmlFor = id;
      const input = make("input", { type: "range", id, min: 0, max: stops.length - 1, step: 1, value: state.stops[k] });
      const show = () => {
        value.textContent = stops[state.stops[k]];
        input.setAttribute("aria-valuetext", stops[state.stops[k]]);
      };
      input.addEventListener("input", () => {
        state.stops[k] = Number(input.value);
        show();
        changed();
      });
      show();
      return make("p", { className: "field" }, make("label", { htmlFor: id }, name), value, input);
    }));
  }

  function chooseFamily(name) {
    state.family = name;
    state.stops = families.get(name).sliders.map(({ start }) => start);
    showSliders();
  }

  function chooseWay(way) {
    // Handles begin where the loss that is shown has its weight, and a text begins with it.
    if (way === "handles") state.handles = answer?.handles ?? settings.shapes[0].handles;
    if (way === "text") get("text").value = state.text = answer?.loss ?? "Log()";
    state.way = way;
    showWay();
    changed();
  }

  // What is chosen is kept in the address, so that it can be sent to others and survives a reload.
  function remember() {
    const chosen = new URLSearchParams({ ...query(), at: settings.thresholds[state.threshold].c, data: state.data });
    history.replaceState(null, "", `#${chosen}`);
  }

  function recall() {
    const given = new URLSearchParams(location.hash.slice(1));
    const threshold = settings.thresholds.findIndex(({ c }) => String(c) === given.get("at"));
    if (threshold >= 0) state.threshold = threshold;
    if (settings.data.some(({ name }) => name === given.get("data"))) state.data = given.get("data");
    if (families.has(given.get("family"))) {
      chooseFamily(given.get("family"));
      families.get(state.family).sliders.forEach(({ name, stops }, k) => {
        const place = stops.findIndex((stop) => String(stop) === given.get(name));
        if (place >= 0) state.stops[k] = place;
      });
      showSliders();
    }
    if (!settings.server) return;
    const heights = (given.get("handles") ?? "").split(",").map(Number);
    if (heights.length === settings.handles.length && heights.every((h) => h >= settings.handle_low && h <= settings.handle_high)) {
      Object.assign(state, { way: "handles", handles: heights });
    }
    if (given.has("loss")) get("text").value = Object.assign(state, { way: "text", text: given.get("loss") }).text;
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(get("code").textContent);
      get("copied").textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(get("code"));
      get("copied").textContent = "Selected: press Ctrl-C.";
    }
    setTimeout(() => { get("copied").textContent = ""; }, 3000);
  }

  function begin() {
    get("family").append(...settings.families.map(({ name }) => make("option", { value: name }, name)));
    get("data").append(...settings.data.map(({ name, title }) => make("option", { value: name }, title)));
    get("shapes").append(...settings.shapes.map(({ name, handles: values }) => {
      const button = make("button", { type: "button" }, name);
      button.addEventListener("click", () => {
        state.handles = values;
        changed();
      });
      return button;
    }));
    get("threshold").max = settings.thresholds.length - 1;
    chooseFamily(settings.family);
    recall();
    get("threshold").value = state.threshold;
    get("data").value = state.data;
    get("ways").hidden = !settings.server;
    get("no-server").hidden = settings.server;
    showWay();

    get("family").addEventListener("change", (event) => { chooseFamily(event.target.value); changed(); });
    for (const input of document.querySelectorAll("[name=way]")) input.addEventListener("change", () => chooseWay(input.value));
    get("by-text").addEventListener("submit", (event) => {
      event.preventDefault();
      state.text = get("text").value;
      changed();
    });
    get("threshold").addEventListener("input", (event) => {
      state.threshold = Number(event.target.value);
      remember();
      if (answer) drawThreshold();
      if (judged) drawModels();
    });
    get("data").addEventListener("change", (event) => { state.data = event.target.value; remember(); fit(0); });
    get("copy").addEventListener("click", copy);
    ask();
    fit(0);
  }

  begin();
})();
