import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import vm from "node:vm";
import { expect, test } from "vitest";
import { readBrowserCode } from "./browser-code.ts";
import { elementsOf, foreignIn } from "./html.fixture.ts";
import { renderPage, type Chart, type Page } from "./page.ts";

const NASTY = `<script>alert(1)</script>"'&--><!--`;

const CHART: Chart = {
  kind: "bars",
  title: `Rows of ${NASTY}`,
  note: NASTY,
  x: { title: NASTY, unit: "text" },
  y: { title: "rows", unit: "count" },
  xs: ["shop.orders", NASTY],
  series: [{ name: NASTY, values: [1234, null] }],
};

const PAGE: Page = {
  title: NASTY,
  subtitle: NASTY,
  sections: [
    { kind: "text", title: NASTY, paragraphs: [NASTY, "60,000 transactions"] },
    CHART,
    {
      kind: "table",
      title: NASTY,
      note: NASTY,
      columns: [
        { title: NASTY, align: "left" },
        { title: "rows", align: "right" },
      ],
      rows: [
        [NASTY, "1,234"],
        ["shop.orders", "7"],
      ],
    },
    { ...CHART, kind: "lines", x: { title: "", unit: "time" }, xs: [1, 2], marks: [{ x: 1, text: NASTY }] },
  ],
};

test("every element of a page is closed, and names out of a log stay text", () => {
  const elements = elementsOf(renderPage(PAGE));
  const texts = (name: string): string[] => elements.filter((element) => element.name === name).map(({ text }) => text);
  const written = "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;--&gt;&lt;!--";
  expect(texts("script")).toHaveLength(3);
  expect(texts("title")).toEqual([written]);
  expect(texts("h2")).toEqual([written, `Rows of ${written}`, written, `Rows of ${written}`]);
  expect(texts("td")).toEqual([written, "1,234", "shop.orders", "7"]);
});

test("the values of the charts are embedded as they were given", () => {
  const data = elementsOf(renderPage(PAGE)).find(({ attributes }) => attributes.includes('id="charts"'));
  expect(data?.text).not.toContain("<");
  expect(JSON.parse(data?.text ?? "")).toEqual([PAGE.sections[1], PAGE.sections[3]]);
});

test("a page names nothing outside of itself, and its policy lets it run its own two scripts only", () => {
  const html = renderPage(PAGE);
  expect(foreignIn(html)).toEqual([]);
  const elements = elementsOf(html);
  const hashes = (name: string): string[] =>
    elements
      .filter((element) => element.name === name && !element.attributes.includes("json"))
      .map(({ text }) => `&#39;sha256-${createHash("sha256").update(text).digest("base64")}&#39;`);
  const policy = elements.find(({ attributes }) => attributes.includes("Content-Security-Policy"))?.attributes;
  expect(hashes("script")).toHaveLength(2);
  expect(policy).toContain(
    `default-src &#39;none&#39;; script-src ${hashes("script").join(" ")}; style-src ${hashes("style").join(" ")};`,
  );
});

test("without its data a page is small", () => {
  expect(Buffer.byteLength(renderPage({ title: "", subtitle: "", sections: [] }))).toBeLessThan(85_000);
});

test("the scripts parse, and each module of the browser is in them, behind those it imports", () => {
  const { scripts } = readBrowserCode();
  for (const { text } of scripts) expect(() => new vm.Script(text)).not.toThrow();
  const own = scripts[1]?.text ?? "";
  const exported = readdirSync(new URL("browser/", import.meta.url)).filter((file) => file.endsWith(".js"));
  expect(exported.toSorted()).toEqual([...readBrowserCode().modules].toSorted());
  expect(own).not.toMatch(/^(?:import|export)\b|\/\*/m);
});

test.each([
  ["an element that stays open", "<p><b>a</p>"],
  ["a bare sign", "<p>a < b</p>"],
])("the reader of these tests refuses %s", (_, html) => {
  expect(() => elementsOf(html)).toThrow(/open|stray|closed/);
});

test("the reader of these tests sees what a page would load", () => {
  expect(foreignIn('<img src="https://example.com/a.png">')).toEqual(["https:", "<img", " src="]);
});
