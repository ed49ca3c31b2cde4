"use strict";
/* Sliders for the costs. The page states steps: rows in the order of what a miss is expected to cost, over
   what a false alarm is, with sums from each step on. Everything shown follows from these sums. */
(function () {
  const block = document.getElementById("costs-slider");
  const source = document.getElementById("costs-data");
  if (!block || !source) { return; }
  const data = JSON.parse(source.textContent);
  const find = (name) => document.getElementById("costs-" + name);
  const sliders = { fp: find("fp"), fn: find("fn") };

  function shown(value) {
    if (value === 0) { return "0"; }
    const size = Math.abs(value);
    const text = size >= 100
      ? Math.round(value).toLocaleString("en-US")
      : String(Number(value.toPrecision(3)));
    return text.replace("-", "−");
  }
  function amount(value) {
    const size = Math.abs(value);
    const text = size >= 1e9 ? shown(value / 1e9) + " billion"
      : size >= 1e6 ? shown(value / 1e6) + " million"
      : shown(size >= 1e4 ? Number(value.toPrecision(3)) : value);
    return data.unit ? text + " " + data.unit : text;
  }
  /* The steps from which on the alarm is raised: those whose ratio, times the factor, is 1 at least. */
  function first(factor) {
    let low = 0, high = data.ratio.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (data.ratio[middle] * factor >= 1 - 1e-12) { high = middle; } else { low = middle + 1; }
    }
    return low;
  }
  function result(fp, fn) {
    const k = first(fn / fp);
    const misses = data.positives[0] - data.positives[k], hits = data.positives[k];
    const alarms = data.negatives[k], quiet = data.negatives[0] - data.negatives[k];
    const cost = fp * data.alarmCost[k] + fn * (data.missCost[0] - data.missCost[k]);
    const never = fn * data.missCost[0], always = fp * data.alarmCost[0];
    return { hits, misses, alarms, quiet, cost, never, always, saved: Math.min(never, always) - cost };
  }
  const factor = (slider) => Math.pow(10, Number(slider.value));
  function update() {
    const fp = factor(sliders.fp), fn = factor(sliders.fn), now = result(fp, fn), n = data.cases;
    for (const [name, value] of [["fp", fp], ["fn", fn]]) {
      const text = data.stated ? amount(value * data.stated[name]) : "× " + shown(value);
      find(name + "-value").textContent = text;
      sliders[name].setAttribute("aria-valuetext", text);
    }
    for (const cell of ["hits", "misses", "alarms", "quiet"]) { find(cell).textContent = shown(now[cell] * n); }
    find("cost").textContent = amount(now.cost * n);
    find("saved").textContent = amount(now.saved * n);
    find("against").textContent = now.never <= now.always ? data.never : data.always;
    if (data.stated) {
      const c = fp * data.stated.fp / (fp * data.stated.fp + fn * data.stated.fn);
      find("threshold").textContent = shown(c);
      const mark = document.getElementById("murphy-mark");
      if (mark) {
        const low = Number(mark.dataset.low), high = Number(mark.dataset.high);
        const x = (low + c * (high - low)).toFixed(3);
        mark.setAttribute("x1", x);
        mark.setAttribute("x2", x);
        mark.dataset.c = String(c);
      }
    }
    block.dataset.exact = JSON.stringify(now);
  }
  for (const slider of Object.values(sliders)) { slider.addEventListener("input", update); }
  find("reset").addEventListener("click", function () {
    for (const slider of Object.values(sliders)) { slider.value = "0"; }
    update();
  });
  block.hidden = false;
  update();
})();
