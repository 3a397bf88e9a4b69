//! End-to-end tests of `lapidary boundaries`: its counts, and a set usable with `--boundaries`.

use crate::common::{Folder, prose, run};
use lapidary_gems::{Boundaries, Recipe};

/// Two languages with three texts each. They differ in their most frequent letters.
fn texts(folder: &Folder) {
    for i in 0..3 {
        folder.file(&format!("texts/one/{i}.txt"), prose(i, 20_000));
        folder.file(
            &format!("texts/two/{i}.txt"),
            prose(10 + i, 20_000).replace('b', "r").replace('d', "l"),
        );
    }
    folder.file("texts/list.tsv", "no text");
}

#[test]
fn counts_are_those_of_the_folds() {
    let folder = Folder::new();
    texts(&folder);
    let table = run("boundaries stats {}", &[folder.path("texts")])
        .expect(0)
        .out;
    let mut lines = table
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>());
    assert_eq!(
        lines.next().expect("a head"),
        ["sequence", "all", "one", "two"]
    );
    let rows: Vec<Vec<&str>> = lines.collect();
    let number = |text: &str| text.parse::<usize>().expect("a number");
    assert!(
        rows.is_sorted_by(|a, b| number(a[1]) >= number(b[1])),
        "the most frequent first"
    );
    let folds: Vec<String> = (0..3)
        .map(|i| Recipe::documented().fold(&prose(i, 20_000)))
        .collect();
    let counted = |sequence: &str| -> usize {
        let places = |fold: &String| {
            fold.as_bytes()
                .windows(4)
                .filter(|window| *window == sequence.as_bytes())
                .count()
        };
        folds.iter().map(places).sum()
    };
    for row in rows.iter().step_by(97) {
        assert_eq!(number(row[2]), counted(row[0]), "{row:?}");
        assert_eq!(number(row[1]), number(row[2]) + number(row[3]), "{row:?}");
    }
    let released = run(
        "boundaries stats --recipe released {}",
        &[folder.path("texts")],
    )
    .expect(0)
    .out;
    assert_ne!(released, table);
}

#[test]
fn the_set_chosen_cuts_as_asked_and_is_taken_by_other_commands() {
    let folder = Folder::new();
    texts(&folder);
    let chosen = run(
        "boundaries choose --target-chars 3000 {}",
        &[folder.path("texts")],
    )
    .expect(0)
    .out;
    let file = folder.file("chosen.txt", &chosen);
    let boundaries = Boundaries::parse(&chosen).expect("a set");
    let recipe = Recipe::documented().with_boundaries(boundaries);
    for language in ["one", "two"] {
        let line = chosen
            .lines()
            .find(|line| line.starts_with(&format!("#   {language}: ")))
            .expect("a line a language");
        let said: Vec<f64> = line
            .rsplit(": ")
            .next()
            .into_iter()
            .flat_map(|said| said.split(", "))
            .map(|n| n.parse().expect("a number"))
            .collect();
        assert!((said[0] / 3_000.0 - 1.0).abs() < 0.1, "{chosen}");
        let text = std::fs::read_to_string(folder.path(&format!("texts/{language}/0.txt")))
            .expect("a text");
        let density = 1e3 * recipe.gems(&text).len() as f64 / text.len() as f64;
        assert!(
            (density / said[1] - 1.0).abs() < 0.15,
            "{density} for {line}"
        );
    }
    let text = folder.path("texts/one/0.txt");
    let gems = run("gems --boundaries {} {}", &[&file, &text])
        .expect(0)
        .out;
    assert!(
        gems.split(',').count() > 20 && gems != run("gems --recipe documented {}", &[&text]).out
    );

    let line = "boundaries choose --target-chars 3000 --avoid {} {}";
    let other = run(line, &[&file, &folder.path("texts")]).expect(0).out;
    let other: Vec<String> = Boundaries::parse(&other)
        .expect("a set")
        .sequences()
        .collect();
    assert!(
        other
            .iter()
            .all(|sequence| !recipe_sequences(&chosen).contains(sequence))
    );
    let line = "boundaries choose --target-chars 3000 --avoid-standard {}";
    let other = recipe_sequences(&run(line, &[folder.path("texts")]).expect(0).out);
    assert!(
        Boundaries::standard()
            .sequences()
            .all(|sequence| !other.contains(&sequence))
    );
}

/// Fewer digits in a chunk make shorter chunks possible, and `lengths` measures them as `choose` does.
#[test]
fn shorter_chunks_where_detail_matters() {
    let folder = Folder::new();
    texts(&folder);
    let chosen = run(
        "boundaries choose --target-chars 300 --shortest 20 {}",
        &[folder.path("texts")],
    )
    .expect(0)
    .out;
    assert!(chosen.contains("shortest = 20"), "{chosen}");
    let chosen_set = folder.file("chosen.txt", &chosen);
    let table = run(
        "boundaries lengths --boundaries {} {}",
        &[&chosen_set, &folder.path("texts")],
    )
    .expect(0)
    .out;
    let standard = run("boundaries lengths {}", &[folder.path("texts")])
        .expect(0)
        .out;
    for language in ["one", "two"] {
        let row = |table: &str| -> Vec<f64> {
            let row = table
                .lines()
                .find(|line| line.starts_with(language))
                .expect("a row");
            row.split('\t')
                .skip(1)
                .map(|number| number.parse().expect("a number"))
                .collect()
        };
        let (fine, coarse) = (row(&table), row(&standard));
        assert!(
            chosen.contains(&format!("#   {language}: {:.0}, {:.2}", fine[0], fine[1])),
            "{chosen} {table}"
        );
        assert!(fine[0] < 400.0 && coarse[0] > 600.0, "{table} {standard}");
        // A byte of ASCII is a character; gems that occur twice count once.
        let gems = 250.0 * fine[2];
        assert!(gems <= fine[1] + 0.01 && gems > 0.9 * fine[1], "{table}");
        assert!(
            fine[3] > 2.0 * fine[2] && fine[3] < 3.0 * fine[2],
            "{table}"
        );
    }
    run("boundaries choose --shortest 0 {}", &[folder.path("texts")]).expect(2);
    run(
        "boundaries lengths --recipe hardened {}",
        &[folder.path("texts")],
    )
    .expect(2);
}

fn recipe_sequences(file: &str) -> Vec<String> {
    Boundaries::parse(file)
        .expect("a set")
        .sequences()
        .collect()
}

#[test]
fn what_cannot_be_chosen_is_said() {
    let folder = Folder::new();
    texts(&folder);
    let short = run(
        "boundaries choose --target-chars 300 {}",
        &[folder.path("texts")],
    )
    .expect(2);
    assert!(
        short
            .err
            .contains("no set gives chunks of 300 characters with at least 150 digits"),
        "{}",
        short.err
    );
    let nowhere = run("boundaries stats {}", &[folder.path("nowhere")]).expect(2);
    assert!(nowhere.err.contains("nowhere"), "{}", nowhere.err);
    let bad = folder.file("bad.txt", "12");
    let refused = run(
        "boundaries choose --avoid {} {}",
        &[bad, folder.path("texts")],
    )
    .expect(2);
    assert!(
        refused.err.contains("'12' is not a boundary sequence"),
        "{}",
        refused.err
    );
}
