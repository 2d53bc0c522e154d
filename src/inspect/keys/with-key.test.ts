import { expect, test } from "vitest";
import { ReplicationError } from "../../base/error.ts";
import { parseWithKey } from "./with-key.ts";

test("a key is written as a table with its columns", () => {
  expect(parseWithKey("shop.orders(id)")).toEqual({ table: "shop.orders", columns: ["id"] });
  expect(parseWithKey(" shop.order lines ( customer , number ) ")).toEqual({
    table: "shop.order lines",
    columns: ["customer", "number"],
  });
});

test.each(["orders(id)", "shop.orders", "shop.orders()", "shop.orders(a,)", "shop.orders(a) x", ""])(
  "%j is none",
  (text) => {
    expect(() => parseWithKey(text)).toThrow(ReplicationError);
  },
);
