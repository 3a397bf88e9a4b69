// The tests that run in Node.js and in a browser: gems equal the recorded outputs. `read` reads a file of crates/gems/tests/golden, or of the
// corpus (`corpus/…`), as bytes; it returns nothing if there is no such file.

const decoder = new TextDecoder();
const encoder = new TextEncoder();

export async function golden(api, read) {
  const text = async (name) => decoder.decode(await read(name));
  const unpacked = async (name) => {
    const stream = new Blob([await read(name)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  const counts = {};
  counts.folds = await folds(api, unpacked);
  counts.gems = await gemsOfTexts(api, unpacked);
  counts.codePoints = await codePoints(api, unpacked);
  counts.hardened = await hardened(api, text);
  Object.assign(counts, await signatures(api, text, unpacked));
  counts.books = (await read("corpus/README.md")) ? await books(api, text, unpacked) : 0;
  return counts;
}

const EXACT = ["documented", "released"];

async function folds(api, unpacked) {
  const cases = jsonLines(await unpacked("fold.jsonl.gz"));
  return none(cases.flatMap((c) => EXACT.map((recipe) => [c.text, api.fold(c.text, recipe), c[recipe]])));
}

async function gemsOfTexts(api, unpacked) {
  const cases = jsonLines(await unpacked("gems.jsonl.gz"));
  return none(
    cases.flatMap((c) =>
      EXACT.flatMap((recipe) => [
        [c.text, api.fold(c.text, recipe), c[recipe].digits],
        [c.text, api.gems(c.text, recipe).join(), c[recipe].gems.join()],
      ]),
    ),
  );
}

async function codePoints(api, unpacked) {
  let count = 0;
  for (const recipe of EXACT) {
    const cases = lines(await unpacked(`codepoints.${recipe}.tsv.gz`)).map((line) => {
      const [code, ...expected] = line.split("\t");
      const c = String.fromCodePoint(parseInt(code, 16));
      const texts = [`${c}aaaaaa`, `bagala${c}madara`, `aaaaaa${c} bagala`, c.repeat(7)];
      return [code, texts.map((text) => api.fold(text, recipe)).join("\t"), expected.join("\t")];
    });
    count += none(cases);
  }
  return count;
}

async function hardened(api, text) {
  const [russian, english] = [await text("hardened.ru.txt"), await text("hardened.en.txt")];
  const texts = [russian, english, `${russian}\n\n${english} `.repeat(40), numbered()];
  const cases = lines(await text("hardened.tsv")).map((line) => {
    const [number, recipe, ...expected] = line.split("\t");
    const gems = api.gems(texts[number], recipe, { clean: false });
    const rotated = (sum) => BigInt.asUintN(64, (sum << 5n) | (sum >> 59n));
    const sum = gems.reduce((sum, gem) => rotated(sum) ^ BigInt(`0x${gem}`), 0n).toString(16).padStart(16, "0");
    return [line, [gems.length, sum, gems.slice(0, 4)].join("\t"), expected.join("\t")];
  });
  return none(cases);
}

/** The long text without repetitions of the tests in Rust. */
function numbered() {
  const syllables = ["ба", "ре", "ко", "сти", "лу", "мно", "гра", "чё", "pa", "tro", "sil", "ven", "mur", "dek", "lo", "ghi"];
  let state = 1n;
  const word = () => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    const from = state >> 63n ? 8 : 0;
    return [0n, 1n, 2n, 3n].map((i) => syllables[from + Number((state >> (40n + 3n * i)) & 7n)]).join("");
  };
  return Array.from({ length: 5_000 }, () => `${word()} `).join("");
}

const named = ({ method, params }) => [method, ...Object.entries(params).map(([key, value]) => `${key}=${value}`)].join(";");

async function signatures(api, text, unpacked) {
  const lexicon = await text("signatures.lexicon.tsv");
  const cases = jsonLines(await unpacked("signatures.jsonl.gz"));
  const methods = cases.filter((c) => c.strings).map((c) => {
    const options = c.lexicon ? { lexicon } : {};
    const is = [api.fold(c.text, named(c), options), api.gems(c.text, named(c), options)];
    return [c.text, is.join("\n"), [c.strings.join("\n"), c.signature].join("\n")];
  });
  const words = cases.filter((c) => c.method === "words").map((c) => [c.text, api.fold(c.text, "sum"), c.signature.join(" ")]);
  const stems = lines(await text("signatures.stems.tsv")).slice(1).map((line) => {
    const [language, word, stem] = line.split("\t");
    return [line, api.fold(word, `tf;min_len=1;stem=snowball:${language};stop=none`), stem];
  });
  return { signatures: none(methods), words: none(words), stems: none(stems) };
}

async function books(api, text, unpacked) {
  let count = 0;
  for (const recipe of EXACT) {
    const cases = [];
    for (const line of lines(await text(`books.${recipe}.tsv`))) {
      const [name, ...expected] = line.split("\t");
      const book = await text(`corpus/${name}`);
      const [digits, gems] = [api.fold(book, recipe), api.gems(book, recipe)];
      const is = [encoder.encode(digits).length, await sha256(digits), gems.length, await sha256(gems.join())];
      cases.push([name, is.join("\t"), expected.join("\t")]);
    }
    count += none(cases);
  }
  // Signatures that need the lexicon of all books are tested in Rust.
  const cases = [];
  for (const { book, gems, signature } of jsonLines(await unpacked("signatures.jsonl.gz")).filter((c) => c.method === "*")) {
    const content = await text(`corpus/${book}`);
    for (const recipe of Object.keys(signature).filter((name) => !name.includes("@") && !WEIGHED.test(name))) {
      const is = api.gems(content, recipe);
      const expected = `${gems[recipe]} ${signature[recipe]}`;
      cases.push([`${book} ${recipe}`, `${is.length} ${(await sha256(is.join())).slice(0, 32)}`, expected]);
    }
  }
  return count + none(cases);
}

const WEIGHED = /^(tf-idf|tf-ridf|tf-idfopt|heavy-sent|i-match|key-words)(;|$)|^set.*df=/;

/** Files, which are read in pieces. */
export async function files(api, { ok, equal, rejects }) {
  const text = numbered();
  const expected = api.places(text, "hardened");
  const bytes = encoder.encode(text);
  equal(expected.map(({ gem }) => gem).join(), api.gems(text, "hardened").join());
  ok(expected.every(({ start, end }) => start < end && end <= bytes.length));
  const same = async (parts, options) => {
    const is = await api.placesOfFile(new Blob(parts), "hardened", options);
    equal(JSON.stringify(is), JSON.stringify(expected));
  };
  await same([bytes]);
  await same(["\u{feff}", bytes]);
  await same([Uint8Array.from([0xff, 0xfe]), utf16(text)], { encoding: "utf-16le" });
  equal((await api.gemsOfFile(new Blob([bytes]), "released")).join(), api.gems(text, "released").join());
  // "клад " in windows-1251.
  const treasure = Uint8Array.from([0xea, 0xeb, 0xe0, 0xe4, 0x20]);
  const read = await api.gemsOfFile(new Blob(Array(20).fill(treasure)), "hardened", { encoding: "windows-1251" });
  equal(read.join(), api.gems("клад ".repeat(20), "hardened").join());
  ok(read.length > 0);

  await rejects(() => api.gemsOfFile(new Blob([treasure]), "hardened"), /not plain text in UTF-8; name its encoding/);
  await rejects(() => api.gemsOfFile(new Blob(["a\0b\0"]), "hardened"), /not plain text/);
  await rejects(() => api.gemsOfFile(new Blob(["\n<!DOCTYPE html><p>treasure"]), "hardened"), /not plain text but HTML/);
  await rejects(() => api.gemsOfFile(new Blob(["PK\u{3}\u{4}"]), "hardened"), /not plain text but ZIP/);
  await rejects(() => api.gemsOfFile(new Blob([bytes]), "hardened", { most: 1000 }), /larger than 1000 bytes/);
  await rejects(() => api.gemsOfFile(new Blob([bytes]), "hardened", { signal: AbortSignal.abort() }), /abort/);
  await rejects(() => api.gemsOfFile(new Blob([bytes]), "hard"), /hard/);
  await rejects(() => api.gems(text, "tf-idf"), /lexicon/);

  // What is looked up: more than the gems of the text, with the place of each.
  const query = api.query(text, "hardened");
  equal(JSON.stringify(await api.queryOfFile(new Blob(["\u{feff}", bytes]), "hardened")), JSON.stringify(query));
  const indexed = new Map(query.indexed.map((at) => [query.gems[at], query.places[at]]));
  ok(query.gems.length > 2 * indexed.size && query.places.length === query.gems.length);
  const isOwn = ({ gem, start, end }) => indexed.get(gem)?.start === start && indexed.get(gem)?.end === end;
  ok(expected.filter(isOwn).length > 0.9 * expected.length);
  const exact = api.query(text, "released");
  equal(exact.gems.join(), api.gems(text, "released").join());
  ok(typeof exact.gems[0] === "number" && exact.indexed.length === exact.gems.length);

  // An artifact of print is removed where the program does.
  const printed = "The trea\u{ad}sure lay in a bo-\nx of o\u{fb03}ce oak. ";
  equal(api.fold(printed, "hardened"), api.fold("The treasure lay in a box of office oak.", "hardened"));
  ok(api.fold(printed, "hardened", { clean: false }) !== "");
  ok(api.recipes().includes("hardened") && api.recipes().includes("released"));
  equal(api.gems("", "hardened").length, 0);
}

function utf16(text) {
  const bytes = new DataView(new ArrayBuffer(2 * text.length));
  for (let i = 0; i < text.length; i++) bytes.setUint16(2 * i, text.charCodeAt(i), true);
  return bytes.buffer;
}

async function sha256(text) {
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const lines = (text) => text.split("\n").filter((line) => line);
const jsonLines = (text) => lines(text).map((line) => JSON.parse(line));

/** The number of cases, none of which may differ. */
function none(cases) {
  const wrong = cases.filter(([, is, expected]) => is !== expected);
  if (!cases.length || wrong.length) {
    const shown = wrong.slice(0, 5).map(([what, is, expected]) => `${what.slice(0, 200)}\n  is       ${is}\n  expected ${expected}`);
    throw new Error(`${wrong.length} of ${cases.length} differ\n${shown.join("\n")}`);
  }
  return cases.length;
}
