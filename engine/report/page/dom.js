// Helpers that make elements. Texts become text nodes, never markup, whatever they contain.
const kSvg = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}
function shape(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(kSvg, tag), attributes, children);
}

/** A section with a heading; empty ones are never made. */
function section(id, title, note, ...children) {
  return element("section", {id, "aria-labelledby": id + "-title"},
    element("h2", {id: id + "-title"}, title),
    note ? element("p", {class: "note"}, note) : null, ...children);
}

// The colors of runs are classes, so that the style sheet can have others for a dark page. Runs
// beyond the palette have the same colors again, with dashes.
const kColors = 7;
const kDashes = [null, "7 4", "2 3", "10 3 2 3"];
const colorOf = (run) => "run-" + (run % kColors);
const dashOf = (run) => kDashes[Math.floor(run / kColors) % kDashes.length];

/** A short line as a run is drawn, for legends and tables. */
function swatch(run) {
  return shape("svg", {class: "swatch " + colorOf(run), width: 22, height: 10, "aria-hidden": "true"},
    shape("line", {x1: 1, y1: 5, x2: 21, y2: 5, "stroke-dasharray": dashOf(run)}));
}
