//! What a site's `robots.txt` allows (RFC 9309), with what Google's parser forgives: missing colons, misspelt names, and names of robots
//! with something behind them.
//!
//! The crates that read `robots.txt` each fail some of the cases that Google publishes, which the tests here hold: names of robots with
//! something behind them, escapes of letters, `index.html`.

use std::borrow::Cow;

use memchr::memmem::find;
use url::{Position, Url};

#[cfg(test)]
mod tests;

/// Lines are cut off here, so that none takes long to match.
const LONGEST_LINE: usize = 8 * 2083;
/// How the names of fields may begin. All are compared in lower case.
const AGENT: [&str; 3] = ["user-agent", "useragent", "user agent"];
const ALLOW: [&str; 1] = ["allow"];
const DISALLOW: [&str; 6] = [
    "disallow",
    "dissallow",
    "dissalow",
    "disalow",
    "diasllow",
    "disallaw",
];
const DELAY: [&str; 1] = ["crawl-delay"];

/// What a robot may fetch from a host.
#[derive(Debug, Default)]
pub(super) struct Robots {
    rules: Vec<RobotsRule>,
    /// The pause in seconds that is asked for.
    pub(super) delay: Option<f32>,
}

#[derive(Debug)]
struct RobotsRule {
    /// A path with `*` and `$`, percent-encoded.
    pattern: Vec<u8>,
    allows: bool,
}

/// Whom the lines being read concern.
#[derive(Default)]
struct AgentGroup {
    ours: bool,
    everyone: bool,
    /// Whether it has rules, so that the next name of a robot begins another.
    has_rules: bool,
}

impl AgentGroup {
    /// Adds those of a name, and says whether it is that of this robot.
    fn name(&mut self, name: &[u8], robot: &str) -> bool {
        let letters = name
            .iter()
            .take_while(|c| c.is_ascii_alphabetic() || matches!(c, b'-' | b'_'));
        let is_ours = name[..letters.count()].eq_ignore_ascii_case(robot.as_bytes());
        self.everyone |= name[0] == b'*' && name.get(1).is_none_or(u8::is_ascii_whitespace);
        self.ours |= is_ours;
        is_ours
    }
}

impl Robots {
    /// The rules for a robot of this name: those of its own groups, or else those for all.
    pub(super) fn read(robot: &str, text: &[u8]) -> Self {
        let text = text.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(text);
        let [mut ours, mut everyone] = [Self::default(), Self::default()];
        let (mut group, mut named, mut anyone) = (AgentGroup::default(), false, false);
        // Some files ask everyone to wait before they name anyone.
        let mut delay = None;
        for (name, value) in text
            .split(|byte| matches!(byte, b'\n' | b'\r'))
            .filter_map(field)
        {
            if begins_as(&name, &AGENT) {
                if group.has_rules {
                    group = AgentGroup::default();
                }
                named |= group.name(value, robot);
                anyone = true;
                continue;
            }
            let concerned = [(group.ours, &mut ours), (group.everyone, &mut everyone)]
                .into_iter()
                .filter_map(|(is_concerned, robots)| is_concerned.then_some(robots));
            let allows = begins_as(&name, &ALLOW);
            if allows || begins_as(&name, &DISALLOW) {
                group.has_rules = true;
                for robots in concerned {
                    robots.rules.push(RobotsRule {
                        pattern: encoded(value).into_owned(),
                        allows,
                    });
                }
            } else if begins_as(&name, &DELAY) {
                let seconds = str::from_utf8(value)
                    .ok()
                    .and_then(|value| value.parse().ok());
                for robots in concerned {
                    robots.delay = robots.delay.or(seconds);
                }
                if !anyone {
                    delay = delay.or(seconds);
                }
            }
        }
        let rules = if named { ours } else { everyone };
        Self {
            delay: rules.delay.or(delay),
            ..rules
        }
    }

    /// Whether this address may be fetched: what the longest rule that fits says, and of equal ones the one that allows.
    pub(super) fn allow(&self, url: &Url) -> bool {
        let path = encoded(url[Position::BeforePath..Position::AfterQuery].as_bytes());
        let fitting = self
            .rules
            .iter()
            .filter_map(|rule| Some((rule.fits(&path)?, rule.allows)));
        fitting.max().is_none_or(|(_, allows)| allows)
    }
}

/// Whether the name of a field begins as one of these.
fn begins_as(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|known| name.starts_with(known.as_bytes()))
}

impl RobotsRule {
    /// The length of the pattern, if it fits.
    fn fits(&self, path: &[u8]) -> Option<usize> {
        if fits(&self.pattern, path) {
            return Some(self.pattern.len());
        }
        // Who allows `index.html` allows its folder.
        let folder = self
            .pattern
            .iter()
            .rposition(|byte| *byte == b'/')
            .map(|slash| self.pattern.split_at(slash + 1));
        let (folder, _) =
            folder.filter(|(_, file)| self.allows && file.starts_with(b"index.htm"))?;
        (path == folder).then_some(folder.len() + 1)
    }
}

/// Whether a path begins as a pattern says: `*` stands for anything, and `$` at the end for the end. An empty pattern fits nothing.
fn fits(pattern: &[u8], path: &[u8]) -> bool {
    let (pattern, to_end) = pattern
        .strip_suffix(b"$")
        .map_or((pattern, false), |pattern| (pattern, true));
    let mut parts = pattern.split(|byte| *byte == b'*');
    let Some(mut rest) = parts
        .next()
        .filter(|_| !pattern.is_empty())
        .and_then(|first| path.strip_prefix(first))
    else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return !to_end || rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if to_end && parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match find(rest, part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// The name of a line's field in lower case, and its value. Lines with nothing to say have none.
fn field(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let line = &line[..line.len().min(LONGEST_LINE)];
    let line = line.split(|byte| *byte == b'#').next()?.trim_ascii();
    let colon = line.iter().position(|byte| *byte == b':');
    let between = colon.or_else(|| {
        // Two words without a colon.
        let blank = line.iter().position(u8::is_ascii_whitespace)?;
        let value = line[blank..].trim_ascii();
        (!value.iter().any(u8::is_ascii_whitespace)).then_some(blank)
    })?;
    let (name, value) = (
        line[..between].trim_ascii(),
        line[between + 1..].trim_ascii(),
    );
    (!value.is_empty()).then(|| (name.to_ascii_lowercase(), value))
}

/// With percent signs for what is not ASCII, and capitals behind them.
fn encoded(path: &[u8]) -> Cow<'_, [u8]> {
    if path.iter().all(|byte| byte.is_ascii() && *byte != b'%') {
        return Cow::Borrowed(path);
    }
    let mut encoded = Vec::with_capacity(path.len() + path.len() / 2);
    let mut digits = 0_usize;
    for &byte in path {
        match byte {
            b'%' => digits = 3,
            0x80.. => {
                encoded.extend_from_slice(format!("%{byte:02X}").as_bytes());
                digits = 0;
                continue;
            }
            _ => {}
        }
        encoded.push(if digits > 0 {
            byte.to_ascii_uppercase()
        } else {
            byte
        });
        digits = digits.saturating_sub(1);
    }
    Cow::Owned(encoded)
}
