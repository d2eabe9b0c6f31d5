"use strict";

// Plotly comes packed: unpacking it here keeps the file a third of the size, and needs no network.
async function loadPlotly() {
  const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
  const text = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const script = document.createElement("script");
  script.textContent = text;
  document.head.append(script);
}

// Every CSS variable in a figure becomes the value that the style sheet gives it on this page, now.
function resolve(value, style) {
  if (Array.isArray(value)) return value.map((one) => resolve(one, style));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolve(one, style)]));
  }
  const name = typeof value === "string" && /^var\((--[\w-]+)\)$/.exec(value);
  return name ? style.getPropertyValue(name[1]).trim() : value;
}

function layoutFor(figure, plot, onPaper) {
  const narrow = plot.clientWidth < 480;
  const small = { size: narrow ? 11 : 12.5 };
  const axis = { gridcolor: "var(--rule)", linecolor: "var(--faint)", zeroline: false, automargin: true, fixedrange: coarse.matches };
  return {
    ...figure.layout,
    height: (onPaper ? 0.75 : 1) * (figure.layout.height + (plot.clientWidth > 700 ? 60 : 0)),
    width: onPaper ? plot.clientWidth : undefined,
    margin: { l: 56, r: 12, t: 30, b: 44 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { ...small, family: getComputedStyle(document.body).fontFamily, color: "var(--muted)" },
    hoverlabel: { bgcolor: "var(--paper)", bordercolor: "var(--rule)", font: { color: "var(--ink)" } },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { color: "var(--ink)" } },
    xaxis: { ...axis, ...figure.layout.xaxis, nticks: narrow ? 5 : 9, title: { ...figure.layout.xaxis.title, font: small } },
    yaxis: { ...axis, ...figure.layout.yaxis, title: { ...figure.layout.yaxis.title, font: small } },
  };
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const coarse = matchMedia("(pointer: coarse)");

function draw(onPaper = false) {
  const style = getComputedStyle(document.documentElement);
  for (const source of document.querySelectorAll("script[data-plot]")) {
    const plot = document.getElementById(source.dataset.plot);
    const figure = JSON.parse(source.textContent);
    const layout = layoutFor(figure, plot, onPaper);
    Plotly.react(plot, resolve(figure.data, style), resolve(layout, style), { responsive: true, displaylogo: false, displayModeBar: false });
  }
}

loadPlotly().then(() => {
  draw();
  dark.addEventListener("change", () => draw());
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("printing");
    for (const details of document.querySelectorAll("section details")) details.open = true;
    draw(true);
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("printing");
    draw();
  });
  document.documentElement.dataset.ready = "true";
}, (error) => {
  for (const plot of document.querySelectorAll(".plot")) plot.textContent = "This browser could not draw the figure; the tables hold its numbers.";
  throw error;
});
