/** The `size` items of the highest value, the highest first; of equal ones those that came first. */
export class TopList<Item> {
  readonly #size: number;
  readonly #valueOf: (item: Item) => number;
  readonly #items: Item[] = [];
  /** What a value must be above to be kept. */
  #floor = Number.NEGATIVE_INFINITY;

  constructor(size: number, valueOf: (item: Item) => number) {
    this.#size = size;
    this.#valueOf = valueOf;
  }

  /** Whether an item of this value would be kept: asked before it is made. */
  wants(value: number): boolean {
    return value > this.#floor;
  }

  add(item: Item): void {
    const value = this.#valueOf(item);
    if (!this.wants(value)) return;
    let at = this.#items.length;
    while (at > 0 && this.#valueOf(this.#items[at - 1] as Item) < value) at--;
    this.#items.splice(at, 0, item);
    if (this.#items.length > this.#size) this.#items.pop();
    const last = this.#items[this.#size - 1];
    if (last !== undefined) this.#floor = this.#valueOf(last);
  }

  get items(): Item[] {
    return this.#items;
  }
}
