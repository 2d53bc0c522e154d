import path from "node:path";
import { ReplicationError } from "../base/error.ts";
import { parseServerUrl, type ServerAddress } from "../base/server-url.ts";
import { FLAVOURS } from "../sandbox/flavours.ts";
import { didYouMean } from "./nearest.ts";
import { findOptionsFile, OPTIONS_FILE, readOptionsFile, readText } from "./options-file.ts";
import { OPTIONS, OPTIONS_PAGE, type Given, type OptionFacts, type OptionName, type Options } from "./options.ts";

/** The options of one command, read from flags, then `ABREAST_*` environment, then the options file, then defaults. */
export interface Config<N extends OptionName> {
  values: Pick<Options, N>;
  /** Where an option's value came from, as the subject of a sentence: `--workers`, `ABREAST_WORKERS`, `workers in abreast.yaml, line 3`. */
  origin(name: N): string;
}

export interface ConfigPlaces {
  /** What commander collected: camel-case names, only flags that were given. `config` is the options file. */
  flags: Readonly<Record<string, unknown>>;
  environment: Readonly<Record<string, string | undefined>>;
  /** Where `abreast.yaml` is looked for. */
  folder: string;
}

const CONFIG_VARIABLE = "ABREAST_CONFIG";

/** @throws ReplicationError CONFIG, which names the option and where its value came from, and never quotes a secret. */
export function readConfig<N extends OptionName>(names: readonly N[], places: ConfigPlaces): Config<N> {
  checkVariables(places.environment);
  const file = optionsOfFile(places);
  const origins = new Map<N, string>();
  const values = Object.fromEntries(
    names.map((name) => {
      const option = factsOf(name);
      const given = fromFlag(option, places) ?? fromVariable(option, places) ?? file.get(option.name);
      origins.set(name, given?.origin ?? option.key);
      return [name, parse(option, given)];
    }),
  ) as Pick<Options, N>;
  return { values, origin: (name) => origins.get(name) ?? factsOf(name).key };
}

function factsOf(name: OptionName): OptionFacts {
  const option = OPTIONS.get(name);
  if (option === undefined) throw new TypeError(`no option ${name}`);
  return option;
}

function fromFlag(option: OptionFacts, { flags }: ConfigPlaces): Given | undefined {
  const value = flags[option.name];
  if (option.noFlag === true || value === undefined) return undefined;
  return { value, origin: value === false ? `--no-${option.key}` : `--${option.key}` };
}

function fromVariable(option: OptionFacts, { environment }: ConfigPlaces): Given | undefined {
  const value = environment[option.variable];
  return value === undefined ? undefined : { value, origin: option.variable };
}

function optionsOfFile({ flags, environment, folder }: ConfigPlaces): ReadonlyMap<OptionName, Given> {
  const named = (flags["config"] as string | undefined) ?? environment[CONFIG_VARIABLE];
  const file = named === undefined ? findOptionsFile(folder) : path.resolve(folder, named);
  return file === undefined ? new Map() : readOptionsFile(file);
}

function parse(option: OptionFacts, given: Given | undefined): unknown {
  if (given === undefined && option.isRequired) {
    throw new ReplicationError("CONFIG", `${option.key} is not given`, { hint: waysToGive(option) });
  }
  const result = option.schema.safeParse(given?.value);
  if (result.success) return result.data;
  const subject = given?.origin ?? `the default of ${option.key}`;
  const isQuotable = option.secret !== true && ["string", "number", "boolean"].includes(typeof given?.value);
  const what = isQuotable ? `is ${JSON.stringify(given?.value)}` : "has a value that cannot be used";
  throw new ReplicationError("CONFIG", `${subject} ${what}`, {
    hint: result.error.issues[0]?.message ?? OPTIONS_PAGE,
  });
}

function waysToGive(option: OptionFacts): string {
  const flag = option.noFlag === true ? "" : `--${option.key} ${option.placeholder}, or `;
  return `${flag}${option.variable} in the environment, or ${option.key}: in ${OPTIONS_FILE}`;
}

function checkVariables(environment: ConfigPlaces["environment"]): void {
  const known = new Set([
    CONFIG_VARIABLE,
    ...[...OPTIONS.values()].map((option) => option.variable),
    ...Object.values(FLAVOURS).map((flavour) => flavour.variable),
  ]);
  for (const variable of Object.keys(environment)) {
    if (variable.startsWith("ABREAST_") && !known.has(variable)) {
      throw new ReplicationError("CONFIG", `the environment has an unknown option ${variable}`, {
        hint: didYouMean(variable, known) ?? OPTIONS_PAGE,
      });
    }
  }
}

/** The address of a server: its URL, with the password from where it is kept. */
export function serverAddress(
  config: Config<
    "source" | "sourcePassword" | "sourcePasswordFile" | "target" | "targetPassword" | "targetPasswordFile"
  >,
  which: "source" | "target",
): ServerAddress {
  const address = parseServerUrl(config.values[which], config.origin(which));
  if (address.password !== "") return address;
  const password = config.values[`${which}Password`];
  if (password !== undefined) return { ...address, password };
  const file = config.values[`${which}PasswordFile`];
  if (file !== undefined) return { ...address, password: firstLine(readText(file)) };
  return address;
}

/** Where the relay log and the control socket of a channel are. */
export function channelFolder({ values }: Config<"channel" | "folder">): string {
  return path.resolve(values.folder ?? path.join("abreast-data", values.channel));
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? "";
}
