//! Small records next to the books, in tables of rows.

/// A table of small records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Access keys, by id.
    Keys,
    /// Facts about access: whether there has ever been a key.
    Access,
    /// Jobs, by number (`u32`, big-endian).
    Jobs,
    /// Whether folds of added books are kept: if so, one row with an empty key.
    Folds,
    /// Allow-lists, by name.
    AllowLists,
    /// Libraries about which an administrator has said something (`catalogue/trust.rs`).
    Libraries,
    /// Webhooks, by library.
    Webhooks,
    /// How far each webhook has got in the audit log, by library.
    WebhookProgress,
    /// Webhooks of keys, by the name of the key.
    KeyWebhooks,
    /// How far each of these has got in the audit log.
    KeyWebhookProgress,
    /// Filed checks with their texts, and decisions, with their search keys (`catalogue/decisions.rs`).
    Decisions,
    /// Sources of books, by name.
    Sources,
    /// Where the harvest of each source is, and what it has seen (`harvest/frontier.rs`).
    Harvests,
    /// What the catalogue is a copy of: one row with an empty key (`catalogue/copy.rs`).
    Copy,
    /// Who is signed in to the console (`console/sessions.rs`).
    Sessions,
    /// What the last job found that looked for duplicates, by its number (`catalogue/jobs/duplicates.rs`).
    Duplicates,
    /// What was said of groups of duplicates, by the name of the first book (`catalogue/jobs/duplicates.rs`).
    DuplicateGroups,
    /// Answers to requests that take effect once (`catalogue/once.rs`).
    Requests,
    /// The numbers of checks, by day and process (`catalogue/check_counts.rs`).
    CheckCounts,
    /// Figures over time, by time and process (`catalogue/history.rs`).
    Figures,
}

impl Table {
    /// Its name, as in error messages and in the audit log. Stores keep it, so it never changes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keys => "key",
            Self::Access => "access",
            Self::Jobs => "job",
            Self::Folds => "folds",
            Self::AllowLists => "allow",
            Self::Libraries => "library",
            Self::Webhooks => "webhook",
            Self::WebhookProgress => "webhook-progress",
            Self::KeyWebhooks => "key-webhook",
            Self::KeyWebhookProgress => "key-webhook-progress",
            Self::Decisions => "decision",
            Self::Sources => "source",
            Self::Harvests => "harvest",
            Self::Copy => "copy",
            Self::Sessions => "session",
            Self::Duplicates => "duplicates",
            Self::DuplicateGroups => "duplicate-group",
            Self::Requests => "request",
            Self::CheckCounts => "check-counts",
            Self::Figures => "figures",
        }
    }
}

/// A row of a table: its key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// A change of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowChange {
    /// The table.
    pub table: Table,
    /// The key of the row.
    pub key: Vec<u8>,
    /// The new value; `None` to delete the row.
    pub value: Option<Vec<u8>>,
}

impl RowChange {
    /// Writes a row, whether or not it exists.
    #[must_use]
    pub fn put(table: Table, key: impl AsRef<[u8]>, value: impl Into<Vec<u8>>) -> Self {
        Self {
            table,
            key: key.as_ref().to_vec(),
            value: Some(value.into()),
        }
    }

    /// Deletes a row, if it exists.
    #[must_use]
    pub fn delete(table: Table, key: impl AsRef<[u8]>) -> Self {
        Self {
            table,
            key: key.as_ref().to_vec(),
            value: None,
        }
    }
}
