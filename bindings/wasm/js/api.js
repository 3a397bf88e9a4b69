import { Pieces, Reader, recipes as names } from "./gems.js";

/** Files above this size are refused unless `most` says otherwise: the memory of the module does not shrink again. */
const MOST = 64 * 1024 * 1024;

export const recipes = () => names().split(",");
export const gems = (text, recipe, options) => list(readerOf(recipe, options).gems(text));
export const places = (text, recipe, options) => JSON.parse(readerOf(recipe, options).places(text));
export const query = (text, recipe, options) => JSON.parse(readerOf(recipe, options).query(text));
export const fold = (text, recipe, options) => readerOf(recipe, options).fold(text);

export async function gemsOfFile(file, recipe, options) {
  return ofFile(file, recipe, options, (pieces, reader) => list(pieces.gems(reader)));
}

export async function placesOfFile(file, recipe, options) {
  return ofFile(file, recipe, options, (pieces, reader) => JSON.parse(pieces.places(reader)));
}

export async function queryOfFile(file, recipe, options) {
  return ofFile(file, recipe, options, (pieces, reader) => JSON.parse(pieces.query(reader)));
}

/** The last recipe, because most calls are for the same one. */
let last;

function readerOf(recipe, { clean, lexicon } = {}) {
  if (last?.recipe !== recipe || last.clean !== clean || last.lexicon !== lexicon) {
    const reader = new Reader(recipe, clean, lexicon);
    last?.reader.free();
    last = { recipe, clean, lexicon, reader };
  }
  return last.reader;
}

async function ofFile(file, recipe, options = {}, make) {
  const { encoding = "utf-8", most = MOST, signal } = options;
  const refuse = () => new RangeError(`the text is larger than ${most} bytes; have the server read it, or raise \`most\``);
  if (file.size > most) throw refuse();
  // A mistake in the name of a recipe or an encoding shows before the file is read.
  readerOf(recipe, options);
  const isUtf8 = new TextDecoder(encoding).encoding === "utf-8";
  const pieces = new Pieces(file.size);
  try {
    let size = 0;
    for await (const piece of piecesOf(isUtf8 ? file.stream() : inUtf8(file, encoding), signal)) {
      size += piece.length;
      if (size > most) throw refuse();
      pieces.add(piece);
    }
    return make(pieces, readerOf(recipe, options));
  } finally {
    pieces.free();
  }
}

function inUtf8(file, encoding) {
  return file.stream().pipeThrough(new TextDecoderStream(encoding, { fatal: true })).pipeThrough(new TextEncoderStream());
}

/** The pieces of a stream, which not every browser can iterate over itself. */
async function* piecesOf(stream, signal) {
  const reader = stream.getReader();
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

const list = (joined) => (joined ? joined.split(",") : []);
