import { z } from "zod";
import { WORKERS_MAX } from "../engine/engine.ts";
import { POLICIES, POLICY_NAMES, type PolicyName } from "../schedule/policies/policies.ts";
import { duration, oneOf, onOff, onOffOr, size, text, transactionList, wholeNumber } from "./values.ts";

/**
 * Every option of a replication, once: its type, default, flag, environment variable, key in abreast.yaml, help and page in docs/options.md all come
 * from here. `startFrom` is `--start-from`, `ABREAST_START_FROM` and `start-from:`.
 */

export interface OptionNotes {
  group: "Servers" | "Stream" | "Apply" | "Relay log" | "Run";
  /** One sentence without a full stop: what it does. */
  what: string;
  /** Why the default is what it is, or what to know before changing it. Markdown. */
  why?: string;
  /** What stands for the value in help; choices say it themselves. Of a switch: the special way in which it can be on. */
  placeholder?: string;
  /** Never quoted in a message. */
  secret?: true;
  /** Not as a flag: every user of the machine can read a command line. */
  noFlag?: true;
}

/** A value that a user gave, and the subject of a sentence about it. */
export interface Given {
  value: unknown;
  origin: string;
}

/** The hint when nothing better is known. */
export const OPTIONS_PAGE = "see docs/options.md for all options";

const optionNotes = z.registry<OptionNotes>();

const POSITION_HINT = "give a GTID set, a GTID position, file:position or now";

/** The server's `replica_net_timeout` is 60 s and its heartbeat half of that. */
const HEARTBEAT_MS_MAX = 60_000;
const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const TIB = 1024 * GIB;

const optionsSchema = z.object({
  source: text("write a URL like mysql://user:password@host:3306/?tls=on").register(optionNotes, {
    group: "Servers",
    placeholder: "URL",
    secret: true,
    what: "the server to read from, mysql://user@host:port/?tls=off|on|verify&ca=FILE (also mariadb://)",
    why: "A password in the URL wins over `source-password` and `source-password-file`. Percent-encode what a URL cannot hold: `@` is `%40`.",
  }),
  sourcePassword: text("give the password", /^/).optional().register(optionNotes, {
    group: "Servers",
    secret: true,
    noFlag: true,
    placeholder: "PASSWORD",
    what: "the password of the source's user",
    why: "Wins over `source-password-file`. Not a flag: every user of the machine can read a command line.",
  }),
  sourcePasswordFile: text("give the path of a file").optional().register(optionNotes, {
    group: "Servers",
    placeholder: "FILE",
    what: "a file whose first line is the password of the source's user",
  }),
  target: text("write a URL like mysql://user:password@host:3306/?tls=on").register(optionNotes, {
    group: "Servers",
    placeholder: "URL",
    secret: true,
    what: "the server to write to, a URL like that of the source",
    why: "A password in the URL wins over `target-password` and `target-password-file`.",
  }),
  targetPassword: text("give the password", /^/).optional().register(optionNotes, {
    group: "Servers",
    secret: true,
    noFlag: true,
    placeholder: "PASSWORD",
    what: "the password of the target's user",
    why: "Wins over `target-password-file`. Not a flag: every user of the machine can read a command line.",
  }),
  targetPasswordFile: text("give the path of a file").optional().register(optionNotes, {
    group: "Servers",
    placeholder: "FILE",
    what: "a file whose first line is the password of the target's user",
  }),

  channel: text("use up to 64 letters, digits, _ and -", /^[A-Za-z0-9_-]{1,64}$/)
    .prefault("default")
    .register(optionNotes, {
      group: "Stream",
      placeholder: "NAME",
      what: "names this stream on the target",
      why: "The checkpoint on the target carries this name, and one engine at a time applies a channel. A second source for the same target needs another one.",
    }),
  folder: text("give the path of a folder").optional().register(optionNotes, {
    group: "Stream",
    placeholder: "FOLDER",
    what: "relay log, control socket and server id (default: ./abreast-data/<channel>)",
    why: "A relative path starts at the current folder. Put it on a disk that survives a reboot: semi-synchronous acknowledgements promise that it does.",
  }),
  startFrom: text(POSITION_HINT).optional().register(optionNotes, {
    group: "Stream",
    placeholder: "POSITION",
    what: "where a new channel begins: a GTID set, a MariaDB GTID position, file:position or now",
    why: "Only used while the target has no checkpoint of this channel; after that the checkpoint decides. Without it a new channel needs `init`.",
  }),
  init: onOffOr("restart").prefault(false).register(optionNotes, {
    group: "Stream",
    placeholder: "restart",
    what: "first copy schema and data from a consistent snapshot of the source into the empty target",
    why: "A copy that was interrupted goes on where it was; `restart`, only as a flag, drops what it brought and the channel's checkpoint, and begins anew. `true` has no effect once the target has a checkpoint of this channel, so it may stay in a file.",
  }),
  until: text(POSITION_HINT).optional().register(optionNotes, {
    group: "Stream",
    placeholder: "POSITION",
    what: "stop by itself once this source position is applied; now: where the source's binlog ends at start",
  }),
  serverId: wholeNumber(1, 4_294_967_295).optional().register(optionNotes, {
    group: "Stream",
    placeholder: "NUMBER",
    what: "our server id towards the source (default: drawn once and kept in the folder)",
    why: "Must differ from every other replica of the source. Drawn from 2,000,000,000 different numbers, so that two engines do not meet; give your own where an inventory needs it.",
  }),
  heartbeat: duration(100, HEARTBEAT_MS_MAX).prefault("5s").register(optionNotes, {
    group: "Stream",
    placeholder: "TIME",
    what: "how often an idle source tells that it is there",
    why: "Three missed heartbeats are a lost connection, so 5 s notices one within 15 s; the servers' own default of 30 s would take over a minute.",
  }),
  semiSync: onOff().prefault(false).register(optionNotes, {
    group: "Stream",
    what: "acknowledge each transaction to the source once it is on disk here (semi-synchronous replication)",
    why: "Off, since every commit of the source then waits for this machine's disk. The source needs its semi-sync plugin switched on.",
  }),

  workers: wholeNumber(1, WORKERS_MAX).prefault(4).register(optionNotes, {
    group: "Apply",
    placeholder: "NUMBER",
    what: "sessions that apply on the target at most; abreast workers changes it while running",
    why: "While transactions depend on each other, runs of many in one commit keep one session busy, and the others cost nothing but their connections. They join in when there is something independent: other tables, other rows, or a large transaction that takes long. Whether more of them help depends on the load: `abreast status` shows how long they waited, and for what.",
  }),
  policy: oneOf(...(POLICY_NAMES as [PolicyName, ...PolicyName[]]))
    .prefault("auto")
    .register(optionNotes, {
      group: "Apply",
      placeholder: "POLICY",
      what: `which transactions may run beside each other: ${POLICY_NAMES.join(", ")}`,
      why: `\`abreast status\` shows which one is at work, and why. [parallel.md](parallel.md) has examples.\n\n${policyList()}`,
    }),
  dependency: oneOf("graph", "low-water-mark").prefault("graph").register(optionNotes, {
    group: "Apply",
    what: "whether one transaction that waits holds up those behind it",
    why: "With `graph` each waits for those that it depends on, and nothing else. `low-water-mark` is the servers' way, for comparison: a transaction waits until everything up to the latest of them is committed, and nothing behind it begins meanwhile.",
  }),
  writesetHistory: wholeNumber(1, 1_000_000).prefault(25_000).register(optionNotes, {
    group: "Apply",
    placeholder: "NUMBER",
    what: "keys that the writeset policies remember, in each of two halves",
    why: "The server's own default (`binlog_transaction_dependency_history_size`). When the younger half is full the older one is forgotten, and a transaction then waits for everything up to there, or up to the source's commit parent where that is earlier. The server forgets all of its keys at once, so it waits more often.",
  }),
  writesetHash: oneOf("xxhash64", "murmur32").prefault("xxhash64").register(optionNotes, {
    group: "Apply",
    what: "how the writeset policies shorten keys",
    why: "Two keys with the same hash make a transaction wait although it need not, nothing worse. With `xxhash64` that practically never happens; with the 32 bits of `murmur32` it does now and then. `murmur32` is for comparison with a server that is set to it.",
  }),
  commitOrder: oneOf("preserve", "relaxed").prefault("preserve").register(optionNotes, {
    group: "Apply",
    what: "whether transactions become visible in the source's order",
    why: "With `preserve` a reader of the target only ever sees a state that the source had. `relaxed` keeps the order per key only.",
  }),
  gtid: oneOf("own", "preserve").prefault("own").register(optionNotes, {
    group: "Apply",
    what: "GTIDs on the target: its own, or the source's",
    why: "`own` allows packing: many source transactions in one target commit, several times faster. `preserve` (MySQL to MySQL) keeps one commit and the GTID of each.",
  }),
  packTransactions: wholeNumber(1, 100_000).prefault(500).register(optionNotes, {
    group: "Apply",
    placeholder: "NUMBER",
    what: "most source transactions in one target commit; 1 packs nothing",
    why: "Measured on MySQL 9.7 with durable commits: 50 took 10.3 s, 500 took 8.4 s for the same backlog; beyond that nothing is gained and locks are held longer. Without a backlog transactions are committed one by one whatever this says.",
  }),
  packBytes: size(1, GIB).prefault("2M").register(optionNotes, {
    group: "Apply",
    placeholder: "SIZE",
    what: "most binlog bytes in one target commit of several transactions",
    why: "500 transactions of 2 KB are 1 MB; the double leaves the number of transactions in charge for usual loads, and keeps a commit of wide rows short.",
  }),
  packRows: wholeNumber(1, 100_000_000).prefault(2_000).register(optionNotes, {
    group: "Apply",
    placeholder: "NUMBER",
    what: "most rows in one target commit of several transactions",
    why: "What a run has changed stays locked, and its deleted rows stay in the indexes, until its commit: rows that are deleted and inserted again and again under the same unique key make each other slower within one run. 500 usual transactions of 4 rows come out at this number.",
  }),
  packTime: duration(1, 60_000).prefault("500ms").register(optionNotes, {
    group: "Apply",
    placeholder: "TIME",
    what: "how long one target commit of several transactions may take, by what the ones before took",
    why: "What is packed becomes visible together, so this is the most that packing adds to the lag of its first transaction. At the speed of a usual target the other two limits come first.",
  }),
  transactionMemory: size(64 * KIB, GIB)
    .prefault("8M")
    .register(optionNotes, {
      group: "Apply",
      placeholder: "SIZE",
      what: "a larger transaction is read from the relay log while it is applied, instead of being held in memory",
      why: "Bounds the memory: a few transactions of this size are held at a time. One of any size can be applied.",
    }),
  transactionRetries: wholeNumber(0, 1_000_000).prefault(10).register(optionNotes, {
    group: "Apply",
    placeholder: "NUMBER",
    what: "how often a transaction is tried again after a deadlock or a lock wait",
    why: "The server's own default (`replica_transaction_retries`).",
  }),
  onConflict: oneOf("stop", "skip", "overwrite").prefault("stop").register(optionNotes, {
    group: "Apply",
    what: "what becomes of a row that is missing on the target, or already there",
    why: "Such a row says that the target is not what the source was, and `stop` leaves it to you to find out why. `skip` leaves the row out and goes on; `overwrite` makes the target have what the source has. Both are counted, and `abreast status` shows how often they were used.",
  }),
  skip: transactionList().optional().register(optionNotes, {
    group: "Apply",
    placeholder: "LIST",
    what: "transactions to pass over, by GTID or file:position, with commas between them",
    why: "What they change is left out, and they count as applied: `abreast status` shows how many. A GTID set with ranges names several (`uuid:5-9`); a position is where the transaction starts or ends.",
  }),

  relayFileSize: size(4 * KIB, GIB)
    .prefault("128M")
    .register(optionNotes, {
      group: "Relay log",
      placeholder: "SIZE",
      what: "size at which a new relay log file begins",
      why: "Files are removed whole, so a smaller size frees space sooner. A transaction is never cut: it may make its file larger.",
    }),
  relayTotalSize: size(MIB, 1024 * TIB)
    .prefault("8G")
    .register(optionNotes, {
      group: "Relay log",
      placeholder: "SIZE",
      what: "size of the whole relay log at which the receiver waits for the applier",
      why: "Waiting is safe as long as the source keeps its binlog. With `semi-sync`, a receiver that waits does not acknowledge: give it room for the longest backlog that you expect.",
    }),

  skipPreflight: onOff().prefault(false).register(optionNotes, {
    group: "Run",
    what: "start without the preflight",
    why: "For a restart where the servers were checked before; what is unsafe then shows as an error while running.",
  }),
  logFormat: oneOf("text", "json").prefault("text").register(optionNotes, {
    group: "Run",
    what: "how log lines look on standard error",
  }),
  json: onOff().prefault(false).register(optionNotes, {
    group: "Run",
    what: "report in JSON on standard output",
    why: "`replicate` prints one object per line, each a whole status, every 10 s and once at the end.",
  }),
});

/** Markdown. */
function policyList(): string {
  return POLICY_NAMES.map((name) => `- \`${name}\`: ${POLICIES[name].describe}`).join("\n");
}

export type Options = z.output<typeof optionsSchema>;
export type OptionName = keyof Options;

export interface OptionFacts extends OptionNotes {
  name: OptionName;
  /** `start-from`: the key in abreast.yaml, and the flag without its dashes. */
  key: string;
  variable: string;
  /** As a user would write it; undefined when there is none. */
  defaultText: string | undefined;
  isRequired: boolean;
  isSwitch: boolean;
  /** `own|preserve`, or what stands for the value. Empty for a switch that is only on or off. */
  placeholder: string;
  schema: z.ZodType;
}

export const OPTIONS: ReadonlyMap<OptionName, OptionFacts> = new Map(
  (Object.keys(optionsSchema.shape) as OptionName[]).map((name) => [name, factsOf(name)]),
);

function factsOf(name: OptionName): OptionFacts {
  const schema = optionsSchema.shape[name];
  const notes = optionNotes.get(schema);
  if (notes === undefined) throw new TypeError(`option ${name} has no notes`);
  const defaultValue =
    schema instanceof z.ZodPrefault ? (schema.def.defaultValue as string | number | boolean) : undefined;
  const inner = schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional ? schema.def.innerType : schema;
  const isSwitch = typeof defaultValue === "boolean";
  const choices = inner instanceof z.ZodEnum ? inner.options.join("|") : "";
  const key = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return {
    ...notes,
    name,
    key,
    variable: `ABREAST_${key.replaceAll("-", "_").toUpperCase()}`,
    defaultText: defaultValue === undefined ? undefined : String(defaultValue),
    isRequired: inner === schema,
    isSwitch,
    placeholder: notes.placeholder ?? choices,
    schema,
  };
}

/** What an engine packs by, when nobody says otherwise. */
export const packingDefaults = (): Pick<
  Options,
  "packTransactions" | "packBytes" | "packRows" | "packTime" | "writesetHistory"
> =>
  optionsSchema
    .pick({ packTransactions: true, packBytes: true, packRows: true, packTime: true, writesetHistory: true })
    .parse({});
