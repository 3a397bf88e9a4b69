import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import * as api from "lapidary-gems";

import { files, golden } from "./golden.js";
import { corpus, read } from "./places.js";

test("gems are the recorded ones", async () => {
  console.log(await golden(api, read));
});

test("files are read in pieces, and refused if they are not plain text", () =>
  files(api, { ok: assert.ok, equal: assert.equal, rejects: async (act, why) => assert.rejects(async () => act(), why) }));

test("gems are those of the program", async (t) => {
  const program = process.env.LAPIDARY;
  if (!program || !(await read("corpus/README.md"))) return t.skip("needs the program in LAPIDARY, and the corpus");
  const languages = readdirSync(corpus, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name: language } of languages) {
    const book = readdirSync(`${corpus}/${language}`).filter((name) => name.endsWith(".txt"))[0];
    for (const recipe of [...api.recipes(), "tf", "winnow"]) {
      const printed = execFileSync(program, ["gems", "--recipe", recipe, `${corpus}/${language}/${book}`], { maxBuffer: 1 << 28 });
      const gems = api.gems((await read(`corpus/${language}/${book}`)).toString(), recipe);
      assert.equal(gems.join(), printed.toString().trim(), `${recipe} of ${book}`);
      assert.ok(gems.length > 0);
    }
  }
});
