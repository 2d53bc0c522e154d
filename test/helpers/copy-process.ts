import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import type { ServerAddress } from "../../src/base/server-url.ts";
import type { CopyProgress } from "../../src/copy/report.ts";

const ENTRY = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../src/copy/copy.ts");

/** What the process gets on its command line. */
interface CopyProcessOptions {
  source: ServerAddress;
  target: ServerAddress;
  channel: string;
  threads: number;
  batchBytes: number;
}

/**
 * Runs an initial copy in a process of its own until `isEnough` says so of its progress, then kills it with SIGKILL: what is left behind is what a crash would leave.
 * @returns the last progress; throws when the copy ended before
 */
export async function killCopyWhen(
  options: CopyProcessOptions,
  isEnough: (progress: CopyProgress) => boolean,
): Promise<CopyProgress> {
  const folder = await mkdtemp(path.join(tmpdir(), "abreast-copy-"));
  try {
    await build({
      configFile: false,
      logLevel: "error",
      build: {
        ssr: ENTRY,
        outDir: folder,
        emptyOutDir: false,
        rollupOptions: { output: { entryFileNames: "copy.mjs" } },
      },
      ssr: { noExternal: true },
    });
    const script = `
      import { copyInitial } from ${JSON.stringify(path.join(folder, "copy.mjs"))};
      await copyInitial({ ...${JSON.stringify(options)}, onProgress: (progress) => console.log(JSON.stringify(progress)) });`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    return await killWhen(child, isEnough);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function killWhen(child: ChildProcess, isEnough: (progress: CopyProgress) => boolean): Promise<CopyProgress> {
  const killAtExit = (): boolean => child.kill("SIGKILL");
  process.on("exit", killAtExit);
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  let last: CopyProgress | undefined;
  if (child.stdout === null) throw new Error("the copy process has no output");
  for await (const line of createInterface({ input: child.stdout })) {
    last = JSON.parse(line) as CopyProgress;
    if (!isEnough(last)) continue;
    child.kill("SIGKILL");
    await ended;
    process.off("exit", killAtExit);
    return last;
  }
  throw new Error(`the copy ended by itself, at ${JSON.stringify(last)}`);
}
