import { ERROR_CODES } from "../../src/base/error.ts";
import { OPTIONS, type OptionFacts } from "../../src/cli/options.ts";

/** docs/errors.md, from the table of error codes. */
export function errorsPage(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { retry, means }]) => `| ${code} | ${means} | ${RETRIES[retry]} |`,
  );
  return `# Errors

An error has up to three lines: what happened with its code, where (server, table, file, position, GTID, worker; what is known of them), and
\`Try:\` with what helps. The exit code is 2 for CONFIG, 1 for PREFLIGHT, and 3 for all others.

| code | what it means | does the engine try again |
|---|---|---|
${rows.join("\n")}
`;
}

const RETRIES = { never: "no", now: "at once", later: "with growing pauses" } as const;

/** docs/options.md, from the options table of the command line. */
export function optionsPage(): string {
  const groups = new Map<string, OptionFacts[]>();
  for (const option of OPTIONS.values()) groups.set(option.group, [...(groups.get(option.group) ?? []), option]);
  const sections = [...groups].map(([group, options]) => `## ${group}\n\n${options.map(optionSection).join("\n\n")}`);
  return `# Options of \`replicate\`

Each option can be a flag, an environment variable or a line of the options file; a flag wins over the environment, the environment over the
file. The options file is \`abreast.yaml\` in the current folder, or what \`--config FILE\` or \`ABREAST_CONFIG\` names:

\`\`\`yaml
source: mysql://repl@db1:3306/?tls=on
source-password-file: /etc/abreast/source-password
target: mysql://abreast@db2:3306/
semi-sync: true
\`\`\`

A switch takes \`true\` or \`false\` in file and environment; as a flag it is \`--semi-sync\` or \`--no-semi-sync\`. Sizes have a unit (\`512K\`,
\`256M\`, \`4G\`; powers of 1024), times too (\`500ms\`, \`5s\`, \`2m\`, \`1h\`). Unknown options are errors wherever they stand.

Passwords belong in a password file or the environment. In a flag every user of the machine can read them until the engine has started; it then
replaces its command line by \`abreast replicate <channel>\`. Neither logs nor errors show them.

${sections.join("\n\n")}
`;
}

function optionSection(option: OptionFacts): string {
  const flag = flagText(option);
  const ways = [...(option.noFlag === true ? [] : [flag]), option.variable, `${option.key}:`];
  const fallback = option.isRequired
    ? "Required."
    : option.defaultText === undefined
      ? undefined
      : `Default: \`${option.defaultText}\`.`;
  const text = [sentence(option.what), fallback, option.why].filter((part) => part !== undefined);
  return `### ${option.key}\n\n${ways.map((way) => `\`${way}\``).join(" · ")}\n\n${text.join(" ")}`;
}

function flagText({ key, isSwitch, placeholder }: OptionFacts): string {
  if (!isSwitch) return `--${key} ${placeholder}`;
  return placeholder === "" ? `--${key}` : `--${key}[=${placeholder}]`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
