//! `docs/reference/command-line.md`, `docs/reference/settings.md` and `deploy/lapidary.toml` are written from the help of
//! the commands and settings: by these tests, if `UPDATE_REFERENCE` is set.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::path::Path;
use std::{env, fs};

use clap::builder::PossibleValue;
use clap::{Arg, Args as _, Command, CommandFactory as _};
use lapidary::server::settings::Settings;
use toml::Table;

const COMMANDS: &str = "\
# Command line

Generated from the help that `lapidary COMMAND --help` shows; `lapidary man DIR` writes manual pages. Most commands work on a
catalogue's folder (`--data`), a [Redis Cluster](../explanation/cluster.md) (`--store`) or a running server (`--server`) alike. Only one
process can have a folder open: while a server runs on it, use `--server`. Commands that read files also take the limits of
[settings](settings.md#limits-on-files).

The exit status is 0 for success, 2 if any input was invalid or refused, and 3 if an operation failed; `check`, `ingest`, `doctor`
and `health` say more. Errors are on standard error, in English.
";

const SETTINGS: &str = "\
# Settings

Generated from the help of `lapidary serve`. It takes each setting from a flag (`--max-body`), an environment variable
(`LAPIDARY_MAX_BODY`) or a TOML file (`max-body`), in this order of precedence. Name the file with `--config FILE` or
`LAPIDARY_CONFIG`; [`deploy/lapidary.toml`](../../deploy/lapidary.toml) is a template. `serve --check-config` prints the effective
settings, or what is wrong with them, and exits. The flag `--keep-folds` cannot be set in the file, because the catalogue remembers
it. Other variables are listed with the [commands](command-line.md).

Sizes are numbers of bytes, or have a unit: `kB`, `MB`, `GB` (powers of 1000), `KiB`, `MiB`, `GiB` (powers of 1024).
";

const SAMPLE: &str = "\
# Settings for `lapidary serve --config FILE`. A flag (--max-body) or an environment variable (LAPIDARY_MAX_BODY) overrides a
# setting in this file. Lines that start with #: show defaults, or examples for settings that are off by default.
# `lapidary serve --check-config` prints the effective settings. Sizes are numbers of bytes, or strings with a unit: kB, MB, GB
# (powers of 1000), KiB, MiB, GiB (powers of 1024). The systemd unit can write below /var/lib/lapidary; mount other disks there,
# or add ReadWritePaths= to it.
";

/// Values in the sample that are not defaults. The first two are in force.
const EXAMPLES: [(&str, &str); 33] = [
    ("data", r#""/var/lib/lapidary/catalogue""#),
    ("log-format", r#""json""#),
    (
        "store",
        r#""redis://10.0.0.1:7000,10.0.0.2:7000,10.0.0.3:7000/lapidary""#,
    ),
    ("allowed-hosts", "[]"),
    ("trusted-proxies", "[]"),
    ("certificate", r#""/etc/lapidary/certificate.pem""#),
    ("private-key", r#""/etc/lapidary/private-key.pem""#),
    ("clamd", r#""127.0.0.1:3310""#),
    ("clamd-key", r#""gateway""#),
    ("body-memory", r#""512MiB""#),
    ("max-evidence", r#""1GiB""#),
    ("max-watched", r#""4GiB""#),
    ("concurrent", "6"),
    ("keyless-rate", r#""5/s""#),
    ("client-recipe", r#""released""#),
    ("backups", r#""/var/lib/lapidary/backups""#),
    ("buckets", r#"["uploads"]"#),
    ("endpoint", r#""https://minio.example.org:9000""#),
    ("credentials", r#""/etc/lapidary/s3""#),
    ("key", r#""uploads""#),
    ("issuer", r#""https://login.example.org/realms/staff""#),
    ("client-id", r#""lapidary""#),
    ("client-secret", r#""/etc/lapidary/oidc-secret""#),
    ("public-url", r#""https://lapidary.example.org""#),
    ("scopes", r#"["email", "profile"]"#),
    (
        "groups",
        r#"["staff: check", "editors: texts in fiction, poetry", "it: admin"]"#,
    ),
    ("rate", r#""600/min""#),
    ("quota", r#""10000/day""#),
    ("min-common", "3"),
    ("min-share", "0.0"),
    ("common-cap", "10000"),
    ("min-evidence", "0.0"),
    ("min-support", "0.0"),
];

#[test]
fn the_reference_of_commands_is_up_to_date() {
    let mut command = crate::cli::Command::command();
    command.build();
    let mut page = COMMANDS.to_owned();
    write!(page, "\n{}\n", paragraphs(command.get_after_long_help())).expect("a text");
    for command in visible(&command) {
        add_command(&mut page, "##", "", command).expect("a text");
    }
    assert_is_up_to_date("docs/reference/command-line.md", &page);
}

#[test]
fn the_reference_of_settings_is_up_to_date() {
    let mut page = SETTINGS.to_owned();
    let mut heading = None;
    for setting in settings().get_arguments() {
        if heading != Some(setting.get_help_heading()) {
            heading = Some(setting.get_help_heading());
            add_heading(&mut page, setting.get_help_heading());
        }
        let (_, key) = key_of(setting);
        let (about, default) = help_of(setting);
        let default = default.unwrap_or_default();
        writeln!(page, "| `{key}` | {default} | {} |", cell(&about)).expect("a text");
    }
    assert_is_up_to_date("docs/reference/settings.md", &page);
}

#[test]
fn the_sample_of_settings_is_up_to_date() {
    let mut sample = SAMPLE.to_owned();
    let mut table = "";
    for setting in settings().get_arguments() {
        let (of, key) = key_of(setting);
        if of != table {
            table = of;
            write!(sample, "\n#: [{table}]").expect("a text");
        }
        let (about, default) = help_of(setting);
        add_comment(&mut sample, &about);
        let example = EXAMPLES.iter().position(|(name, _)| *name == key);
        let value = match example {
            Some(at) => EXAMPLES[at].1.to_owned(),
            None => literal(&default.expect("a default, or an example")),
        };
        let mark = if example.is_some_and(|at| at < 2) {
            ""
        } else {
            "#: "
        };
        writeln!(sample, "{mark}{key} = {value}").expect("a text");
    }
    assert_is_up_to_date("deploy/lapidary.toml", &sample);
}

/// Every key that the sample shows is one of the file, and there are no others.
#[test]
fn the_sample_has_every_setting() {
    let sample = include_str!("../../../deploy/lapidary.toml").replace("#: ", "");
    let of_file: Settings = toml::from_str(&sample).expect("settings");
    let keys = |table: &Table| -> BTreeSet<String> {
        let inner = table.values().filter_map(toml::Value::as_table);
        inner
            .flat_map(Table::keys)
            .chain(table.keys())
            .cloned()
            .collect()
    };
    let written: Table = toml::from_str(&sample).expect("a table");
    let read = Table::try_from(of_file).expect("a table");
    assert_eq!(keys(&written), keys(&read));
}

fn assert_is_up_to_date(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if env::var_os("UPDATE_REFERENCE").is_some() {
        fs::write(&path, text).expect("a file");
    }
    let is_current = fs::read_to_string(&path).is_ok_and(|written| written == text);
    assert!(is_current, "{file} is stale: make reference writes it anew");
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    let commands = command.get_subcommands();
    commands.filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

fn add_command(page: &mut String, heading: &str, of: &str, command: &Command) -> fmt::Result {
    let name = format!("{of}{}", command.get_name());
    let about = command.get_long_about().or(command.get_about());
    let usage = command.clone().render_usage().to_string();
    write!(page, "\n{heading} {name}\n\n{}\n", paragraphs(about))?;
    writeln!(
        page,
        "\n```text\n{}\n```",
        usage.trim_start_matches("Usage: ")
    )?;
    let mut arguments = command
        .get_arguments()
        .filter(|argument| is_shown(argument))
        .peekable();
    if arguments.peek().is_some() {
        page.push_str("\n| argument | |\n|---|---|\n");
    }
    for argument in arguments {
        let (mut about, default) = help_of(argument);
        if let Some(default) = default {
            write!(about, " (default: {default})")?;
        }
        let choices: Vec<_> = argument.get_possible_values();
        let names: Vec<_> = choices.iter().map(PossibleValue::get_name).collect();
        if !names.is_empty() && names != ["true", "false"] {
            write!(about, " ({})", names.join(", "))?;
        }
        writeln!(
            page,
            "| `{}` | {} |",
            cell(&argument.to_string()),
            cell(&about)
        )?;
    }
    if let Some(more) = command.get_after_long_help() {
        write!(page, "\n{}\n", paragraphs(Some(more)))?;
    }
    for inner in visible(command) {
        add_command(page, "###", &format!("{name} "), inner)?;
    }
    Ok(())
}

fn is_shown(argument: &Arg) -> bool {
    let is_help = matches!(argument.get_id().as_str(), "help" | "version");
    !is_help && !argument.is_hide_set() && !argument.is_hide_short_help_set()
}

fn settings() -> Command {
    Settings::augment_args(Command::new("serve"))
}

fn add_heading(page: &mut String, heading: Option<&str>) {
    let (heading, about) = match heading {
        None => ("Server", ""),
        Some("Limits on files") => (
            "Limits on files",
            "The table `[limits]`; flags and variables are `--limit-input`, `LAPIDARY_LIMIT_INPUT` and so on. See [formats](formats.md#limits).\n\n",
        ),
        Some("Sign-in with OpenID Connect") => (
            "Sign-in with OpenID Connect",
            "The table `[oidc]`; flags and variables are `--oidc-issuer`, `LAPIDARY_OIDC_ISSUER` and so on. See the [administrator's \
             guide](../guides/administrator.md#let-people-sign-in).\n\n",
        ),
        Some("Buckets of S3") => (
            "Buckets of S3",
            "The table `[s3]`; flags and variables are `--s3-buckets`, `LAPIDARY_S3_BUCKETS` and so on. See [the \
             guide](../guides/s3.md).\n\n",
        ),
        Some(heading) => (
            heading,
            "The table `[rule]`; there are no variables. Each recipe has its own defaults; a value overrides them all. See \
             [evidence](../explanation/evidence.md#rule).\n\n",
        ),
    };
    write!(
        page,
        "\n## {heading}\n\n{about}| setting | default | |\n|---|---|---|\n"
    )
    .expect("a text");
}

/// The table of the file that a setting is in, and its key there.
fn key_of(setting: &Arg) -> (&'static str, &str) {
    let flag = setting.get_long().expect("a flag");
    if setting.get_help_heading().is_none() {
        return ("", flag);
    }
    for (table, prefix) in [("limits", "limit-"), ("oidc", "oidc-"), ("s3", "s3-")] {
        if let Some(key) = flag.strip_prefix(prefix) {
            return (table, key);
        }
    }
    ("rule", flag)
}

/// The help of an argument in one line, and its default. If that is not a plain value, the help names it.
fn help_of(argument: &Arg) -> (String, Option<String>) {
    let help = argument.get_long_help().or(argument.get_help());
    let help = help
        .map_or_else(String::new, ToString::to_string)
        .replace('\n', " ");
    if let Some((before, rest)) = help.split_once(" [default: ") {
        let (default, after) = rest.split_once(']').expect("an end");
        return (format!("{before}{after}"), Some(default.to_owned()));
    }
    let defaults: Vec<_> = argument
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy())
        .collect();
    let is_shown = argument.get_action().takes_values() && !defaults.is_empty();
    (help, is_shown.then(|| defaults.join(",")))
}

fn add_comment(sample: &mut String, about: &str) {
    let mut width = usize::MAX;
    for word in about.split(' ') {
        let (gap, before) = if width > 110 {
            ("\n# ", 2)
        } else {
            (" ", width + 1)
        };
        *sample += gap;
        *sample += word;
        width = before + word.chars().count();
    }
    *sample += ".\n";
}

/// A default as TOML.
fn literal(default: &str) -> String {
    let is_literal = toml::from_str::<Table>(&format!("key = {default}")).is_ok();
    if is_literal {
        default.to_owned()
    } else {
        format!("{default:?}")
    }
}

fn paragraphs(text: Option<&clap::builder::StyledStr>) -> String {
    text.map_or_else(String::new, ToString::to_string)
        .replace(['<', '>'], "")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
