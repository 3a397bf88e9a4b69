// Where the tests find files.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";

const root = process.env.CHECKOUT;
export const corpus = `${root}/../shared/corpus`;

/** Reads a file of the golden folder or of the corpus. */
export async function read(name) {
  const path = name.startsWith("corpus/") ? `${corpus}/${name.slice(7)}` : `${root}/crates/gems/tests/golden/${name}`;
  return existsSync(path) ? readFile(path) : undefined;
}
