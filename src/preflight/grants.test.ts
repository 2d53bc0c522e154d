import { expect, test } from "vitest";
import { privilegesAskedFor } from "./findings.ts";
import { hasGlobal, hasOnSchema, parseGrants } from "./grants.ts";

test("ALL PRIVILEGES is everything, whatever stands behind it", () => {
  const grants = parseGrants([
    "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` IDENTIFIED VIA mysql_native_password WITH GRANT OPTION",
  ]);
  expect(hasGlobal(grants, "REPLICATION SLAVE")).toBe(true);
  expect(hasOnSchema(grants, "SELECT", "any")).toBe(true);
});

test("lists, dynamic privileges and roles' lines add up", () => {
  const grants = parseGrants([
    "GRANT SELECT, REPLICATION SLAVE, CREATE TEMPORARY TABLES ON *.* TO 'u'@'%' IDENTIFIED BY PASSWORD '*B6'",
    "GRANT REPLICATION_APPLIER,SESSION_VARIABLES_ADMIN ON *.* TO `u`@`%`".replace(",", ", "),
    "GRANT `reader`@`%` TO `u`@`%`",
    "GRANT INSERT, UPDATE ON `shop`.* TO `reader`",
  ]);
  expect(hasGlobal(grants, "BINLOG_ADMIN", "REPLICATION_APPLIER")).toBe(true);
  expect(hasGlobal(grants, "RELOAD")).toBe(false);
  expect(hasOnSchema(grants, "CREATE TEMPORARY TABLES", "shop")).toBe(true);
  expect(hasOnSchema(grants, "INSERT", "shop")).toBe(true);
  expect(hasOnSchema(grants, "INSERT", "other")).toBe(false);
});

test("schema patterns are wild where the server's are, and grants on tables are not grants on schemas", () => {
  const grants = parseGrants([
    "GRANT SELECT ON `shop\\_%`.* TO `u`@`%`",
    "GRANT SELECT ON `crm`.`t` TO `u`@`%`",
    "GRANT ALL PRIVILEGES ON `a``b`.* TO `u`@`%`",
  ]);
  expect(hasOnSchema(grants, "SELECT", "shop_eu")).toBe(true);
  expect(hasOnSchema(grants, "SELECT", "shopXeu")).toBe(false);
  expect(hasOnSchema(grants, "SELECT", "crm")).toBe(false);
  expect(hasOnSchema(grants, "DROP", "a`b")).toBe(true);
});

test("a partial revoke takes a schema out of a global grant", () => {
  const grants = parseGrants(["GRANT SELECT, INSERT ON *.* TO `u`@`%`", "REVOKE INSERT ON `shop`.* FROM `u`@`%`"]);
  expect(hasOnSchema(grants, "INSERT", "shop")).toBe(false);
  expect(hasOnSchema(grants, "SELECT", "shop")).toBe(true);
  expect(hasOnSchema(grants, "INSERT", "other")).toBe(true);
});

test("the server's own words say which privileges would do", () => {
  expect(
    privilegesAskedFor(
      "Access denied; you need (at least one of) the SUPER, BINLOG_ADMIN or REPLICATION_APPLIER privilege(s) for this operation (error 1227)",
    ),
  ).toEqual(["SUPER", "BINLOG_ADMIN", "REPLICATION_APPLIER"]);
  expect(
    privilegesAskedFor(
      "Access denied; you need (at least one of) the SUPER, BINLOG REPLAY privilege(s) for this operation",
    ),
  ).toEqual(["SUPER", "BINLOG REPLAY"]);
  expect(privilegesAskedFor("nothing of the kind")).toEqual([]);
});
