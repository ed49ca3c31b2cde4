"use strict";
// Drawing: numbers that the library computed become SVG. No formula of a loss is known here.
const charts = (() => {
  const WIDTH = 320, HEIGHT = 230, LEFT = 46, RIGHT = 8, TOP = 26, BOTTOM = 36;

  function element(name, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // A number in a few letters; a real minus sign.
  function short(value, digits = 3) {
    if (value === null || !Number.isFinite(value)) return "∞";
    const size = Math.abs(value);
    const text = size !== 0 && (size < 1e-3 || size >= 1e5)
      ? value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e")
      : String(Number(value.toPrecision(digits)));
    return text.replace(/-/g, "−");
  }

  // From values to places and back, by logarithms if asked to.
  function scale(low, high, from, to, log = false) {
    const bend = log ? Math.log : (x) => x, unbend = log ? Math.exp : (x) => x;
    const a = bend(low), b = bend(high);
    return {
      place: (value) => from + (bend(value) - a) / (b - a) * (to - from),
      value: (place) => unbend(a + (place - from) / (to - from) * (b - a)),
    };
  }

  function ticks(low, high, log) {
    if (log) {
      const every = Math.max(1, Math.ceil((Math.log10(high) - Math.log10(low)) / 5));
      const found = [];
      for (let k = Math.ceil(Math.log10(low) - 1e-9); k <= Math.log10(high) + 1e-9; k += every) found.push(10 ** k);
      return found;
    }
    const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough * 0.99);
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
    return found;
  }

  // The letters of a path; a number that is missing or out of sight by far interrupts it.
  function path(xs, ys, x, y) {
    let letters = "", pen = false;
    ys.forEach((value, i) => {
      const at = value === null ? NaN : y.place(value);
      if (!Number.isFinite(at)) { pen = false; return; }
      letters += `${pen ? "L" : "M"}${x.place(xs[i]).toFixed(2)} ${Math.max(-1e4, Math.min(1e4, at)).toFixed(2)}`;
      pen = true;
    });
    return letters;
  }

  // A picture with axes whose content can be drawn again and again; what else is put into it stays.
  class Chart {
    constructor(parent, name, { interactive = false } = {}) {
      this.name = name;
      this.figure = document.createElement("figure");
      this.svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: interactive ? "group" : "img" });
      this.svg.dataset.name = name;
      const clip = `clip-${name.replace(/\W+/g, "-")}`;
      this.svg.append(element("defs", {}, element("clipPath", { id: clip }, element("rect", {
        x: LEFT, y: TOP, width: WIDTH - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM,
      }))));
      this.frame = element("g", { "aria-hidden": "true" });
      this.content = element("g", { "clip-path": `url(#${clip})`, "aria-hidden": "true" });
      this.marker = element("line", { class: "mark", y1: TOP, y2: HEIGHT - BOTTOM, "aria-hidden": "true", visibility: "hidden" });
      this.svg.append(this.frame, this.content, this.marker);
      this.figure.append(this.svg);
      parent.append(this.figure);
    }

    // Axes: {title, xlabel, ylabel, x: [low, high], y: [low, high], log, xticks, described}
    axes(given) {
      this.x = scale(...given.x, LEFT, WIDTH - RIGHT);
      this.y = scale(...given.y, HEIGHT - BOTTOM, TOP, given.log);
      Object.assign(this.svg.dataset, { low: given.y[0], high: given.y[1], log: Boolean(given.log) });
      this.svg.setAttribute("aria-label", given.described);
      const parts = [element("text", { x: LEFT, y: 14, class: "title" }, given.title)];
      for (const at of ticks(...given.y, given.log)) {
        const y = this.y.place(at);
        parts.push(element("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y }));
        parts.push(element("text", { x: LEFT - 5, y: y + 4, "text-anchor": "end" }, short(at)));
      }
      for (const at of given.xticks ?? ticks(...given.x, false)) {
        const x = this.x.place(at);
        parts.push(element("line", { class: "axis", x1: x, x2: x, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 4 }));
        parts.push(element("text", { x, y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" }, short(at)));
      }
      parts.push(element("path", { class: "axis", d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}` }));
      const middle = (LEFT + WIDTH - RIGHT) / 2;
      parts.push(element("text", { x: middle, y: HEIGHT - 4, "text-anchor": "middle", class: "quiet" }, given.xlabel));
      parts.push(element("text", { x: WIDTH - RIGHT, y: 14, "text-anchor": "end", class: "quiet" }, given.ylabel));
      this.frame.replaceChildren(...parts);
    }

    // Curves: [{x, y, kind, dashed}], those that come last on top.
    curves(given) {
      this.content.replaceChildren(...given.map(({ x, y, kind, dashed }) => element("path", {
        class: `curve ${kind}${dashed ? " dashed" : ""}`, d: path(x, y, this.x, this.y),
      })));
    }

    // A point of each class, and the lines where a probability is c: [{kind, cells, p}].
    plane(low, high, points, planes, c) {
      const letters = ["", ""];
      for (const [a, b, label] of points) {
        const x = this.x.place(a).toFixed(1), y = this.y.place(b).toFixed(1);
        letters[label] += label ? `M${x - 2.5} ${y}h5m-2.5 -2.5v5` : `M${x} ${y}h.01`;
      }
      const parts = letters.map((d, label) => element("path", { class: `points ${label ? "one" : "zero"}`, d }));
      for (const { kind, cells, p } of planes) {
        const across = scale(0, cells - 1, this.x.place(low[0]), this.x.place(high[0]));
        const up = scale(0, cells - 1, this.y.place(low[1]), this.y.place(high[1]));
        parts.push(element("path", { class: `curve ${kind}`, d: contour(p, cells, c, across, up) }));
      }
      this.content.replaceChildren(...parts);
    }

    mark(at) {
      this.marker.setAttribute("visibility", at === null ? "hidden" : "visible");
      if (at !== null) for (const key of ["x1", "x2"]) this.marker.setAttribute(key, this.x.place(at));
    }
  }

  // The line where values on a grid are c: in each cell, between the sides that it crosses.
  function contour(values, cells, c, across, up) {
    const letters = [];
    for (let row = 0; row + 1 < cells; row++) {
      for (let column = 0; column + 1 < cells; column++) {
        const corners = [[0, 0], [1, 0], [1, 1], [0, 1]].map(([a, b]) => [column + a, row + b]);
        const heights = corners.map(([a, b]) => values[b * cells + a] - c);
        const ends = [];
        for (let k = 0; k < 4; k++) {
          const from = heights[k], to = heights[(k + 1) % 4];
          if (from < 0 === to < 0) continue;
          const share = from / (from - to), [a, b] = corners[k], [d, e] = corners[(k + 1) % 4];
          ends.push(`${across.place(a + share * (d - a)).toFixed(1)} ${up.place(b + share * (e - b)).toFixed(1)}`);
        }
        for (let k = 0; k + 1 < ends.length; k += 2) letters.push(`M${ends[k]}L${ends[k + 1]}`);
      }
    }
    return letters.join("");
  }

  // Handles to be dragged up and down, or moved by keys; `moved` gets their values.
  class Handles {
    constructor(chart, places, low, high, moved) {
      Object.assign(this, { chart, low, high, moved, values: [] });
      this.group = element("g", { hidden: "" });
      this.handles = places.map((p, k) => this.make(p, k));
      this.group.append(...this.handles);
      chart.svg.append(this.group);
      this.places = places;
    }

    make(p, k) {
      const handle = element("g", {
        class: "handle", role: "slider", tabindex: 0, "aria-label": `Weight at p = ${p}`, "aria-orientation": "vertical",
        "aria-valuemin": this.low, "aria-valuemax": this.high,
      }, element("circle", { class: "reach", r: 15 }), element("circle", { class: "ring", r: 11 }), element("circle", { r: 7 }));
      handle.addEventListener("pointerdown", (event) => {
        handle.setPointerCapture(event.pointerId);
        handle.focus({ focusVisible: false });
        event.preventDefault();
      });
      handle.addEventListener("pointermove", (event) => {
        if (!handle.hasPointerCapture(event.pointerId)) return;
        const svg = this.chart.svg, at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
        this.move(k, this.chart.y.value(at.y));
      });
      const factors = { ArrowUp: 1.1, ArrowRight: 1.1, ArrowDown: 1 / 1.1, ArrowLeft: 1 / 1.1, PageUp: 2, PageDown: 0.5 };
      handle.addEventListener("keydown", (event) => {
        const to = event.key === "Home" ? this.low : event.key === "End" ? this.high : this.values[k] * factors[event.key];
        if (!to) return;
        event.preventDefault();
        this.move(k, to);
      });
      return handle;
    }

    move(k, value) {
      const values = [...this.values];
      values[k] = Number(Math.min(this.high, Math.max(this.low, value)).toPrecision(3));
      this.set(values);
      this.moved(values);
    }

    set(values) {
      this.values = values;
      values.forEach((value, k) => {
        this.handles[k].setAttribute("transform", `translate(${this.chart.x.place(this.places[k])} ${this.chart.y.place(value)})`);
        this.handles[k].setAttribute("aria-valuenow", value);
        this.handles[k].setAttribute("aria-valuetext", short(value));
      });
    }

    show(shown) {
      this.group.toggleAttribute("hidden", !shown);
    }
  }

  return { Chart, Handles, short };
})();
