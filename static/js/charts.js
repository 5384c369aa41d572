// Draws every chart of a page from the JSON beside it, in the page's theme; each chart has its table in the page.
(() => {
  const LIGHT = ["#0f766e", "#2563eb", "#d97706", "#9333ea", "#db2777", "#65a30d", "#0891b2", "#dc2626", "#1e3a8a", "#78350f"];
  const DARK = ["#2dd4bf", "#60a5fa", "#fbbf24", "#c084fc", "#f472b6", "#a3e635", "#22d3ee", "#f87171", "#dbeafe", "#d8b08c"];
  const TWO_DASHES = "path://M0 0h8v6h-8zM12 0h8v6h-8z";
  const charts = new Map();
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  const small = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

  function exact(value, data) {
    if (data.places !== undefined) return new Intl.NumberFormat("en", { maximumFractionDigits: data.places }).format(value);
    const digits = value !== 0 && Math.abs(value) < 0.01 ? { maximumSignificantDigits: 3 } : { minimumFractionDigits: 2, maximumFractionDigits: 2 };
    return new Intl.NumberFormat("en", digits).format(value);
  }

  function theme() {
    const dark = document.documentElement.getAttribute("data-bs-theme") === "dark";
    const style = getComputedStyle(document.body);
    return {
      colors: dark ? DARK : LIGHT,
      rest: dark ? "#64748b" : "#94a3b8",
      limit: dark ? "#f87171" : "#dc2626",
      warning: dark ? "#fbbf24" : "#d97706",
      up: dark ? "#f87171" : "#dc2626",
      down: dark ? "#4ade80" : "#16a34a",
      text: dark ? "#a1a8b3" : "#5f6875",
      line: dark ? "rgba(148, 163, 184, 0.18)" : "rgba(100, 116, 139, 0.16)",
      surface: dark ? "#262626" : "#ffffff",
      font: style.fontFamily,
    };
  }

  // Elements, not HTML: the policy forbids inline styles, and names are other people's text.
  function element(tag, className, text) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  function tooltip(data, params) {
    const box = element("div", "chart-tip");
    box.append(element("div", "chart-tip-title", params[0].axisValueLabel));
    const rows = params.filter((item) => item.seriesIndex < data.series.length && item.value !== null && item.value !== undefined);
    const total = rows.reduce((sum, item) => sum + Number(item.value), 0);
    rows.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const table = element("table");
    for (const item of rows.filter((row) => Number(row.value) !== 0)) {
      const row = element("tr");
      const swatch = element("span", "chart-tip-swatch");
      if (data.series[item.seriesIndex].dashed) swatch.classList.add("chart-tip-dashed");
      swatch.style[data.series[item.seriesIndex].dashed ? "color" : "backgroundColor"] = item.color;
      const name = element("td", "chart-tip-name");
      name.append(swatch, item.seriesName);
      row.append(name, element("td", "num", `${exact(Number(item.value), data)} ${data.currency}`));
      table.append(row);
    }
    if (rows.length > 1 && data.stacked) {
      const row = element("tr", "chart-tip-total");
      row.append(element("td", "", "Total"), element("td", "num", `${exact(total, data)} ${data.currency}`));
      table.append(row);
    }
    const at = params[0].dataIndex;
    if (data.band && data.band.lower[at] !== null) {
      const row = element("tr");
      const [lower, upper] = [data.band.lower[at], data.band.upper[at]];
      row.append(element("td", "chart-tip-name", data.band.name), element("td", "num", `${exact(lower, data)} – ${exact(upper, data)} ${data.currency}`));
      table.append(row);
    }
    if (!rows.length) box.append(element("div", "", "No data"));
    box.append(table);
    return box;
  }

  // A name keeps its colour in all charts of the page; one that a chart's other names have taken gives way to a free one.
  const known = new Map();

  function places(items) {
    const own = items.filter((item) => !item.rest && !item.tone);
    if (own.length < 2) return new Map(own.map((item) => [item.name, 0]));
    const found = new Map();
    const taken = () => new Set(found.values());
    for (const { name } of own) if (known.has(name) && !taken().has(known.get(name))) found.set(name, known.get(name));
    for (const [index, { name }] of own.entries()) {
      if (found.has(name)) continue;
      const others = new Set(known.values());
      const free = LIGHT.map((_, place) => place).filter((place) => !taken().has(place));
      found.set(name, free.find((place) => !others.has(place)) ?? free[0] ?? index % LIGHT.length);
      if (!known.has(name)) known.set(name, found.get(name));
    }
    return found;
  }

  function color(item, look, own) {
    if (item.rest) return look.rest;
    if (item.tone in look) return look[item.tone];
    return look.colors[item.tone === "like_first" ? 0 : own.get(item.name)];
  }

  // A line that is not seen, and above it the shaded distance to the upper one.
  function band(data, look) {
    if (!data.band) return [];
    const { lower, upper, name } = data.band;
    const part = { type: "line", stack: "band", symbol: "none", silent: true, lineStyle: { opacity: 0 }, tooltip: { show: false }, color: look.colors[0] };
    const distance = upper.map((value, index) => (value === null ? null : value - lower[index]));
    return [{ ...part, name: `${name}, from`, data: lower, stackStrategy: "all" }, { ...part, name, data: distance, stackStrategy: "all", areaStyle: { color: look.colors[0], opacity: 0.16 } }];
  }

  function mark(data, look) {
    if (!data.mark) return undefined;
    return { silent: true, symbol: "none", animation: false, lineStyle: { color: look.limit, type: "dotted" }, label: { color: look.text, formatter: data.mark, position: "insideStartTop" }, data: [{ xAxis: data.mark }] };
  }

  function series(data, item, look, index, own) {
    const line = data.kind === "line";
    return {
      name: item.name,
      type: line ? "line" : "bar",
      stack: data.stacked ? "all" : undefined,
      data: item.values,
      color: color(item, look, own),
      barMaxWidth: 44,
      barCategoryGap: "28%",
      symbol: "circle",
      symbolSize: 5,
      showSymbol: item.values.length < 2,
      lineStyle: { width: item.rest && line ? 1.5 : 2, type: item.dashed ? "dashed" : "solid" },
      markLine: index === 0 ? mark(data, look) : undefined,
      areaStyle: line && data.stacked ? { opacity: 0.25 } : undefined,
      emphasis: { focus: data.series.length > 1 ? "series" : "none" },
    };
  }

  function option(data) {
    const look = theme();
    const own = places(data.series || []);
    const many = data.series.length > 1;
    return {
      animationDuration: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 250,
      textStyle: { fontFamily: look.font, color: look.text },
      // What the axis counts in: an amount means nothing without its currency.
      title: { text: data.currency, left: 8, top: 6, padding: 0, textStyle: { color: look.text, fontSize: 12, fontWeight: "normal", width: 240, overflow: "truncate" } },
      grid: { left: 8, right: 12, top: data.currency ? 32 : 16, bottom: many ? 36 : 8, containLabel: true },
      legend: many
        ? { type: "scroll", bottom: 0, left: 0, itemWidth: 10, itemHeight: 10, icon: "roundRect", data: data.series.map((item) => (item.dashed ? { name: item.name, icon: TWO_DASHES } : item.name)), textStyle: { color: look.text, width: 180, overflow: "truncate" }, pageIconColor: look.text, pageTextStyle: { color: look.text } }
        : undefined,
      tooltip: {
        trigger: "axis",
        confine: true,
        axisPointer: { type: data.kind === "line" ? "line" : "shadow" },
        backgroundColor: look.surface,
        borderColor: look.line,
        textStyle: { color: look.text, fontSize: 12 },
        formatter: (params) => tooltip(data, params),
      },
      xAxis: { type: "category", data: data.labels, axisLine: { lineStyle: { color: look.line } }, axisTick: { show: false }, axisLabel: { color: look.text, hideOverlap: true } },
      yAxis: { type: "value", axisLabel: { color: look.text, formatter: (value) => (Math.abs(value) < 1 ? small : compact).format(value) }, splitLine: { lineStyle: { color: look.line } } },
      series: [...data.series.map((item, index) => series(data, item, look, index, own)), ...band(data, look)],
    };
  }

  // Bars that float from one amount to the next; the first and the last stand on 0.
  function waterfall(data, width) {
    const look = theme();
    const last = data.steps.length - 1;
    const shade = ([from, to], index) => (index === 0 || index === last ? look.rest : to > from ? look.up : look.down);
    const amounts = data.steps.flat().filter((amount) => amount !== 0);
    const [low, high] = [Math.min(...amounts), Math.max(...amounts)];
    // Small moves of a large sum would be hairlines: then the axis begins below them instead of at 0.
    const unit = 10 ** Math.floor(Math.log10(high - low || 1));
    const begins = low > 0 && high - low < 0.25 * high ? Math.max(0, Math.floor((2 * low - high) / unit) * unit) : undefined;
    const narrow = width / data.labels.length < 56;
    const bars = data.steps.map((step, index) => {
      const color = shade(step, index);
      return { value: [step[0], step[1], Math.min(...step), Math.max(...step)], itemStyle: { color, color0: color, borderColor: color, borderColor0: color } };
    });
    const tip = ([param]) => {
      const [from, to] = data.steps[param.dataIndex];
      const box = element("div", "chart-tip");
      box.append(element("div", "chart-tip-title", param.axisValueLabel), element("div", "num", `${to - from > 0 && from !== 0 ? "+" : ""}${exact(to - from, data)} ${data.currency}`));
      return box;
    };
    const plain = option({ ...data, kind: "bar" });
    return {
      ...plain,
      tooltip: { ...plain.tooltip, formatter: tip },
      xAxis: { ...plain.xAxis, axisLabel: { color: look.text, interval: 0, rotate: narrow ? 90 : data.labels.length > 5 ? 30 : 0, fontSize: narrow ? 11 : 12, width: 110, overflow: "truncate" } },
      yAxis: { ...plain.yAxis, scale: true, min: begins ?? ((range) => Math.min(0, range.min)) },
      series: [{ type: "candlestick", data: bars, barWidth: "60%" }],
    };
  }

  function drawn(data, node) {
    return data.kind === "waterfall" ? waterfall(data, node.clientWidth) : option(data);
  }

  function resize(node) {
    const { chart, data } = charts.get(node) || {};
    chart?.resize();
    // How its names lie follows its width.
    if (data?.kind === "waterfall") chart.setOption(drawn(data, node));
  }

  const resizer = new ResizeObserver((entries) => {
    for (const entry of entries) resize(entry.target);
  });

  function draw(node) {
    const data = JSON.parse(node.dataset.chart);
    const chart = echarts.init(node);
    charts.set(node, { chart, data });
    chart.setOption(drawn(data, node));
    resizer.observe(node);
    node.dataset.drawn = "true";
  }

  function drawAll() {
    for (const [node, { chart }] of charts) {
      if (node.isConnected) continue;
      resizer.unobserve(node);
      chart.dispose();
      charts.delete(node);
    }
    // Another answer begins anew, as it would on a page of its own.
    if (!charts.size) known.clear();
    for (const node of document.querySelectorAll("[data-chart]")) if (!charts.has(node)) draw(node);
  }

  document.addEventListener("DOMContentLoaded", drawAll);
  document.addEventListener("htmx:afterSettle", drawAll);
  document.addEventListener("console:theme", () => {
    for (const [node, { chart, data }] of charts) chart.setOption({ ...drawn(data, node), animation: false }, true);
  });
})();
