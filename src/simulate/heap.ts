/**
 * What comes first, by key. Equal keys come out in the order in which they went in: so a simulation is the same each time.
 */
export class Heap<Item> {
  readonly #keys: number[] = [];
  readonly #orders: number[] = [];
  readonly #items: Item[] = [];
  #pushed = 0;

  get size(): number {
    return this.#keys.length;
  }

  /** Infinity when there is none. */
  get firstKey(): number {
    return this.#keys[0] ?? Infinity;
  }

  push(key: number, item: Item): void {
    const keys = this.#keys;
    const orders = this.#orders;
    const items = this.#items;
    const order = ++this.#pushed;
    let at = keys.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const parentKey = keys[parent] as number;
      // Of equal keys the parent is the older one.
      if (parentKey <= key) break;
      keys[at] = parentKey;
      orders[at] = orders[parent] as number;
      items[at] = items[parent] as Item;
      at = parent;
    }
    keys[at] = key;
    orders[at] = order;
    items[at] = item;
  }

  pop(): Item | undefined {
    const keys = this.#keys;
    const orders = this.#orders;
    const items = this.#items;
    const first = items[0];
    const key = keys.pop();
    const order = orders.pop();
    const item = items.pop();
    const size = keys.length;
    if (size === 0 || key === undefined || order === undefined) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && this.#isBefore(child + 1, keys[child] as number, orders[child] as number)) child++;
      if (!this.#isBefore(child, key, order)) break;
      keys[at] = keys[child] as number;
      orders[at] = orders[child] as number;
      items[at] = items[child] as Item;
      at = child;
    }
    keys[at] = key;
    orders[at] = order;
    items[at] = item as Item;
    return first;
  }

  #isBefore(at: number, key: number, order: number): boolean {
    const other = this.#keys[at] as number;
    return other < key || (other === key && (this.#orders[at] as number) < order);
  }
}
