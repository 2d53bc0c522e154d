import { expect, test } from "vitest";
import { chooseArchive } from "./debian.ts";

/** What `apt-get update --print-uris` prints for the archives' release files. */
function printed(...archives: string[]): string {
  return archives.map((archive) => `'${archive}/dists/bookworm/InRelease' some_file_name_InRelease 0 \n`).join("");
}

test("the Debian archive is chosen among other archives, whatever their order", () => {
  const others = ["http://a.example/debian-security", "https://b.example/node_20.x", "https://apt.example/repo"];
  expect(chooseArchive(printed(...others, "http://mirror.example/debian"))).toBe("http://mirror.example/debian");
  expect(chooseArchive(printed("http://mirror.example/debian", ...others))).toBe("http://mirror.example/debian");
});

test("a mirror list and a dated snapshot are Debian archives too", () => {
  const list = "mirror+file:/etc/apt/mirrors/debian.list";
  expect(chooseArchive(printed("mirror+file:/etc/apt/mirrors/debian-security.list", list))).toBe(list);
  const snapshot = "http://snapshot.example/archive/debian/20250520T000000Z";
  expect(chooseArchive(printed(snapshot))).toBe(snapshot);
});

test("another distribution's machine has no Debian archive", () => {
  expect(
    chooseArchive(printed("http://archive.example/ubuntu", "http://archive.example/debian-security")),
  ).toBeUndefined();
  expect(chooseArchive("")).toBeUndefined();
});

test("only release files count: a package index names no archive", () => {
  const index = "'http://mirror.example/debian/dists/sid/main/binary-amd64/Packages.xz' some_Packages 0 \n";
  expect(chooseArchive(index)).toBeUndefined();
});
