import { expect, test } from "vitest";
import { type ServerFeature, ServerVersion } from "./server-version.ts";

const CASES = [
  ["5.6.51", "mysql", "5.6.51", "SHOW MASTER STATUS", "SHOW SLAVE STATUS"],
  ["5.7.44", "mysql", "5.7.44", "SHOW MASTER STATUS", "SHOW SLAVE STATUS"],
  ["5.7.44-48-log", "mysql", "5.7.44", "SHOW MASTER STATUS", "SHOW SLAVE STATUS"],
  ["8.0.21", "mysql", "8.0.21", "SHOW MASTER STATUS", "SHOW SLAVE STATUS"],
  ["8.0.40", "mysql", "8.0.40", "SHOW MASTER STATUS", "SHOW REPLICA STATUS"],
  ["8.0.40-0ubuntu0.22.04.1", "mysql", "8.0.40", "SHOW MASTER STATUS", "SHOW REPLICA STATUS"],
  ["8.3.0", "mysql", "8.3.0", "SHOW BINARY LOG STATUS", "SHOW REPLICA STATUS"],
  ["8.4.5", "mysql", "8.4.5", "SHOW BINARY LOG STATUS", "SHOW REPLICA STATUS"],
  ["9.0.1", "mysql", "9.0.1", "SHOW BINARY LOG STATUS", "SHOW REPLICA STATUS"],
  ["9.7.4", "mysql", "9.7.4", "SHOW BINARY LOG STATUS", "SHOW REPLICA STATUS"],
  ["10.4.34-MariaDB-log", "mariadb", "10.4.34", "SHOW MASTER STATUS", "SHOW SLAVE STATUS"],
  ["10.11.19-MariaDB-0+deb12u1", "mariadb", "10.11.19", "SHOW MASTER STATUS", "SHOW REPLICA STATUS"],
  ["5.5.5-10.6.1-MariaDB", "mariadb", "10.6.1", "SHOW MASTER STATUS", "SHOW REPLICA STATUS"],
  ["11.8.2-MariaDB-ubu2404", "mariadb", "11.8.2", "SHOW MASTER STATUS", "SHOW REPLICA STATUS"],
] as const;

for (const [text, flavour, number, binlogStatus, replicaStatus] of CASES) {
  test(`${text} is ${flavour} ${number} and gets the statements that it has`, () => {
    const version = new ServerVersion(text);
    expect(version.flavour).toBe(flavour);
    expect(version.number).toBe(number);
    expect(version.showBinlogStatus).toBe(binlogStatus);
    expect(version.showReplicaStatus).toBe(replicaStatus);
  });
}

function has(text: string, feature: ServerFeature): boolean {
  return new ServerVersion(text).has(feature);
}

test("a feature is there from its version on, and not after it went", () => {
  expect(has("8.3.0", "show-master-status")).toBe(true);
  expect(has("8.4.0", "show-master-status")).toBe(false);
  expect(has("11.8.2-MariaDB", "show-master-status")).toBe(true);
  expect(has("8.2.0", "tagged-gtid")).toBe(false);
  expect(has("8.3.0", "tagged-gtid")).toBe(true);
  expect(has("11.8.2-MariaDB", "tagged-gtid")).toBe(false);
  expect(has("10.11.19-MariaDB", "transaction-isolation")).toBe(false);
  expect(has("11.1.1-MariaDB", "transaction-isolation")).toBe(true);
});

test("10.11 is later than 10.5 and 9.7: numbers are compared, not text", () => {
  expect(new ServerVersion("10.11.19-MariaDB").atLeast(10, 5, 2)).toBe(true);
  expect(new ServerVersion("9.7.4").atLeast(10)).toBe(false);
  expect(new ServerVersion("8.0.40").atLeast(8, 0, 26)).toBe(true);
});
