import { expect, test } from "vitest";
import { useServer } from "../../test/helpers/servers.ts";
import { Session } from "./session.ts";

const servers = [useServer("mysql-9.7"), useServer("mysql-5.6"), useServer("mariadb-10.11")];

test("a LOAD DATA LOCAL gets its file from memory, in blocks of any size, and the session goes on", async () => {
  for (const server of servers) {
    const session = await Session.connect(server().address, { localFiles: true });
    await session.execute("CREATE DATABASE w; USE w; CREATE TABLE t(a INT PRIMARY KEY, b LONGTEXT) ENGINE=MyISAM");
    const load = Buffer.from("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t FIELDS TERMINATED BY ','");
    const big = Buffer.alloc(0xff_ff_ff - 2, "x");
    const file = [Buffer.from("1,a\n2"), Buffer.alloc(0), Buffer.from(",b\n3,"), big, Buffer.from("yz\n")];
    const [result] = await session.executeWithFile(load, file);
    expect(result?.affectedRows).toBe(3);
    const rows = (await session.execute("SELECT a,LENGTH(b) FROM t ORDER BY a"))[0]?.rows;
    expect(rows).toEqual([
      ["1", "1"],
      ["2", "1"],
      ["3", String(big.length + 2)],
    ]);
    await expect(
      session.executeWithFile(Buffer.from("LOAD DATA LOCAL INFILE 'x' INTO TABLE nowhere"), file),
    ).rejects.toThrow(/nowhere/);
    expect(await session.queryValue("SELECT 1")).toBe("1");
    await session.close();
  }
});

test("a server that asks for a file that nobody offered gets none", async () => {
  for (const server of servers) {
    const session = await Session.connect(server().address, { localFiles: true });
    await expect(session.execute("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE w.t")).rejects.toThrow(
      /out of order|CONNECTION_LOST/,
    );
    expect(session.closed).toBe(true);
  }
});

test("without localFiles the server refuses LOCAL", async () => {
  for (const server of servers) {
    const session = await Session.connect(server().address);
    await expect(session.executeWithFile(Buffer.from("LOAD DATA LOCAL INFILE 'x' INTO TABLE w.t"), [])).rejects.toThrow(
      /1148|3948|4166/,
    );
    await session.close();
  }
});
