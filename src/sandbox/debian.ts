import { access, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ReplicationError } from "../base/error.ts";
import { fetchFailure } from "./failure.ts";
import type { DebianOrigin } from "./flavours.ts";
import { programOnPath, runProgram } from "./process.ts";
import type { RunResult } from "./process.ts";

/**
 * Fetches Debian packages with the machine's own apt-get, and nothing else of the machine's: own sources, own lists, own
 * cache, an empty package status (so that every library comes along, libc too), no hooks, no locks. Debian's signature
 * covers the index and the index's hashes cover the packages; apt-get refuses what does not agree.
 */
export interface DebianFetch {
  origin: DebianOrigin;
  /** Kept between attempts: what was fetched before an interruption is not fetched again. */
  workFolder: string;
  /** Must be empty; receives the files of the packages. */
  rootFolder: string;
  variable: string;
  onProgress: (text: string) => void;
}

export async function fetchFromDebian(fetch: DebianFetch): Promise<void> {
  const { origin, onProgress, variable } = fetch;
  const apt = await prepareApt(fetch);

  onProgress(`reading the package index of Debian ${origin.suite}`);
  const update = await apt("update", []);
  // apt-get update ends with 0 although nothing could be fetched; its warnings tell.
  if (update.exitCode !== 0 || /^(Err:|E: |W: Failed to fetch)/m.test(`${update.output}\n${update.errors}`)) {
    throw fetchFailure(`the package index of Debian ${origin.suite} cannot be fetched`, update, variable);
  }

  // Packages of an attempt long ago that the archive has replaced since.
  await apt("autoclean", []);
  const watch = downloadProgress(onProgress);
  const install = await apt("install", ["--yes", "--download-only", ...origin.packages], watch);
  if (install.exitCode !== 0)
    throw fetchFailure(`${origin.packages.join(" and ")} cannot be fetched`, install, variable);
  if (origin.extra.length > 0) {
    const extra = await apt("download", origin.extra);
    if (extra.exitCode !== 0) throw fetchFailure(`${origin.extra.join(" and ")} cannot be fetched`, extra, variable);
  }
  await unpack(fetch);
}

type RunApt = (action: string, args: readonly string[], onLine?: (line: string) => void) => Promise<RunResult>;

function archivesFolder(workFolder: string): string {
  return join(workFolder, "archives");
}

async function prepareApt(fetch: DebianFetch): Promise<RunApt> {
  const { origin, workFolder, variable } = fetch;
  for (const program of ["apt-get", "apt-config", "dpkg-deb", "tar", "bash"]) {
    if (programOnPath(program) !== undefined) continue;
    throw new ReplicationError("SANDBOX", `this machine has no ${program} to fetch the server with`, {
      hint: `give a server of your own: ${variable}=/path/to/mysqld`,
    });
  }
  const environment = { ...process.env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" };
  const run = (args: readonly string[], env: NodeJS.ProcessEnv, onLine?: (line: string) => void): Promise<RunResult> =>
    runProgram("apt-get", args, {
      env,
      cwd: archivesFolder(workFolder),
      ...(onLine === undefined ? {} : { onLine }),
    });

  await mkdir(join(archivesFolder(workFolder), "partial"), { recursive: true });
  await mkdir(join(workFolder, "lists", "partial"), { recursive: true });
  const uris = await run(["update", "--print-uris"], environment);
  if (uris.exitCode !== 0) throw fetchFailure("the machine's apt configuration cannot be read", uris, variable);
  const archive = chooseArchive(uris.output);
  if (archive === undefined) {
    throw new ReplicationError("SANDBOX", "the machine's apt configuration names no Debian archive", {
      hint: `give a server of your own: ${variable}=/path/to/mysqld`,
    });
  }
  const keyrings = await findKeyrings();
  if (keyrings.length === 0) {
    throw new ReplicationError("SANDBOX", "the machine has no keyring of the Debian archive to check packages with", {
      hint: "install the package debian-archive-keyring",
    });
  }

  const inherited = await runProgram("apt-config", ["dump"], { env: environment });
  const configFile = join(workFolder, "apt.conf");
  const sourcesFile = join(workFolder, "debian.sources");
  await writeFile(join(workFolder, "status"), "");
  await writeFile(configFile, configuration(inherited.output, workFolder, sourcesFile));
  await writeFile(sourcesFile, sources(archive, origin.suite, keyrings));
  return (action, args, onLine) =>
    run(["--quiet", action, ...args], { ...environment, APT_CONFIG: configFile }, onLine);
}

/**
 * The Debian archive among the URIs that `apt-get update --print-uris` would fetch: a folder named `debian` (a mirror list
 * of that name, or a dated snapshot of it, too), not the security archive and not another distribution's.
 */
export function chooseArchive(printedUris: string): string | undefined {
  for (const line of printedUris.split("\n")) {
    const archive = /^'([^']+)\/dists\/[^']+\/InRelease'/.exec(line)?.[1];
    if (archive === undefined) continue;
    if (/\/debian(\.list)?(\/\d{8}T\d{6}Z)?$/.test(archive)) return archive;
  }
  return undefined;
}

const KEYRING_FOLDERS = ["/usr/share/keyrings", "/etc/apt/trusted.gpg.d"] as const;

/** Keyrings of the Debian archive, without the one of withdrawn keys. A new suite may be signed by a key in any of them. */
async function findKeyrings(): Promise<string[]> {
  for (const folder of KEYRING_FOLDERS) {
    const names = await readdir(folder).catch(() => []);
    const keyrings = names.filter((name) => /^debian-archive-(?!removed).*\.(gpg|pgp|asc)$/.test(name)).sort();
    if (keyrings.length > 0) return keyrings.map((name) => join(folder, name));
  }
  return [];
}

function sources(archive: string, suite: string, keyrings: readonly string[]): string {
  return [
    "Types: deb",
    `URIs: ${archive}`,
    `Suites: ${suite}`,
    "Components: main",
    `Signed-By: ${keyrings.join(",")}`,
    "",
  ].join("\n");
}

/** How the machine reaches its archives: proxies, credentials helpers, time-outs, date checks. */
const INHERITED = /^Acquire::(?!IndexTargets|Languages|CompressionTypes|Changelogs|GzipIndexes|Allow)\S.*;$/;

/** apt.conf(5). Parts and main are switched off, so that the machine's hooks do not run on our behalf. */
function configuration(inherited: string, workFolder: string, sourcesFile: string): string {
  return [
    ...inherited.split("\n").filter((line) => INHERITED.test(line)),
    'Dir::Etc::Parts "/dev/null";',
    'Dir::Etc::Main "/dev/null";',
    'Dir::Etc::SourceParts "/dev/null";',
    'Dir::Etc::Preferences "/dev/null";',
    'Dir::Etc::PreferencesParts "/dev/null";',
    `Dir::Etc::SourceList "${sourcesFile}";`,
    `Dir::State "${workFolder}";`,
    `Dir::State::Lists "${join(workFolder, "lists")}";`,
    `Dir::State::Status "${join(workFolder, "status")}";`,
    `Dir::Cache "${workFolder}";`,
    `Dir::Cache::Archives "${archivesFolder(workFolder)}";`,
    `Dir::Log "${workFolder}";`,
    'Debug::NoLocking "true";',
    'APT::Install-Recommends "false";',
    'APT::Get::AllowUnauthenticated "false";',
    'Acquire::AllowInsecureRepositories "false";',
    'Acquire::AllowWeakRepositories "false";',
    'Acquire::AllowDowngradeToInsecureRepositories "false";',
    'Acquire::Languages "none";',
    // As root, apt would fetch as a user that cannot enter root's own cache folder.
    ...(process.getuid?.() === 0 ? ['APT::Sandbox::User "root";'] : []),
    "",
  ].join("\n");
}

/** Turns apt-get's lines into ours: the size once, then every package. */
function downloadProgress(onProgress: (text: string) => void): (line: string) => void {
  let packages = 0;
  let started = 0;
  return (line) => {
    const count = /(\d+) newly installed/.exec(line)?.[1];
    if (count !== undefined) packages = Number(count);
    const size = /^Need to get (.+) of archives/.exec(line)?.[1];
    // `12.3 MB/65.6 MB` after an interruption: the rest is here already.
    if (size !== undefined) onProgress(`fetching ${packages} packages, ${size.replace("/", " of ")}`);
    const fetched = /^Get:\d+ \S+ \S+ \S+ (\S+) \S+ (\S+) \[(.+)\]$/.exec(line);
    if (fetched === null) return;
    started += 1;
    onProgress(`fetching ${started}/${packages}: ${fetched[1]} ${fetched[2]}, ${fetched[3]}`);
  };
}

/** Not needed to run a server; half of the unpacked size. */
const LEFT_OUT = [
  "./usr/share/doc",
  "./usr/share/man",
  "./usr/share/locale",
  "./usr/share/perl",
  "./usr/share/perl5",
  "./usr/lib/*/perl",
  "./usr/lib/*/perl-base",
  "./usr/bin/perl*",
  "./etc",
] as const;

async function unpack(fetch: DebianFetch): Promise<void> {
  const { workFolder, rootFolder, onProgress, variable } = fetch;
  const folder = archivesFolder(workFolder);
  const archives = (await readdir(folder)).filter((name) => name.endsWith(".deb")).sort();
  onProgress(`unpacking ${archives.length} packages`);
  // Pipes need a shell; names and folders go in as arguments, so spaces in them do no harm.
  const script = 'set -e; set -o pipefail; for deb in *.deb; do dpkg-deb --fsys-tarfile "$deb" | tar "$@"; done';
  const tarArgs = [
    "-x",
    "--no-same-owner",
    "--no-same-permissions",
    "-C",
    rootFolder,
    ...LEFT_OUT.map((path) => `--exclude=${path}`),
    "-f",
    "-",
  ];
  const result = await runProgram("bash", ["-c", script, "unpack", ...tarArgs], { cwd: folder });
  if (result.exitCode !== 0) throw fetchFailure("the packages cannot be unpacked", result, variable);
  await access(join(rootFolder, "usr"));
}
