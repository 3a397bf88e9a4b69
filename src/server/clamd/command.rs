//! The commands of clamd's protocol, as its manual page (`clamd(8)`) has them.

/// The longest command: one with a path, which is refused.
pub(super) const LONGEST: u64 = 4_096;

/// A line that a client sent.
#[derive(Debug)]
pub(super) struct ClamdLine {
    /// What ends it, and the answer.
    pub(super) end: u8,
    pub(super) command: ClamdCommand,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClamdCommand {
    Ping,
    Version,
    VersionCommands,
    /// A file follows.
    Instream,
    /// Several commands follow, whose answers are numbered.
    IdSession,
    End,
    /// A command that names a file of this machine, or has it sent in another way. The answer begins with its name.
    OtherFile(String),
    Unknown,
}

/// What ends a line that begins with this byte.
pub(super) fn end_of(first: u8) -> u8 {
    if first == b'z' { 0 } else { b'\n' }
}

impl ClamdLine {
    /// A line with what ends it, if the client sent that.
    pub(super) fn read(line: &[u8]) -> Self {
        let end = end_of(line.first().copied().unwrap_or_default());
        let line = line.strip_suffix(&[end]).unwrap_or(line);
        let command = match line {
            [b'z' | b'n', command @ ..] => ClamdCommand::of(command, true),
            command => ClamdCommand::of(command, false),
        };
        Self { end, command }
    }
}

impl ClamdCommand {
    /// Commands that have more than one line to them, or came later, need a prefix.
    fn of(command: &[u8], has_prefix: bool) -> Self {
        let text = String::from_utf8_lossy(command);
        let (name, path) = text.split_once(' ').unwrap_or((&text, "stream"));
        match (command, name) {
            (b"PING", _) => Self::Ping,
            (b"VERSION", _) => Self::Version,
            (b"VERSIONCOMMANDS", _) if has_prefix => Self::VersionCommands,
            (b"INSTREAM", _) if has_prefix => Self::Instream,
            (b"IDSESSION", _) if has_prefix => Self::IdSession,
            (b"END", _) if has_prefix => Self::End,
            (_, "SCAN" | "CONTSCAN" | "MULTISCAN" | "ALLMATCHSCAN" | "FILDES" | "STREAM") => {
                Self::OtherFile(path.to_owned())
            }
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClamdCommand, ClamdLine};

    #[test]
    fn a_prefix_says_how_a_command_ends() {
        let other_file = |path: &str| ClamdCommand::OtherFile(path.to_owned());
        let table: [(&[u8], u8, ClamdCommand); 15] = [
            (b"PING\n", b'\n', ClamdCommand::Ping),
            (b"nPING\n", b'\n', ClamdCommand::Ping),
            (b"zPING\0", 0, ClamdCommand::Ping),
            (b"PING", b'\n', ClamdCommand::Ping),
            (b"zPING\n", 0, ClamdCommand::Unknown),
            (b"nPING \n", b'\n', ClamdCommand::Unknown),
            (b"VERSION\n", b'\n', ClamdCommand::Version),
            (b"zVERSIONCOMMANDS\0", 0, ClamdCommand::VersionCommands),
            (b"zINSTREAM\0", 0, ClamdCommand::Instream),
            (b"INSTREAM\n", b'\n', ClamdCommand::Unknown),
            (b"IDSESSION\n", b'\n', ClamdCommand::Unknown),
            (b"SCAN /a b\n", b'\n', other_file("/a b")),
            (b"zFILDES\0", 0, other_file("stream")),
            (b"zSHUTDOWN\0", 0, ClamdCommand::Unknown),
            (b"", b'\n', ClamdCommand::Unknown),
        ];
        for (line, end, command) in table {
            let read = ClamdLine::read(line);
            assert_eq!((read.end, read.command), (end, command), "{line:?}");
        }
    }
}
