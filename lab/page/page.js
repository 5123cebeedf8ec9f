// SPDX-License-Identifier: MIT
// What a page adds where a script may run: values under the pointer, series that are switched on and off, tables that
// are sorted, data that is saved. Everything that is said stands on the page without it. Texts of the data become text
// nodes, never markup; nothing is fetched.
"use strict";
(() => {
    const MOST_VALUES = 12; // under the pointer
    const SVG = "http://www.w3.org/2000/svg";

    const all = (selector, within = document) => [...within.querySelectorAll(selector)];

    function make(name, properties, ...children) {
        const element = Object.assign(document.createElement(name), properties);
        element.append(...children);
        return element;
    }

    function draw(name, attributes) {
        const element = document.createElementNS(SVG, name);
        for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
        return element;
    }

    const plain = (number, digits = 4) => String(Number(number.toPrecision(digits)));

    // ---- data ----

    // A chart's numbers, with every series' own x.
    function readChart(script) {
        const chart = JSON.parse(script.textContent);
        chart.series.forEach((series, i) => { series.x = series.x ?? chart.series[i - 1].x; });
        return chart;
    }

    const readCharts = (within) => all("script.data", within).map(readChart);
    const readPage = () => JSON.parse(document.getElementById("data").textContent);

    // ---- values under the pointer ----

    // Where value x stands in ascending values, or -1.
    function find(values, x) {
        let low = 0, high = values.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (values[middle] < x) low = middle + 1;
            else high = middle;
        }
        return values[low] === x ? low : -1;
    }

    class Readout {
        constructor(script) {
            this.svg = script.previousElementSibling;
            this.cell = this.svg.parentElement;
            this.legend = this.svg.closest(".grid").previousElementSibling;
            this.chart = readChart(script);
            this.places = [...new Set(this.chart.series.flatMap((series) => series.x))].sort((a, b) => a - b);
            this.cursor = draw("line", { class: "cursor off", y1: this.chart.frame[1], y2: this.chart.frame[3] });
            this.box = make("div", { className: "readout off" });
            this.box.setAttribute("aria-hidden", "true"); // the slider says the same
            this.svg.append(this.cursor);
            this.cell.append(this.box);
        }

        pixel(value, axis) {
            const { frame, range, log } = this.chart;
            const [from, to] = axis === "x" ? [frame[0], frame[2]] : [frame[3], frame[1]];
            const scale = axis === "y" && log ? Math.log : Number;
            const [low, high] = (axis === "x" ? range.slice(0, 2) : range.slice(2)).map(scale);
            return from + (scale(value) - low) / (high - low) * (to - from);
        }

        nearest(pixel) {
            const away = this.places.map((x) => Math.abs(this.pixel(x, "x") - pixel));
            return away.reduce((best, far, i) => (far < away[best] ? i : best), 0);
        }

        // What the series that are shown have there, best above; of many those nearest to the pointer.
        values(place, height) {
            const found = [];
            for (const series of this.chart.series) {
                const at = find(series.x, this.places[place]);
                const off = this.svg.querySelector(`.off[data-mark="${series.mark}"]`);
                if (at >= 0 && series.y[at] !== null && !off) found.push({ series, at, y: series.y[at] });
            }
            const away = (value) => Math.abs(this.pixel(value.y, "y") - height);
            const near = height === undefined ? found : found.sort((a, b) => away(a) - away(b));
            return near.slice(0, MOST_VALUES).sort((a, b) => b.y - a.y);
        }

        name(place) {
            const { names, x } = this.chart;
            const at = this.places[place];
            return names ? names[at].replace("\n", ", n = ") : `${plain(at, 9)} ${x}`;
        }

        range({ series, at }) {
            const known = series.low && series.low[at] !== series.high[at];
            return known ? ` ${plain(series.low[at], 3)} – ${plain(series.high[at], 3)}` : "";
        }

        said(place) {
            const one = (value) => `${value.series.name} ${plain(value.y)}${this.range(value)}`;
            return `${this.name(place)}: ${this.values(place).map(one).join("; ")}`;
        }

        show(place, height) {
            const table = make("table", {});
            for (const value of this.values(place, height)) {
                const swatch = this.legend?.querySelector(`[data-mark="${value.series.mark}"] .swatch`);
                const name = make("th", {}, swatch?.cloneNode(true) ?? "", value.series.name);
                const number = make("td", {}, plain(value.y), make("small", {}, this.range(value)));
                table.append(make("tr", {}, name, number));
            }
            this.box.replaceChildren(make("b", {}, this.name(place)), table);
            const x = this.pixel(this.places[place], "x");
            this.cursor.setAttribute("x1", x);
            this.cursor.setAttribute("x2", x);
            this.cursor.classList.remove("off");
            this.box.classList.remove("off");
            this.put(x);
        }

        // Beside the cursor, on the side where there is room, else below the chart; without ranges where it is narrow.
        put(x) {
            const scale = this.svg.clientWidth / this.svg.viewBox.baseVal.width, room = this.cell.clientWidth / 2;
            this.box.classList.remove("tight");
            this.box.classList.toggle("tight", this.box.offsetWidth > room);
            const width = this.box.offsetWidth;
            const right = x * scale + 14, left = x * scale - 14 - width;
            const fits = right + width <= this.cell.clientWidth;
            this.box.style.left = `${fits ? right : Math.max(0, left)}px`;
            const above = this.svg.getBoundingClientRect().top - this.cell.getBoundingClientRect().top;
            this.box.style.top = `${above + (fits || left >= 0 ? 24 * scale : this.svg.clientHeight)}px`;
        }

        hide() {
            this.cursor.classList.add("off");
            this.box.classList.add("off");
        }
    }

    function watch(script) {
        const svg = script.previousElementSibling;
        let made = null;
        const readout = () => (made ??= new Readout(script));
        const slider = make("input", { type: "range", className: "scrub", min: 0, max: 0, value: 0 });
        slider.setAttribute("aria-label", `${svg.getAttribute("aria-label")}: values`);
        const slide = () => {
            slider.max = readout().places.length - 1;
            slider.setAttribute("aria-valuetext", readout().said(Number(slider.value)));
            readout().show(Number(slider.value));
        };
        slider.addEventListener("focus", slide);
        slider.addEventListener("input", slide);
        slider.addEventListener("blur", () => readout().hide());
        slider.addEventListener("keydown", (event) => { if (event.key === "Escape") readout().hide(); });
        const point = (event) => {
            const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
            readout().show(readout().nearest((event.clientX - box.left) * scale), (event.clientY - box.top) * scale);
        };
        svg.addEventListener("pointermove", point);
        svg.addEventListener("pointerdown", point);
        svg.addEventListener("pointerleave", () => readout().hide());
        script.after(slider);
    }

    // ---- series ----

    function switchable(item) {
        const mark = item.dataset.mark, figure = item.closest("figure");
        // A figure of several encodings has a legend for each: it speaks for the charts that follow it.
        const scope = item.parentElement.nextElementSibling ?? figure;
        const own = () => all(`.series[data-mark="${mark}"]`, scope);
        const others = () => all(`.chart .series[data-mark]:not([data-mark="${mark}"])`, scope);
        const button = make("button", { type: "button" }, ...item.childNodes);
        const light = (dim) => others().forEach((series) => series.classList.toggle("dim", dim));
        button.setAttribute("aria-pressed", "true");
        button.addEventListener("click", () => {
            const shown = button.getAttribute("aria-pressed") === "true";
            button.setAttribute("aria-pressed", String(!shown));
            own().forEach((series) => series.classList.toggle("off", shown));
            light(false);
        });
        button.addEventListener("pointerenter", () => light(button.getAttribute("aria-pressed") === "true"));
        button.addEventListener("pointerleave", () => light(false));
        item.append(button);
    }

    // ---- tables ----

    // The number that a cell is sorted by; what is none comes last.
    function key(cell) {
        const text = cell.dataset.value ?? cell.textContent.trim();
        const words = cell.classList.contains("left") || cell.localName === "th";
        return { number: words ? NaN : parseFloat(text.replace("−", "-")), text };
    }

    function compare(a, b) {
        if (!Number.isNaN(a.number) && !Number.isNaN(b.number)) return a.number - b.number;
        return a.text.localeCompare(b.text, "en", { numeric: true });
    }

    function sortable(table) {
        const body = table.tBodies[0], heads = all("thead th", table), original = [...body.rows];
        const sort = (column, direction) => {
            const rows = original.map((row) => ({ row, key: key(row.cells[column]) }));
            const numeric = rows.some((entry) => !Number.isNaN(entry.key.number));
            const last = (entry) => Number(numeric && Number.isNaN(entry.key.number));
            if (direction !== "none") {
                const sign = direction === "ascending" ? 1 : -1;
                rows.sort((a, b) => last(a) - last(b) || sign * compare(a.key, b.key));
            }
            body.append(...rows.map((entry) => entry.row));
        };
        heads.forEach((head, column) => {
            const [name, ...unit] = head.childNodes;
            const order = make("span", { className: "order" });
            const button = make("button", { type: "button", title: "sort" }, name, order, ...unit);
            const orders = ["descending", "ascending", "none"];
            if (head.classList.contains("left")) orders.unshift(...orders.splice(1, 1));
            button.addEventListener("click", () => {
                const next = orders[(orders.indexOf(head.getAttribute("aria-sort") ?? "none") + 1) % 3];
                heads.forEach((other) => other.removeAttribute("aria-sort"));
                if (next !== "none") head.setAttribute("aria-sort", next);
                sort(column, next);
            });
            head.append(button);
        });
    }

    // ---- saving ----

    function save(name, type, text) {
        const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }

    // What a spreadsheet would take for a formula stays a text.
    function field(value) {
        if (value === null || value === undefined) return "";
        if (typeof value !== "string") return String(value);
        const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
        return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    }

    // Rows are objects; columns are all their names, as they come.
    function csv(rows) {
        const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
        const lines = [names, ...rows.map((row) => names.map((name) => row[name]))];
        return lines.map((line) => `${line.map(field).join(",")}\n`).join("");
    }

    // {"accuracy": {"mean": 1}, "lengths": [{"length": 32, …}]} → {"accuracy.mean": 1, "lengths.32.…": …}
    function flat(value, name = "", into = {}) {
        const under = (part) => (name ? `${name}.${part}` : part);
        if (Array.isArray(value)) value.forEach((item, i) => flat(item, under(item?.length ?? item?.low ?? i), into));
        else if (value !== null && typeof value === "object")
            Object.entries(value).forEach(([part, own]) => part === "runs" || flat(own, under(part), into));
        else into[name] = value;
        return into;
    }

    const points = (charts) => charts.flatMap((chart) => chart.series.flatMap((series) => series.x.map((x, i) => ({
        chart: chart.title,
        series: series.name,
        [chart.names ? "place" : "x"]: chart.names ? chart.names[x].split("\n")[0] : x,
        y: series.y[i],
        low: series.low?.[i],
        high: series.high?.[i],
    }))));

    // What a figure, a table or the page has: name of the file, rows of CSV, JSON.
    function content(element) {
        const section = Number(element.closest("section")?.id.slice("section".length));
        switch (element.dataset.save) {
        case "scores": {
            const found = readPage().sections[section - 1];
            return { name: `scores-${section}`, rows: found.rows.map((row) => flat(row)), json: found };
        }
        case "runs": {
            const runs = readPage().runs.filter((run) => run.section === section);
            return { name: `runs-${section}`, rows: runs.map((run) => flat(run)), json: runs };
        }
        case "page": {
            const json = { ...readPage(), charts: readCharts(document) };
            return { name: "page", rows: json.runs.map((run) => flat(run)), json };
        }
        default: {
            const charts = readCharts(element);
            return { name: element.querySelector("figcaption")?.id ?? "figure", rows: points(charts), json: charts };
        }
        }
    }

    const forms = {
        CSV: { end: "csv", type: "text/csv", write: ({ rows }) => csv(rows) },
        JSON: { end: "json", type: "application/json", write: ({ json }) => `${JSON.stringify(json, null, 1)}\n` },
    };

    function savable(element) {
        const what = element.dataset.save === "page" ? "all data" : element.dataset.save;
        const buttons = Object.entries(forms).map(([name, form]) => {
            const button = make("button", { type: "button" }, name);
            button.setAttribute("aria-label", `save ${what} as ${name}`);
            button.addEventListener("click", () => {
                const saved = content(element);
                save(`${saved.name}.${form.end}`, form.type, form.write(saved));
            });
            return button;
        });
        element.append(make("div", { className: "tools" }, "Save as", ...buttons));
    }

    // ---- the page ----

    all("script.data").forEach(watch);
    all(".legend li[data-mark]").forEach(switchable);
    all("table.sortable").forEach(sortable);
    all("[data-save]").forEach(savable);

    // On paper nothing can be opened.
    const closed = () => all("details:not([open])");
    let opened = [];
    addEventListener("beforeprint", () => {
        opened = closed();
        opened.forEach((details) => { details.open = true; });
    });
    addEventListener("afterprint", () => opened.forEach((details) => { details.open = false; }));
})();
