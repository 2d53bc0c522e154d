import { spawn } from "node:child_process";
import { link, mkdtemp, readdir, rm } from "node:fs/promises";
import path from "node:path";
import type { SandboxServer } from "../../src/sandbox/start.ts";

/** The numbers of a numbered load's transactions that the server's own mysqlbinlog finds in the relay log of an engine's folder. */
export async function numbersInRelayLog(server: SandboxServer, folder: string): Promise<Set<number>> {
  const links = await mkdtemp(`${folder}-links-`);
  try {
    for (const name of await readdir(path.join(folder, "relay"))) {
      // Gone since we looked: it was purged, so all of it is applied. A link outlives that.
      if (/\.\d{6}$/.test(name)) await link(path.join(folder, "relay", name), path.join(links, name)).catch(() => {});
    }
    const files = (await readdir(links)).sort().map((name) => path.join(links, name));
    return await numbersInFiles(server, files);
  } finally {
    await rm(links, { recursive: true });
  }
}

async function numbersInFiles(server: SandboxServer, files: readonly string[]): Promise<Set<number>> {
  const { file, args, env } = server.command("mysqlbinlog", ["--verbose", ...files]);
  const numbers = new Set<number>();
  let inCounter = false;
  await new Promise<void>((resolve, reject) => {
    const child = spawn(file, args, { env, stdio: ["ignore", "pipe", "ignore"] });
    let rest = "";
    child.stdout.setEncoding("latin1").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (/^### (INSERT|UPDATE|DELETE) /.test(line)) inCounter = /^### INSERT INTO .*`counter`/.test(line);
        const number =
          /^INSERT INTO counter VALUES \((\d+), /.exec(line) ?? (inCounter ? /^### {3}@1=(\d+)/.exec(line) : null);
        if (number !== null) numbers.add(Number(number[1]));
      }
    });
    child.once("error", reject);
    // It ends with an error at the relay log's unfinished end; what it has read by then counts.
    child.once("close", () => resolve());
  });
  return numbers;
}
