//! The printed table, with a row per measurement and a column per index.

use std::fmt::{self, Display};

/// A Markdown table.
pub struct Table {
    title: &'static str,
    columns: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

impl Table {
    pub fn new(title: &'static str) -> Self {
        Self {
            title,
            columns: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Begins the next column.
    pub fn column(&mut self, name: impl Display) {
        self.columns.push(name.to_string());
    }

    /// Fills in a row of the last column.
    pub fn set(&mut self, row: impl Into<String>, value: impl Display) {
        let row = row.into();
        let at = self
            .rows
            .iter()
            .position(|(name, _)| *name == row)
            .unwrap_or_else(|| {
                self.rows.push((row, Vec::new()));
                self.rows.len() - 1
            });
        let values = &mut self.rows[at].1;
        values.resize(self.columns.len().saturating_sub(1), String::new());
        values.push(value.to_string());
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n| {} | {} |", self.title, self.columns.join(" | "))?;
        writeln!(f, "|---|{}", "---|".repeat(self.columns.len()))?;
        for (name, values) in &self.rows {
            let absent = vec![String::new(); self.columns.len() - values.len()];
            writeln!(
                f,
                "| {name} | {} |",
                [&values[..], &absent].concat().join(" | ")
            )?;
        }
        Ok(())
    }
}
