/**
 * A script is blocks with an empty line between: comments (`#`) and commands, then `----` and what they answer. Every command is played, in order.
 *
 * @returns the script with the answers as they are now.
 */
export function playBlocks(script: string, play: (line: string) => string[]): string {
  return script
    .trim()
    .split(/\n{2,}/)
    .map((block) => {
      const lines = block.split("\n");
      const end = lines.indexOf("----");
      const commands = end < 0 ? lines : lines.slice(0, end);
      if (commands.every((line) => line.startsWith("#"))) return commands.join("\n");
      const answers = commands.filter((line) => !line.startsWith("#")).flatMap((line) => play(line));
      return [...commands, "----", ...answers].join("\n");
    })
    .join("\n\n")
    .concat("\n");
}
