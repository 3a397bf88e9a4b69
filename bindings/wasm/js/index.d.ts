/** How to read a text. */
export interface Reading {
  /** Ignore print artifacts: running heads, page numbers, hyphens at line ends, ligatures. By default, hardened recipes do. */
  clean?: boolean;
  /** The content of a lexicon file, for signatures that weigh words. */
  lexicon?: string;
}

/** How to read a file. */
export interface FileReading extends Reading {
  /** The encoding of the file, as the web names encodings, such as `windows-1251`. By default `utf-8`. */
  encoding?: string;
  /** The largest text that is read, in bytes of UTF-8. By default 64 MiB. */
  most?: number;
  /** Stops reading; the promise is then rejected with the signal's reason. */
  signal?: AbortSignal;
}

/** A gem, and the passage that it represents. */
export interface PlacedGem {
  gem: string;
  /** The first byte of the passage in the text as UTF-8, without a byte-order mark. Gems of signatures have no place. */
  start?: number;
  /** The byte after the last one. */
  end?: number;
}

/** What a check looks up of a text: `gems` and `indexed` are fields of the body of `POST /v1/checks`. */
export interface Query {
  /** More gems than the text has, so that changed copies are found. */
  gems: (string | number)[];
  /** The positions of those that a book with the same text would have. */
  indexed: number[];
  /** The passage of each, as in `PlacedGem`; `null` with signatures. */
  places: ({ start: number; end: number } | null)[];
}

/** The names of the built-in recipes. */
export function recipes(): string[];

/**
 * The gems of a text, without duplicates, in the order of the text, written as `lapidary gems` writes them: 16 hexadecimal digits, or a
 * decimal number with the exact recipes (`released`, `documented`, `documented-second`).
 *
 * @throws {Error} if there is no such recipe.
 */
export function gems(text: string, recipe: string, options?: Reading): string[];

/** The gems of a text with their places. */
export function places(text: string, recipe: string, options?: Reading): PlacedGem[];

/** What a check looks up of a text. A check of it finds what a check of the text does. */
export function query(text: string, recipe: string, options?: Reading): Query;

/** The fold of a text, as `lapidary fold` prints it. */
export function fold(text: string, recipe: string, options?: Reading): string;

/**
 * The gems of a file of plain text, which is read in pieces.
 *
 * The promise is rejected if the file is not plain text in its encoding, or too large.
 */
export function gemsOfFile(file: Blob, recipe: string, options?: FileReading): Promise<string[]>;

/** The gems of a file with their places. */
export function placesOfFile(file: Blob, recipe: string, options?: FileReading): Promise<PlacedGem[]>;

/** What a check looks up of a file. */
export function queryOfFile(file: Blob, recipe: string, options?: FileReading): Promise<Query>;
