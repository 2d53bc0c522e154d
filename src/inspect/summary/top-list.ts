/** The `size` items of the highest value, the highest first; of equal ones those that came first. */
export class TopList<Item> {
  readonly #size: number;
  readonly #valueOf: (item: Item) => number;
  readonly #items: Item[] = [];

  constructor(size: number, valueOf: (item: Item) => number) {
    this.#size = size;
    this.#valueOf = valueOf;
  }

  /** Whether an item of this value would be kept: asked before it is made. */
  wants(value: number): boolean {
    const last = this.#items[this.#size - 1];
    return last === undefined || value > this.#valueOf(last);
  }

  add(item: Item): void {
    const value = this.#valueOf(item);
    if (!this.wants(value)) return;
    let at = this.#items.length;
    while (at > 0 && this.#valueOf(this.#items[at - 1] as Item) < value) at--;
    this.#items.splice(at, 0, item);
    if (this.#items.length > this.#size) this.#items.pop();
  }

  get items(): Item[] {
    return this.#items;
  }
}
