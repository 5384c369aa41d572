// Saves a chart as a picture with the page's background. With limited cost access its first line names the limit.
import { charts, currentTheme } from "./charts.js";

const SCALE = 2;
const LINE = 28 * SCALE;

function withLine(canvas, text, theme) {
  const picture = document.createElement("canvas");
  Object.assign(picture, { width: canvas.width, height: canvas.height + LINE });
  const context = picture.getContext("2d");
  context.fillStyle = theme.surface;
  context.fillRect(0, 0, picture.width, picture.height);
  context.fillStyle = theme.text;
  context.font = `${13 * SCALE}px ${theme.font}`;
  context.fillText(text, 8 * SCALE, LINE * 0.7, picture.width - 16 * SCALE);
  context.drawImage(canvas, 0, LINE);
  return picture;
}

document.addEventListener("click", ({ target }) => {
  if (!target.closest("[data-chart-png]")) return;
  const line = document.querySelector("[data-cost-access]")?.textContent.trim();
  const theme = currentTheme();
  for (const [node, { chart }] of charts) {
    const canvas = chart.renderToCanvas({ pixelRatio: SCALE, backgroundColor: theme.surface });
    const link = document.createElement("a");
    link.href = (line ? withLine(canvas, line, theme) : canvas).toDataURL();
    link.download = `${node.dataset.name}.png`;
    link.click();
  }
});
