/** Every element of a document by its name, in order; throws where a tag is not closed, or closes another one. Scripts and styles are text. */
export function elementsOf(html: string): { name: string; attributes: string; text: string }[] {
  const elements: { name: string; attributes: string; text: string }[] = [];
  const open: { name: string; text: string }[] = [];
  const tag =
    /<!--[\s\S]*?-->|<!DOCTYPE html>|<(script|style)\b([^>]*)>([\s\S]*?)<\/\1>|<(\/?)([a-z][a-z0-9]*)((?:\s+[a-z-]+(?:="[^"]*")?)*)\s*>|[<>]/g;
  let from = 0;
  for (const match of html.matchAll(tag)) {
    const [all, raw, rawAttributes = "", rawText = "", slash, name = "", attributes = ""] = match;
    const inner = open.at(-1);
    if (inner !== undefined) inner.text += html.slice(from, match.index);
    from = match.index + all.length;
    if (all === "<" || all === ">")
      throw new Error(`a stray ${all}: …${html.slice(match.index - 40, match.index + 40)}`);
    if (raw !== undefined) elements.push({ name: raw, attributes: rawAttributes, text: rawText });
    else if (slash === "/") {
      if (inner?.name !== name) throw new Error(`</${name}> where ${inner?.name ?? "nothing"} is open`);
      open.pop();
    } else if (name !== "") {
      const element = { name, attributes, text: "" };
      elements.push(element);
      if (name !== "meta") open.push(element);
    }
  }
  if (open.length > 0) throw new Error(`never closed: ${open.map(({ name }) => name).join(", ")}`);
  return elements;
}

/** What a document could load from elsewhere, or run from an attribute. */
export function foreignIn(html: string): string[] {
  const markup = html.replaceAll(/<script>[\s\S]*?<\/script>/g, "");
  return [
    ...(html.match(/(?:https?|wss?|ftp):/gi) ?? []),
    ...(markup.match(
      /<(?:link|img|iframe|object|embed|base|audio|video|source)\b|\s(?:src|href|srcset|style|on[a-z]+)=|@import|url\(/gi,
    ) ?? []),
  ];
}
