//! Generates the tables in `gems/data/` from the recorded outputs of the reference.
//!
//! `cargo run --release -p lapidary-gems --example tables -- GOLDEN DATA`, where GOLDEN is the folder with `codepoints.*.tsv.gz`,
//! `simplify.*.tsv`, `soundex.*.tsv` and `translit.*.tsv.gz` (each for `documented` and `released`).

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use deunicode::deunicode_char;
use flate2::read::GzDecoder;

const RECIPES: [&str; 2] = ["documented", "released"];
/// Marks a character that stays unchanged.
const SAME: &str = "=";

type Table = BTreeMap<u32, String>;
type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, golden, data] = arguments.as_slice() else {
        return Err("usage: tables GOLDEN DATA".into());
    };
    let (golden, data) = (Path::new(golden), Path::new(data));
    assigned(golden, data)?;
    simplify(golden, data)?;
    let soundex = soundex(golden, data)?;
    translit(golden, data, &soundex)
}

fn read(path: &Path) -> Result<String> {
    let mut text = String::new();
    let mut file = File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    if path.extension().is_some_and(|e| e == "gz") {
        GzDecoder::new(file).read_to_string(&mut text)?;
    } else {
        file.read_to_string(&mut text)?;
    }
    Ok(text)
}

/// One table of the reference for both recipes: code points and their values.
fn tables(golden: &Path, name: &str, ending: &str) -> Result<[Table; 2]> {
    let mut tables = [Table::new(), Table::new()];
    for (table, recipe) in tables.iter_mut().zip(RECIPES) {
        for line in read(&golden.join(format!("{name}.{recipe}.{ending}")))?.lines() {
            let (code, value) = line
                .split_once(['\t', ' '])
                .ok_or("a line without a second column")?;
            table.insert(u32::from_str_radix(code, 16)?, value.to_owned());
        }
    }
    Ok(tables)
}

fn write(data: &Path, name: &str, explained: &str, rows: &str) -> Result<()> {
    let mut file = String::new();
    for line in explained.lines() {
        writeln!(file, "# {line}")?;
    }
    writeln!(
        file,
        "# Generated from the reference's outputs by examples/tables.rs; do not edit."
    )?;
    file.push_str(rows);
    fs::write(data.join(name), file).map_err(|e| format!("{name}: {e}").into())
}

/// Writes a row for each code point in either table, with the result of `value` under both recipes.
fn rows(tables: &[Table; 2], value: impl Fn(&str) -> String) -> Result<String> {
    let mut rows = String::new();
    for code in tables.iter().flat_map(Table::keys).collect::<BTreeSet<_>>() {
        let [documented, released] = tables
            .each_ref()
            .map(|t| t.get(code).map_or_else(|| SAME.to_owned(), |v| value(v)));
        writeln!(rows, "{code:04X}\t{documented}\t{released}")?;
    }
    Ok(rows)
}

fn assigned(golden: &Path, data: &Path) -> Result<()> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for line in read(&golden.join("codepoints.documented.tsv.gz"))?.lines() {
        let code = u32::from_str_radix(line.split('\t').next().unwrap_or_default(), 16)?;
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == code => *last = code,
            _ => ranges.push((code, code)),
        }
    }
    let mut rows = String::new();
    for (first, last) in ranges {
        writeln!(rows, "{first:04X}\t{last:04X}")?;
    }
    let explained = "The characters defined by Unicode 14, the version that the reference uses: first and last of each range, in\n\
        hexadecimal. The exact recipes treat all others as unknown, whatever later versions define.";
    write(data, "assigned.txt", explained, &rows)
}

fn simplify(golden: &Path, data: &Path) -> Result<()> {
    let tables = tables(golden, "simplify", "tsv")?;
    let explained = "Letters simplified one for one: code point, and the code point it becomes under `documented` and\n\
        `released` ('=': stays as it is).";
    write(
        data,
        "simplify.txt",
        explained,
        &rows(&tables, str::to_owned)?,
    )
}

fn soundex(golden: &Path, data: &Path) -> Result<[Table; 2]> {
    let tables = tables(golden, "soundex", "tsv")?;
    let explained = "Letters to classes: code point, and the digit it becomes under `documented` and `released`\n\
        ('-': deleted, '=': stays as it is).";
    let digit = |v: &str| {
        if v.is_empty() {
            "-".to_owned()
        } else {
            v.to_owned()
        }
    };
    write(data, "soundex.txt", explained, &rows(&tables, digit)?)?;
    Ok(tables)
}

fn translit(golden: &Path, data: &Path, soundex: &[Table; 2]) -> Result<()> {
    let mut tables = tables(golden, "translit", "tsv.gz")?;
    for (table, soundex) in tables.iter_mut().zip(soundex) {
        for value in table.values_mut() {
            *value = serde_json::from_str(value)?;
        }
        table.retain(|&code, value| {
            let ascii = char::from_u32(code)
                .and_then(deunicode_char)
                .unwrap_or_default();
            let class = |c: char| {
                soundex
                    .get(&u32::from(c))
                    .cloned()
                    .unwrap_or_else(|| c.to_string())
            };
            ascii.to_lowercase().chars().map(class).collect::<String>() != *value
        });
    }
    let explained = "Where the reference's transliteration (Text::Unidecode 1.30) differs from the crate deunicode: code\n\
        point, and what the letters of its transliteration become (lower case, then soundex.txt) under `documented`\n\
        and `released`, as JSON strings ('=': deunicode has the same).";
    write(
        data,
        "translit.txt",
        explained,
        &rows(&tables, |v| serde_json::Value::from(v).to_string())?,
    )
}
