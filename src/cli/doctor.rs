//! `lapidary doctor`.

use std::io::Write as _;

use clap::Args;
use lapidary_catalogue::api::{Finding, Findings};

use super::arguments::Target;
use super::failure::{Failure, Status};
use super::terminal::{json_line, out};
use lapidary_operations::status::Diagnose;

/// Report what is unhealthy about a catalogue or a server, why it matters, and the command that fixes it.
///
/// Exit status: 0 nothing is unhealthy; 1 something is; 2 wrong usage; 3 the catalogue cannot be opened, or the server does
/// not answer.
#[derive(Args)]
pub(super) struct Doctor {
    #[command(flatten)]
    target: Target,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let target = self.target.flags();
        let findings = self.target.open()?.call::<Diagnose>((), ())?.findings;
        let findings: Vec<Finding> = findings
            .into_iter()
            .map(|finding| Finding {
                fix: finding.fix.replace("TARGET", &target),
                ..finding
            })
            .collect();
        let mut out = out(self.json);
        let status = if findings.is_empty() {
            Status::Done
        } else {
            Status::Found
        };
        if self.json {
            json_line(&mut out, &Findings { findings })?;
            return Ok(status);
        }
        for Finding { what, why, fix, .. } in &findings {
            writeln!(out, "{what}: {why}; to fix it: {fix}")?;
        }
        if findings.is_empty() {
            writeln!(out, "nothing unhealthy found")?;
        }
        Ok(status)
    }
}
