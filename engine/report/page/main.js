// Builds the page from the data, and the toolbar that all charts follow.
const data = JSON.parse(document.getElementById("data").textContent);

function setZoom(range) {
  state.zoom = range;
  document.getElementById("zoom-out").hidden = range === null;
  drawAll();
}

function axisChoice() {
  const has = (axis) => data.runs.some((run) => run.curves[axis].some((x) => x !== null));
  const choices = Object.keys(kAxes).filter(has).map((axis) => element("label", {},
    element("input", {type: "radio", name: "axis", value: axis, checked: axis === state.axis, onchange: () => {
      state.axis = axis;
      state.cursor = null;
      setZoom(null);
    }}), element("span", {}, kAxes[axis].label)));
  return element("fieldset", {class: "segments"}, element("legend", {class: "visually-hidden"}, "Horizontal axis"), ...choices);
}

function smoothingChoice() {
  const shown = element("output", {}, state.smoothing + " %");
  const slider = element("input", {type: "range", min: 0, max: 10, step: 0.5, value: state.smoothing, oninput: () => {
    state.smoothing = Number(slider.value);
    shown.textContent = state.smoothing ? state.smoothing + " %" : "off";
    drawAll();
  }});
  return element("label", {class: "smoothing", title: "Width of the Gaussian that smooths noisy curves, in percent of a curve"},
    "Smoothing", slider, shown);
}

function legend() {
  const buttons = data.runs.map((run, i) => {
    const button = element("button", {type: "button", class: "legend-entry", "aria-pressed": "true", title: run.path, onclick: () => {
      if (!state.hidden.delete(i)) state.hidden.add(i);
      button.setAttribute("aria-pressed", String(!state.hidden.has(i)));
      for (const node of document.querySelectorAll(`[data-run="${i}"]`)) node.hidden = state.hidden.has(i);
      drawAll();
    }}, swatch(i), element("span", {class: "run-text"}, run.name));
    return button;
  });
  return element("div", {class: "legend", role: "group", "aria-label": "Runs shown"}, ...buttons);
}

function start() {
  const made = new Date(data.made * 1000).toISOString().slice(0, 16).replace("T", " ");
  document.getElementById("subtitle").textContent =
    (data.runs.length === 1 ? "1 run" : data.runs.length + " runs") + ", made on " + made + " UTC by dslaunch " + data.version;
  const toolbar = document.getElementById("toolbar");
  toolbar.append(legend(), element("div", {class: "choices"}, axisChoice(), smoothingChoice(),
    element("button", {type: "button", id: "zoom-out", class: "small", hidden: true, onclick: () => setZoom(null)}, "Zoom out")));
  toolbar.hidden = false;
  document.getElementById("main").append(...[runsSection(), curvesSection(), phasesSection(), savesSection(),
    eventsSection()].filter((part) => part !== null));
  drawAll();
}
start();
