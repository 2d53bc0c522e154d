import type { RowDataPacket } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { makeUser } from "../../test/helpers/accounts.ts";
import { query, useServer } from "../../test/helpers/servers.ts";
import { ReplicationError } from "../base/error.ts";
import { freePort } from "../sandbox/port.ts";
import { Session } from "./session.ts";
import { SqlError } from "./sql-error.ts";

async function failure(work: Promise<unknown>): Promise<SqlError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ReplicationError)) throw new Error(`no ReplicationError: ${String(error)}`);
  return error as SqlError;
}

describe("MySQL 9.7", () => {
  const server = useServer("mysql-9.7", { options: ["--max-allowed-packet=1G"] });

  test("caching_sha2_password logs in with and without TLS, the first time and from the cache", async () => {
    const address = await makeUser(server(), [], { identified: "IDENTIFIED WITH caching_sha2_password BY 's3cret'" });
    for (const tls of ["off", "off", "on", "on"] as const) {
      const session = await Session.connect({ ...address, tls });
      const [cipher] = await session.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
      expect(cipher?.["Value"] === "").toBe(tls === "off");
      await session.close();
    }
    await query(server(), "FLUSH PRIVILEGES");
    const session = await Session.connect({ ...address, tls: "on" });
    expect(await session.queryValue("SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)")).toBe(address.user);
    await session.close();
  });

  test("an empty password logs in", async () => {
    const session = await Session.connect(await makeUser(server(), [], { password: "" }));
    await session.close();
  });

  test("sha256_password logs in with and without TLS", async () => {
    const identified = "IDENTIFIED WITH sha256_password BY 's3cret'";
    const address = await makeUser(server(), [], { identified });
    for (const tls of ["off", "on"] as const) {
      const session = await Session.connect({ ...address, tls });
      await session.close();
    }
  });

  test("a wrong password is ACCESS_DENIED with host, port and user, and without the password", async () => {
    const address = { ...server().address, user: "nobody", password: "topsecret" };
    const error = await failure(Session.connect(address));
    expect(error.code).toBe("ACCESS_DENIED");
    expect(error.retry).toBe("never");
    expect(error.sqlCode).toBe(1045);
    expect(error.message).toContain(`nobody@127.0.0.1:${address.port}`);
    expect(JSON.stringify(error) + error.message + String(error.stack)).not.toContain("topsecret");
  });

  test("tls=verify refuses a certificate of an unknown authority before anything is sent, and accepts a known one", async () => {
    const address = { ...server().address, tls: "verify" as const };
    const error = await failure(Session.connect(address));
    expect(error.code).toBe("CONNECT");
    expect(error.retry).toBe("never");
    expect(error.hint).toContain("tls=verify with ca=FILE");
    // The server's own authority signed a certificate that names no host: encrypted, known, but not for 127.0.0.1.
    const named = await failure(Session.connect({ ...address, caFile: `${server().dataFolder}/ca.pem` }));
    expect(named.code).toBe("CONNECT");
    expect(named.message).toMatch(/127\.0\.0\.1|altnames|hostname/i);
  });

  test("a port where nobody listens is CONNECT, to be tried later", async () => {
    const error = await failure(Session.connect({ ...server().address, port: await freePort() }));
    expect(error.code).toBe("CONNECT");
    expect(error.retry).toBe("later");
    expect(error.message).toContain("ECONNREFUSED");
  });

  test("a server that has no connection left is CONNECT, to be tried later", async () => {
    const address = await makeUser(server(), []);
    await query(server(), `ALTER USER '${address.user}'@'%' WITH MAX_USER_CONNECTIONS 1`);
    const first = await Session.connect(address);
    const error = await failure(Session.connect(address));
    expect([error.code, error.retry, error.sqlCode]).toEqual(["CONNECT", "later", 1226]);
    await first.close();
  });

  test("every statement of a query gives a result of its own: counts, insert id, info, columns, rows", async () => {
    const session = await Session.connect(server().address);
    await session.execute("CREATE DATABASE results; USE results");
    const results = await session.execute(
      "CREATE TABLE t(id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20));" +
        "INSERT INTO t(v) VALUES('a'),('b'),(NULL);" +
        "INSERT INTO t VALUES(18446744073709551614,'last');" +
        "UPDATE t SET v='a' WHERE v='a';" +
        "SELECT id, v AS 'the value', NULL FROM t ORDER BY id;" +
        "SELECT 1 WHERE FALSE",
    );
    expect(results.map(({ affectedRows }) => affectedRows)).toEqual([0, 3, 1, 1, 0, 0]);
    expect(results[1]?.info).toBe("Records: 3  Duplicates: 0  Warnings: 0");
    expect(results[1]?.insertId).toBe(1n);
    expect(results[3]?.info).toMatch(/Rows matched: 1 {2}Changed: 0/);
    expect(results[4]?.columns).toEqual(["id", "the value", "NULL"]);
    expect(results[4]?.rows).toEqual([
      ["1", "a", null],
      ["2", "b", null],
      ["3", null, null],
      ["18446744073709551614", "last", null],
    ]);
    expect(results[5]).toMatchObject({ columns: ["1"], rows: [] });
    await session.close();
  });

  test("an error in the middle rejects that call only; calls around it are answered in order", async () => {
    const session = await Session.connect(server().address);
    const outcomes = await Promise.allSettled([
      session.execute("SELECT 1"),
      session.execute("SELECT 2; SELECT nothing; SELECT 3"),
      session.execute("SELEC 4"),
      session.execute("SELECT 5"),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    const error = (outcomes[1] as PromiseRejectedResult).reason as SqlError;
    expect([error.code, error.sqlCode, error.sqlState]).toEqual(["APPLY", 1054, "42S22"]);
    expect((outcomes[3] as PromiseFulfilledResult<unknown>).value).toMatchObject([{ rows: [["5"]] }]);
    await session.close();
  });

  test("ten thousand calls at once are all answered, each with its own answer", async () => {
    const session = await Session.connect(server().address);
    const answers = await Promise.all(Array.from({ length: 10_000 }, (_, n) => session.queryValue(`SELECT ${n}`)));
    expect(answers).toEqual(Array.from({ length: 10_000 }, (_, n) => `${n}`));
    await session.close();
  });

  test("40 MB go both ways byte by byte, in parts, and a call behind them is answered", async () => {
    const session = await Session.connect(server().address);
    const big = Buffer.alloc(40_000_000);
    for (let at = 0; at < big.length; at++) big[at] = 97 + (at % 26);
    const [results, after] = await Promise.all([
      session.execute(
        [Buffer.from("SELECT '"), big.subarray(0, 17_000_000), big.subarray(17_000_000), Buffer.from("', 1")],
        {
          binary: true,
        },
      ),
      session.queryValue("SELECT 'after'"),
    ]);
    expect(results[0]?.rows[0]?.[0]?.equals(big)).toBe(true);
    expect(after).toBe("after");
    await session.close();
  });

  test("bytes come back as they are with binary: true", async () => {
    const session = await Session.connect(server().address);
    const [result] = await session.execute("SELECT X'00FF80FE', NULL, ''", { binary: true });
    expect(result?.rows).toEqual([[Buffer.from("00ff80fe", "hex"), null, Buffer.alloc(0)]]);
    await session.close();
  });

  test("deadlock and lock wait are temporary; a duplicate key is not", async () => {
    const [one, two] = await Promise.all([Session.connect(server().address), Session.connect(server().address)]);
    await one.execute(
      "CREATE DATABASE locks; CREATE TABLE locks.t(id INT PRIMARY KEY, v INT); INSERT INTO locks.t VALUES(1,0),(2,0)",
    );
    await one.execute("BEGIN; UPDATE locks.t SET v=1 WHERE id=1");
    await two.execute("SET innodb_lock_wait_timeout=1; BEGIN; UPDATE locks.t SET v=2 WHERE id=2");
    const waits = one.execute("UPDATE locks.t SET v=1 WHERE id=2").catch((error: unknown) => error);
    const other = two.execute("UPDATE locks.t SET v=2 WHERE id=1").catch((error: unknown) => error);
    expect(await Promise.all([waits, other])).toContainEqual(
      expect.objectContaining({ code: "APPLY_TEMPORARY", retry: "now", sqlCode: 1213, sqlState: "40001" }),
    );
    await Promise.all([one.execute("ROLLBACK"), two.execute("ROLLBACK")]);
    await one.execute("BEGIN; UPDATE locks.t SET v=3 WHERE id=1");
    const wait = await failure(two.execute("UPDATE locks.t SET v=4 WHERE id=1"));
    expect([wait.code, wait.sqlCode]).toEqual(["APPLY_TEMPORARY", 1205]);
    await one.execute("ROLLBACK");
    const key = await failure(two.execute("INSERT INTO locks.t VALUES(2,1)"));
    expect([key.code, key.sqlCode]).toEqual(["APPLY", 1062]);
    await Promise.all([one.close(), two.close()]);
  });

  test("a killed session rejects what is pending with CONNECTION_LOST and tells it once", async () => {
    const session = await Session.connect(server().address);
    const closed: ReplicationError[] = [];
    session.onClosed = (error) => closed.push(error);
    const pending = [session.execute("SELECT SLEEP(60)"), session.execute("SELECT 1")].map(failure);
    await query(server(), `KILL ${session.connectionId}`);
    for (const error of await Promise.all(pending)) expect(error.code).toBe("CONNECTION_LOST");
    expect((await failure(session.execute("SELECT 1"))).code).toBe("CONNECTION_LOST");
    expect(closed.map(({ code }) => code)).toEqual(["CONNECTION_LOST"]);
    expect(session.closed).toBe(true);
  });

  test("an idle session that the server gives up is lost with the server's reason", async () => {
    const session = await Session.connect(server().address);
    await session.execute("SET wait_timeout=1");
    const error = await new Promise<ReplicationError>((resolve) => (session.onClosed = resolve));
    expect(error.code).toBe("CONNECTION_LOST");
    expect(error.message).toContain("disconnected by the server because of inactivity");
  });

  test("close waits for what is pending; destroy does not", async () => {
    const session = await Session.connect(server().address);
    const answer = session.queryValue("SELECT SLEEP(0.2)");
    await session.close();
    expect(await answer).toBe("0");
    const second = await Session.connect(server().address);
    const never = failure(second.execute("SELECT SLEEP(60)"));
    second.destroy();
    expect((await never).code).toBe("STOPPED");
  });
});

describe("MySQL 5.6", () => {
  const server = useServer("mysql-5.6");

  test("mysql_native_password logs in, with and without a password", async () => {
    const address = await makeUser(server(), []);
    for (const login of [address, server().address]) {
      const session = await Session.connect(login);
      expect(session.serverVersion.number).toMatch(/^5\.6\./);
      expect(await session.query("SELECT 1 AS one, NULL AS none")).toEqual([{ one: "1", none: null }]);
      await session.close();
    }
  });

  test("a wrong password is ACCESS_DENIED, and tls=on where there is none says so", async () => {
    const denied = await failure(Session.connect({ ...server().address, user: "nobody", password: "topsecret" }));
    expect(denied.code).toBe("ACCESS_DENIED");
    const [ssl] = await query<RowDataPacket[]>(server(), "SHOW VARIABLES LIKE 'have_ssl'");
    expect(ssl?.["Value"]).not.toBe("YES");
    const error = await failure(Session.connect({ ...server().address, tls: "on" }));
    expect([error.code, error.retry]).toEqual(["CONNECT", "never"]);
    expect(error.hint).toContain("tls=off");
  });
});
