import * as fc from "fast-check";
import { expect, it } from "vitest";
import { formatInterval, formatSummary, roundedSummary } from "./load-report.ts";
import { parseInterval, parseSummary } from "./sysbench-output.ts";
import { sysbenchArguments } from "./sysbench.ts";

/** Of sysbench 1.0.20, `--threads=4 --rate=50 --time=2 --report-interval=1`. */
const RECORDED = `sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 4
Target transaction rate: 50/sec
Report intermediate results every 1 second(s)
Initializing random number generator from current time


Initializing worker threads...

Threads started!

[ 1s ] thds: 4 tps: 57.95 qps: 347.69 (r/w/o: 0.00/231.79/115.90) lat (ms,95%): 2.03 err/s: 0.00 reconn/s: 0.00
[ 1s ] queue length: 0, concurrency: 0
[ 2s ] thds: 4 tps: 46.02 qps: 276.10 (r/w/o: 0.00/184.06/92.03) lat (ms,95%): 1.96 err/s: 0.00 reconn/s: 0.00
[ 2s ] queue length: 0, concurrency: 0
SQL statistics:
    queries performed:
        read:                            0
        write:                           416
        other:                           208
        total:                           624
    transactions:                        104    (50.70 per sec.)
    queries:                             624    (304.22 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          2.0508s
    total number of events:              104

Latency (ms):
         min:                                    0.93
         avg:                                    1.51
         max:                                    3.05
         95th percentile:                        2.03
         sum:                                  157.51

Threads fairness:
    events (avg/stddev):           26.0000/0.71
    execution time (avg/stddev):   0.0394/0.00
`;

it("intervals and summary of sysbench are read, and written again as they were but for the rates' rounding", () => {
  const lines = RECORDED.split("\n");
  const intervals = lines.map(parseInterval).filter((interval) => interval !== undefined);
  expect(intervals.map(formatInterval)).toEqual(lines.filter((line) => line.includes("tps")));
  const summary = parseSummary(RECORDED);
  expect(summary).toEqual({
    transactions: 104,
    reads: 0,
    writes: 416,
    others: 208,
    errors: 0,
    reconnects: 0,
    elapsedMs: expect.closeTo(2050.8, 6),
    latencyMs: { min: 0.93, mean: 1.51, max: 3.05, percentile95: 2.03, sum: 157.51 },
    fairness: { transactions: { mean: 26, deviation: 0.71 }, seconds: { mean: 0.0394, deviation: 0 } },
  });
  // sysbench divides by a time that is not the one that it prints.
  const withoutRates = (text: string): string => text.replaceAll(/[\d.]+ per sec/g, "N per sec");
  expect(withoutRates(`${formatSummary(summary)}\n`)).toBe(
    withoutRates(RECORDED.slice(RECORDED.indexOf("SQL statistics:"))),
  );
});

it("what reads sysbench's summary reads ours, to the digits that are printed", () => {
  const whole = fc.nat(10_000_000);
  const decimal = fc.nat(100_000_000).map((hundredths) => hundredths / 100);
  const spread = fc.record({ mean: decimal, deviation: decimal });
  const summaries = fc.record({
    transactions: whole,
    reads: whole,
    writes: whole,
    others: whole,
    errors: whole,
    reconnects: whole,
    elapsedMs: decimal.map((ms) => Math.round(ms)),
    latencyMs: fc.record({ min: decimal, mean: decimal, max: decimal, percentile95: decimal, sum: decimal }),
    fairness: fc.record({ transactions: spread, seconds: spread }),
  });
  fc.assert(
    fc.property(summaries, (summary) => {
      expect(roundedSummary(parseSummary(formatSummary(summary)))).toEqual(roundedSummary(summary));
    }),
  );
});

it("another output than that of sysbench 1.0 is refused with what is missing in it", () => {
  expect(() => parseSummary(RECORDED.replace("ignored errors:", "mistakes:"))).toThrow(
    "sysbench printed no ignored errors",
  );
});

it("sysbench is given the same parameters, and no password on its command line", () => {
  const options = {
    address: { host: "db1", port: 3307, user: "u", password: "secret", tls: "off" as const },
    schema: "sbtest",
    workload: "oltp_write_only",
    tables: 8,
    tableSize: 10_000,
    distribution: "special" as const,
    threads: 16,
    seed: 7,
    seconds: 15,
  };
  const [workload, ...rest] = sysbenchArguments(options, "run", "/tmp/password.cnf");
  expect([workload, rest.pop()]).toEqual(["oltp_write_only", "run"]);
  expect(rest).toEqual(
    expect.arrayContaining([
      "--mysql-host=db1",
      "--mysql-port=3307",
      "--tables=8",
      "--table-size=10000",
      "--threads=16",
    ]),
  );
  expect(rest).toEqual(expect.arrayContaining(["--rand-type=special", "--time=15", "--events=0", "--rate=0"]));
  expect(rest.join(" ")).not.toContain("secret");
});
