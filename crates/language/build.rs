//! Makes a method of `Language` for each message of the English files, with the arguments that the comment above it
//! declares: `# $number (Number), $share (String)`.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use fluent_syntax::ast::{Entry, Message};
use fluent_syntax::parser::parse;

/// Problems are named by their codes, so they have no methods.
const FILES: [&str; 3] = ["src/en.ftl", "src/console/en.ftl", "src/doctor/en.ftl"];

fn main() {
    let (mut methods, mut declared) = (String::new(), String::new());
    for file in FILES {
        println!("cargo::rerun-if-changed={file}");
        let text = fs::read_to_string(file).expect("a file of messages");
        let messages =
            parse(text.as_str()).unwrap_or_else(|(_, errors)| panic!("{file}: {errors:?}"));
        for entry in messages.body {
            if let Entry::Message(message) = entry {
                add_method(&mut methods, &mut declared, &message);
            }
        }
    }
    let code = format!(
        "impl Language {{{methods}}}\n\n#[cfg(test)]\nconst MESSAGES: &[(&str, &[&str])] = &[{declared}];\n"
    );
    let folder = env::var_os("OUT_DIR").expect("cargo names a folder");
    fs::write(Path::new(&folder).join("messages.rs"), code).expect("the folder can be written");
}

fn add_method(methods: &mut String, declared: &mut String, message: &Message<&str>) {
    let id = message.id.name;
    let (mut parameters, mut values, mut names) = (String::new(), String::new(), String::new());
    for (name, kind) in arguments(message) {
        write!(parameters, ", {name}: {kind}").expect("a text");
        write!(values, "({name:?}, {name}.into()), ").expect("a text");
        write!(names, "{name:?}, ").expect("a text");
    }
    write!(
        methods,
        "/// The message `{id}`.\n#[must_use]\npub fn {id}(self{parameters}) -> String {{ self.say({id:?}, &[{values}]) }}\n"
    )
    .expect("a text");
    write!(declared, "({id:?}, &[{names}]), ").expect("a text");
}

/// The names and types of a message's arguments.
fn arguments<'m>(message: &Message<&'m str>) -> Vec<(&'m str, &'static str)> {
    let comment = message.comment.iter().flat_map(|comment| &comment.content);
    let arguments = comment.flat_map(|line| line.split(", "));
    arguments
        .filter_map(|argument| argument.strip_prefix('$')?.split_once(' '))
        .map(|(name, kind)| match kind {
            "(Number)" => (name, "u64"),
            "(String)" => (name, "&str"),
            other => panic!("{}: there is no type {other}", message.id.name),
        })
        .collect()
}
