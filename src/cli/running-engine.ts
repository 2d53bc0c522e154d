import type { Command } from "commander";
import { ControlClient } from "../http/client.ts";
import { channelFolder, readConfig } from "./config.ts";
import { addFlags } from "./flags.ts";

const WHERE_OPTIONS = ["channel", "folder", "json"] as const;

/** Flags of a command that talks to a running engine: which one, and `--json`. */
export function addEngineFlags(command: Command): Command {
  return addFlags(command, WHERE_OPTIONS);
}

/** The engine that the flags, the environment or the options file mean. */
export function runningEngine(flags: object): { client: ControlClient; folder: string; json: boolean } {
  const config = readConfig(WHERE_OPTIONS, { flags: { ...flags }, environment: process.env, folder: process.cwd() });
  const folder = channelFolder(config);
  return { client: new ControlClient(folder), folder, json: config.values.json };
}
