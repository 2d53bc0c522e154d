// Reads a server's binlog file with @vlasky/zongji to a position in it, every row decoded, and prints what it took as JSON.
// node bench/zongji.mjs PORT FILE END
import ZongJi from "@vlasky/zongji";

const [port, filename, end] = process.argv.slice(2);
const counts = { rows: 0, transactions: 0 };
const zongji = new ZongJi({ host: "127.0.0.1", port: Number(port), user: "root", password: "" });

zongji.on("error", (error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(3);
});
zongji.on("binlog", (event) => {
  if (event.rows !== undefined) counts.rows += event.rows.length;
  const name = event.getTypeName();
  if (name === "Xid") counts.transactions++;
  if (event.nextPosition < Number(end)) return;
  const { user, system } = process.cpuUsage();
  process.stdout.write(
    `${JSON.stringify({ ...counts, seconds: process.uptime(), cpuSeconds: (user + system) / 1e6 })}\n`,
  );
  process.exit(0);
});
zongji.start({
  filename,
  position: 4,
  serverId: 4_200_000,
  includeEvents: ["tablemap", "writerows", "updaterows", "deleterows", "xid", "rotate"],
});
