/**
 * Tables with every column type and the values that have broken tools: extremes, zero dates, negative times with a fraction, trailing zeros, bytes that are no text,
 * invalid calendar days, 64-bit sets. `common`: what MySQL 5.6 to 9.7 and MariaDB all know.
 */
export type TypesOf = "common" | "mysql-9.7" | "mariadb";

/** Statements that make schema `types` with the tables that a server of this kind can have. Run them in one session, one by one. */
export function allTypes(of: TypesOf): string[] {
  return [
    "SET SESSION sql_mode='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'",
    "SET SESSION time_zone='-03:00'",
    "CREATE DATABASE types DEFAULT CHARACTER SET latin1",
    "USE types",
    ...COMMON,
    ...(of === "mysql-9.7" ? MYSQL_97 : of === "mariadb" ? MARIADB : []),
  ];
}

const SET_MEMBERS = Array.from({ length: 64 }, (_, index) => `'m${index + 1}'`).join(",");

const COMMON = [
  `CREATE TABLE numbers (
     id BIGINT UNSIGNED NOT NULL PRIMARY KEY, a TINYINT UNSIGNED, b SMALLINT UNSIGNED, c MEDIUMINT UNSIGNED, d INT UNSIGNED,
     e TINYINT, f SMALLINT, g MEDIUMINT, h INT, i BIGINT, j DECIMAL(65,30), k DECIMAL(10,0), l DECIMAL(8,2) ZEROFILL, m INT(6) ZEROFILL,
     n FLOAT, o DOUBLE, p FLOAT(7,3), q DOUBLE(10,4), r BIT(1), s BIT(64), t YEAR)`,
  `INSERT INTO numbers VALUES
     (18446744073709551615, 200, 65535, 8888607, 4294967295, -128, -32768, -8388608, -2147483648, -9223372036854775808,
      '-99999999999999999999999999999999999.999999999999999999999999999999', 9999999999, 4.2, 42, 3.14, 3.14, 3.14, 3.14, b'1', 0xFFFFFFFFFFFFFFFF, 2155),
     (9223372036854775808, 0, 0, 0, 0, 127, 32767, 8388607, 2147483647, 9223372036854775807,
      '0.000000000000000000000000000001', -1, 0, 0, 16777216, 1.7976931348623157e308, -0.001, -0.0001, b'0', 0, 1901),
     (0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1e-45, 4.9e-324, 1, 1, b'1', 1, 0),
     (1, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1.1, 1, 1, 1, 1.17549435e-38, 0.1, 1, 1, b'1', 1, 1999),
     (2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1.1, 1, 1, 1, -1e-7, -1.5400915886496561e115, 1, 1, b'1', 1, 1999),
     (3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1.1, 1, 1, 1, 0.3, 4.0137414177481185e-113, 1, 1, b'1', 1, 1999),
     (4, ${Array.from({ length: 20 }, () => "NULL").join(",")})`,
  `CREATE TABLE times (
     id DATETIME(6) NOT NULL, a DATE, b TIME, c TIME(2), d TIME(3), e TIME(6), f DATETIME, g DATETIME(3), h TIMESTAMP NULL, i TIMESTAMP(6) NULL,
     PRIMARY KEY (id))`,
  `INSERT INTO times VALUES
     ('2026-07-05 12:00:00.000001', '9999-12-31', '-00:00:01', '-00:00:00.01', '-16:08:04.250', '-838:59:59', '9999-12-31 23:59:59',
      '1000-01-01 00:00:00.999', '2026-07-05 12:00:00', FROM_UNIXTIME(1.5)),
     ('0000-00-00 00:00:00', '0000-00-00', '00:00:00', '838:59:59', '00:00:00', '-00:00:00.000001', '0000-00-00 00:00:00', '0000-00-00', '0000-00-00 00:00:00', 0),
     ('2026-02-31 00:00:00', '2026-02-30', NULL, NULL, NULL, NULL, '2026-00-00 10:00:00', NULL, FROM_UNIXTIME(1762057800), NULL)`,
  `CREATE TABLE strings (
     k VARCHAR(20) CHARACTER SET utf8 COLLATE utf8_general_ci NOT NULL, n INT NOT NULL, a CHAR(10) CHARACTER SET latin1, b VARCHAR(300) CHARACTER SET utf8mb4,
     c TEXT CHARACTER SET latin1, d LONGTEXT CHARACTER SET utf8mb4, e CHAR(4) CHARACTER SET ucs2, f VARCHAR(10) CHARACTER SET utf16,
     g ENUM('x','é','') CHARACTER SET latin1, h SET(${SET_MEMBERS}), i VARCHAR(20) CHARACTER SET sjis, j VARCHAR(9) CHARACTER SET cp1251,
     PRIMARY KEY (k, n))`,
  `INSERT INTO strings VALUES
     (_utf8 X'C3A9', 1, _latin1 X'E9FF80', _utf8mb4 X'F09F9880C3A9', _latin1 X'8081FF00', _utf8mb4 X'F09F9880', _ucs2 X'00E92603', _utf16 X'D83DDE00', 'x', 'm1,m64',
      _sjis X'8341835C', _cp1251 X'CFF0'),
     ('', 2, '  a', 'it''s', 'a\\\\b\\n', 'x\\0y\\Z', '', ' ', '', '', 'a', 'b'),
     ('Abc', -3, '', REPEAT('long ', 50), REPEAT(' ', 70), NULL, NULL, NULL, 0, 18446744073709551615, NULL, NULL),
     ('abd', 2147483647, NULL, NULL, NULL, REPEAT('0123456789', 10000), NULL, NULL, _latin1 X'E9', 'm2,m3', NULL, NULL)`,
  `CREATE TABLE bytes (
     id BINARY(16) NOT NULL PRIMARY KEY, a BINARY(4), b VARBINARY(300), c BLOB, d TINYBLOB, e LONGBLOB, f POINT, g GEOMETRY)`,
  `INSERT INTO bytes VALUES
     (X'01000000000000000000000000000100', X'01020000', X'0000', X'00275C0A0D1A22', X'FF', REPEAT(X'00FF275C', 5000), POINT(1.5,-2.25), POINT(0,0)),
     (X'00000000000000000000000000000000', '', '', '', '', '', NULL, NULL),
     (X'FF000000000000000000000000000000', NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
  "CREATE TABLE keyless (a INT, b VARCHAR(20) CHARACTER SET utf8, f FLOAT)",
  "INSERT INTO keyless VALUES (1,'one',3.14),(1,'one',3.14),(1,'one',3.14),(2,'two',NULL),(2,'two',NULL),(NULL,NULL,NULL),(NULL,NULL,NULL)",
  "CREATE TABLE unique_key (a INT NOT NULL, b VARCHAR(20) CHARACTER SET latin1 NOT NULL, c BIT(10) NOT NULL, v INT, UNIQUE KEY second (c, b), KEY other (v))",
  "INSERT INTO unique_key VALUES (1,'a',1,1),(1,'B',1,2),(1,'b ',2,3),(2,_latin1 X'FF',1023,NULL)",
  "CREATE TABLE by_members (e ENUM('z','a','m') NOT NULL, y YEAR NOT NULL, d DECIMAL(20,5) NOT NULL, f DOUBLE NOT NULL, v INT, PRIMARY KEY (e, y, d, f))",
  "INSERT INTO by_members VALUES ('z',1999,-1.5,1e300,1),('a',0,0,0,2),('a',0,0,1e-300,3),('m',2155,99999.99999,-3.3,4)",
  "CREATE TABLE `odd ``name` (`select` INT PRIMARY KEY, `ünï ``code` VARCHAR(10), `$&` INT)",
  "INSERT INTO `odd ``name` VALUES (1,'a',2),(2,NULL,NULL)",
  "CREATE TABLE empty_one (id INT AUTO_INCREMENT PRIMARY KEY, v INT) AUTO_INCREMENT=4711",
  "CREATE TABLE zero_auto (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
  "INSERT INTO zero_auto VALUES (0,1),(1,2)",
];

const MYSQL_97 = [
  `CREATE TABLE newer (
     id INT PRIMARY KEY, j JSON, v VECTOR(3), a INT, s INT GENERATED ALWAYS AS (a * 2) STORED, g VARCHAR(20) GENERATED ALWAYS AS (CONCAT('a', a)) VIRTUAL,
     hidden VARCHAR(10) DEFAULT 'secret' INVISIBLE, c VARCHAR(20) COLLATE utf8mb4_0900_ai_ci, d DATE DEFAULT ('2026-01-01'), p POINT SRID 4326,
     KEY functional ((a + 1)), CHECK (a < 1000000))`,
  `INSERT INTO newer (id, j, v, a, hidden, c, p) VALUES
     (1, '{"b": [1, -9223372036854775808, 18446744073709551615, 1e100, 1.5, true, null], "": 1, "a": {}}', STRING_TO_VECTOR('[1,2.5,-3e10]'), 5, 'x', 'ß',
      ST_GeomFromText('POINT(10 20)', 4326)),
     (2, JSON_OBJECT('decimal', 1.10, 'big', 123456789012345678901234567890.000100, 'nested', JSON_ARRAY(2.50, JSON_OBJECT('deep "q" \\\\ é', 0.10)),
      'time', CAST('10:11:12' AS TIME), 'day', CAST('2026-01-01 10:00:00' AS DATETIME)), NULL, NULL, NULL, NULL, NULL),
     (3, 'null', NULL, 7, DEFAULT, 'é', NULL),
     (4, NULL, NULL, 8, DEFAULT, 'e', NULL),
     (5, CAST(9.90 AS JSON), NULL, 8, DEFAULT, 'e', NULL)`,
  "CREATE TABLE collated (k VARCHAR(20) COLLATE utf8mb4_0900_ai_ci NOT NULL PRIMARY KEY, v INT)",
  "INSERT INTO collated VALUES ('a',1),('Z',2),('é',3),('straße',4),('',5),(' ',6)",
];

const MARIADB = [
  `CREATE TABLE newer (
     id UUID PRIMARY KEY, j JSON, a INET6, b INET4, c INT, s INT GENERATED ALWAYS AS (c * 2) STORED, g VARCHAR(20) GENERATED ALWAYS AS (CONCAT('a', c)) VIRTUAL,
     hidden VARCHAR(10) INVISIBLE DEFAULT 'secret', z VARCHAR(3000) COMPRESSED, u VARCHAR(20) COLLATE utf8mb4_unicode_nopad_ci)`,
  `INSERT INTO newer (id, j, a, b, c, hidden, z, u) VALUES
     ('00000000-0000-0000-0000-000000000100', '{"a" :  1.10}', '::', '0.0.0.0', 5, 'x', REPEAT('z', 2000), 'a'),
     ('ffffffff-ffff-ffff-ffff-ffffffffffff', '[]', '2001:db8::ff00:42:8329', '255.255.255.0', NULL, NULL, '', 'a '),
     ('123e4567-e89b-12d3-a456-426655440000', NULL, NULL, NULL, 7, DEFAULT, NULL, NULL)`,
];
