const found = document.getElementById("charts");
const specs = found ? JSON.parse(found.textContent) : {};
const copy = (value) => JSON.parse(JSON.stringify(value));
const fitted = (spec, width) => {
  const own = copy(spec), room = Math.max(width - 12, 240);
  const legend = own.config.legend;
  const longest = (own.usermeta && own.usermeta.longest) || 16;
  legend.columns = Math.max(1, Math.floor(room / (longest * 7 + 44)));
  if (own.spec) {
    if (own.columns * own.spec.width > room) own.resolve = { ...own.resolve, axis: { x: "independent" } };
    const cell = own.spec.width + 70;
    own.columns = Math.max(1, Math.min(own.columns || 1, Math.floor(room / cell)));
    own.spec.width = Math.min(520, Math.floor(room / own.columns) - 70);
  } else {
    own.width = room;
    own.autosize = { type: "fit-x", contains: "padding" };
  }
  return own;
};
const options = {
  mode: "vega-lite", renderer: "svg", ast: true,
  actions: { export: true, source: false, compiled: false, editor: false },
};
const views = new Map();
const draw = async (place, width) => {
  const spec = specs[place.dataset.chart];
  if (!spec || views.get(place)?.width === width) return;
  views.get(place)?.view?.finalize();
  const live = place.querySelector(".live") || place.appendChild(document.createElement("div"));
  live.className = "live";
  views.set(place, { width });
  try {
    const result = await vegaEmbed(live, fitted(spec, width), { ...options, downloadFileName: place.dataset.chart });
    views.set(place, { width, view: result });
    live.classList.add("live");
    place.parentElement.setAttribute("role", "group");
    place.dataset.live = "yes";
  } catch (error) {
    console.error(error);
  }
};
const places = [...document.querySelectorAll(".chart[data-chart]")];
const all = () => places.forEach((place) => draw(place, Math.floor(place.parentElement.clientWidth)));
let waiting;
window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(all, 150); });
all();
