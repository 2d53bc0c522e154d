/** Stops on our own mistakes: a failed assertion is a defect in Abreast, never a bad input. */
export function assert(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new AssertionError(sentence);
}

export function unreachable(value: never, sentence = "a case is missing"): never {
  throw new AssertionError(`${sentence}: ${String(value)}`);
}

class AssertionError extends Error {
  override readonly name = "AssertionError";
}
