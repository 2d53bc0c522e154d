/** HTML as text. What comes from outside (names of tables, statements, reasons) goes through `escape`, in text and in attributes alike. */

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/** `content` is HTML already; the values of attributes are not, and are escaped here. */
export function element(name: string, attributes: Readonly<Record<string, string>>, content: string): string {
  const written = Object.entries(attributes).map(([attribute, value]) => ` ${attribute}="${escape(value)}"`);
  return `<${name}${written.join("")}>${content}</${name}>`;
}

/** A value for `JSON.parse` inside a script element, which only the text `</script` could end early: no `<` is left in it. */
export function embeddedJson(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}
