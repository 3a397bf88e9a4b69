//! The releases of ONIX that are read. Others say rights and titles with other elements, so a feed of theirs would be read as one
//! that says nothing.

use quick_xml::XmlVersion;
use quick_xml::events::BytesStart;

/// The releases that are read.
const RELEASES: [&str; 2] = ["3.0", "3.1"];
/// How the namespaces of ONIX begin; the release follows.
const NAMESPACES: [&str; 2] = [
    "http://ns.editeur.org/onix/",
    "http://www.editeur.org/onix/",
];
const BROKEN: &str = "the attributes of <ONIXMessage> are not well-formed";
/// How many characters of a release or namespace an error shows.
const SHOWN: usize = 100;

/// Checks the release of a message: its attribute `release`, or else that of its namespace.
pub(super) fn check(message: &BytesStart<'_>) -> Result<(), String> {
    // One that is given twice could be read either way.
    if message.attributes().any(|attribute| attribute.is_err()) {
        return Err(BROKEN.to_owned());
    }
    let namespace = match message.name().prefix() {
        Some(prefix) => value(message, &format!("xmlns:{}", prefix.into_inner()))?,
        None => value(message, "xmlns")?,
    };
    let release = value(message, "release")?;
    match (release, namespace) {
        (Some(release), _) if !is_read(&release) => {
            Err(refusal(&format!("its release is {:?}", shown(&release))))
        }
        (_, Some(namespace)) if !of_namespace(&namespace).is_some_and(is_read) => Err(refusal(
            &format!("its namespace is {:?}", shown(&namespace)),
        )),
        (None, None) => Err(refusal("it says no release")),
        _ => Ok(()),
    }
}

fn is_read(release: &str) -> bool {
    RELEASES.contains(&release)
}

fn refusal(what: &str) -> String {
    format!(
        "only ONIX {} can be read, and {what}; ask the sender for a feed of ONIX 3.0",
        RELEASES.join(" and ")
    )
}

/// The release that a namespace is of.
fn of_namespace(namespace: &str) -> Option<&str> {
    let rest = NAMESPACES
        .iter()
        .find_map(|begin| namespace.strip_prefix(begin))?;
    rest.split_once('/')
        .filter(|(_, form)| ["reference", "short"].contains(form))
        .map(|(release, _)| release)
}

fn value(message: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    let Ok(attribute) = message.try_get_attribute(name) else {
        return Err(BROKEN.to_owned());
    };
    let value = attribute
        .map(|attribute| attribute.normalized_value(XmlVersion::Implicit1_0))
        .transpose();
    value
        .map(|value| value.map(|value| value.trim().to_owned()))
        .map_err(|_| BROKEN.to_owned())
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}
