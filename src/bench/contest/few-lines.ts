/** Some loads make the engine warn at every turn. */
const LINES_MAX = 5;

/** Passes the first lines of an engine on, with its name, and at the end says how many there were more. */
export function fewLines(
  name: string,
  onProgress: (text: string) => void,
): { line: (text: string) => void; end: () => void } {
  let told = 0;
  return {
    line: (text) => {
      if (++told <= LINES_MAX) onProgress(`${name}: ${text}`);
    },
    end: () => {
      if (told > LINES_MAX) onProgress(`${name}: and ${told - LINES_MAX} lines more`);
    },
  };
}
