//! Errors of catalogue operations.

use jiff::civil::Date;
use lapidary_gems::{Costly, Recipe, RecipeError, RecipeName, WrittenGem};

use crate::api::{JobState, Report};
use lapidary_common::count::count;
use lapidary_common::description::TooLong;
use lapidary_common::error::{Classified, ErrorCode};
use lapidary_language::Language;
use lapidary_store::{BadName, BookKey, Coverage, Library, MOST_TERMS, NOTE_BYTES, StoreError};

/// Why a catalogue operation failed.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An invalid recipe.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// An invalid library name or book id.
    #[error(transparent)]
    Name(#[from] BadName),
    /// The catalogue does not have the recipe.
    #[error(
        "the catalogue has no recipe '{asked}', only: {known}; use one of these, or ask an administrator to add it"
    )]
    NoSuchRecipe {
        /// The recipe asked for.
        asked: String,
        /// The known recipes.
        known: String,
    },
    /// Gems were sent of a recipe whose gems only the catalogue can compute.
    #[error(
        "gems of recipe '{0}' are computed here only, because it has a secret; send the text, or gems of a public recipe"
    )]
    SecretRecipe(RecipeName),
    /// Too many recipes in one check.
    #[error("a check may use at most {limit} recipes; name fewer")]
    TooManyRecipes {
        /// The limit.
        limit: usize,
    },
    /// Not every book has gems of the recipe yet, so a check with it could miss the book that matters.
    #[error(
        "{} of {} books have gems of recipe '{recipe}', so a check with it would miss the others; use another recipe, or \
         reindex the catalogue",
        coverage.books, coverage.total
    )]
    RecipeIncomplete {
        /// The recipe.
        recipe: RecipeName,
        /// How many books have gems of it.
        coverage: Coverage,
    },
    /// The gate refused the book, because others match it.
    #[error("{}", refusal(.0))]
    Matches(Box<Report>),
    /// The gate refused the book, because its check could not find all books of its library.
    #[error(
        "only {} of {} books of the library have gems of the recipes of this check, so it could miss a match, and the book was not added; \
         send the text instead of gems, give those books gems again, or add the book without 'unless'",
        coverage.books, coverage.total
    )]
    CheckIncomplete {
        /// How many books have gems of the recipes.
        coverage: Coverage,
    },
    /// Books that do not count, for a book without a gate.
    #[error("'except' works only with 'unless'; give both, or none")]
    ExceptAlone,
    /// A job of the same kind is still running.
    #[error(
        "job {id} ({kind}) is still running, and only one {kind} job can run at a time; wait for it, or cancel it"
    )]
    JobRuns {
        /// Its number.
        id: u32,
        /// Its kind.
        kind: &'static str,
    },
    /// No such job.
    #[error("there is no job {0}")]
    NoSuchJob(u32),
    /// A finished job cannot be cancelled.
    #[error("job {id} has already ended: {state}")]
    JobEnded {
        /// Its number.
        id: u32,
        /// Its final state.
        state: JobState,
    },
    /// A job that cannot be run.
    #[error("{0}")]
    BadTask(String),
    /// A copy that was interrupted. Checks would miss books.
    #[error("this is an unfinished copy of {from}; finish it with lapidary copy, or delete it")]
    UnfinishedCopy {
        /// What it is a copy of.
        from: String,
    },
    /// A copy that was changed, or of something else.
    #[error(
        "{to} is a finished copy of {from} that was changed since, or of another catalogue; name a new place, so that the \
         changes are not lost"
    )]
    ChangedCopy {
        /// The copy.
        to: String,
        /// What it is a copy of.
        from: String,
    },
    /// A copy is not equal to its source.
    #[error("the copy differs from its source: {}; copy again, while nobody changes the source", .0.join("; "))]
    CopyDiffers(Vec<String>),
    /// An export could not be written.
    #[error("the export cannot be written: {0}")]
    Output(std::io::Error),
    /// The input of an import is not an export, or is incomplete.
    #[error("line {line}: {why}")]
    BadExport {
        /// The line number.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// Some books have no gems of the recipe that was to become the default.
    #[error(
        "{} cannot get gems of recipe '{recipe}', because no fold is stored ({examples}); checks keep using the previous \
         recipe: reindex from sources, or allow missing books",
        count(*without, "book", "books")
    )]
    NotRecut {
        /// The recipe.
        recipe: RecipeName,
        /// Number of books without gems of it.
        without: u64,
        /// Some of these books.
        examples: String,
    },
    /// No such filed check or decision.
    #[error("there is no decision {0:?}")]
    NoSuchDecision(String),
    /// A decision without a ruling or a reason.
    #[error("a decision is accepted, refused or appealed, and needs a reason")]
    BadDecision,
    /// A check that cannot be assigned to somebody.
    #[error(
        "a check is assigned to a key that sees it, by an administrator; reviewers take it themselves, or give it back"
    )]
    BadAssignee,
    /// No decision that could be taken back.
    #[error(
        "there is no decision of yours to take back; if another was recorded since, record a new one"
    )]
    NothingToWithdraw,
    /// No such batch of files, or not any more, or of another.
    #[error("there is no such batch; the last 100 of a key are kept, for that key alone")]
    NoSuchBatch,
    /// A batch that cannot be made, or has no such file.
    #[error(
        "a batch has 1 to 500 files with different names of at most 1,000 bytes, and a check in it has the name of one of them"
    )]
    BadBatch,
    /// A link to a filed check that is not there, or not any more.
    #[error(
        "this link does not exist, has expired or was deleted; ask whoever sent it for another"
    )]
    NoSuchLink,
    /// A link that cannot be made.
    #[error("{0}")]
    BadLink(&'static str),
    /// No such book.
    #[error("there is no book {0}")]
    NoSuchBook(BookKey),
    /// The text of a book is not kept.
    #[error(
        "the text of {0} is not kept; to keep it, add the book again with `keep_text` (ingest --keep-texts)"
    )]
    NoSuchText(BookKey),
    /// The text of a filed check is not kept, or not any more.
    #[error("the text of the filed check {0} is not kept; send it again to see its passages")]
    NoSuchEvidence(String),
    /// The text is not the one that was checked.
    #[error(
        "this is not the text that was checked: its digest is {found}, that of the filed check {filed}; send the same file"
    )]
    OtherEvidence {
        /// The digest of the text.
        found: String,
        /// That of the filed check.
        filed: String,
    },
    /// The text is not the one that the book was added with.
    #[error("this is not the text of {0}; to replace the text, add the book again")]
    OtherText(BookKey),
    /// The library holds no books.
    #[error("there is no library {0:?}; names are case-sensitive")]
    NoSuchLibrary(String),
    /// A search without a condition, or with an empty one.
    #[error("{0}")]
    NothingSought(String),
    /// A search for too many words.
    #[error("there are more than {MOST_TERMS} words to find; use fewer")]
    TooMuchSought,
    /// A cursor that is not one of this search.
    #[error(
        "the cursor is not the 'next_cursor' of a page of this list; leave it out to start at the first page"
    )]
    BadCursor,
    /// The same request is being answered.
    #[error(
        "another request with this Idempotency-Key is being answered; send it again in some seconds"
    )]
    RequestRuns,
    /// Another request was made with the same key.
    #[error(
        "this Idempotency-Key was sent with another request or secret in the last 24 hours; send a new one with each new request"
    )]
    OtherRequest,
    /// A record is not in a version that a change is for.
    #[error(
        "it {}, so nothing was changed; get it again, and decide anew",
        if *is_there { "is there in another version than the request is for" } else { "is not there" }
    )]
    OtherVersion {
        /// Whether there is such a record.
        is_there: bool,
    },
    /// No such key.
    #[error("there is no key named {0:?}")]
    NoSuchKey(String),
    /// A key was revoked, but only in the memory of this process.
    #[error(
        "the key {name:?} is refused from now on, but that is not on disk: {why}. The server tries again until it is; until then, other \
         servers of a cluster may accept the key, and so does this one if it is restarted"
    )]
    RevokedInMemory {
        /// Its name.
        name: String,
        /// Why it could not be written.
        why: String,
    },
    /// The name is already used by another key.
    #[error("a key named {0:?} already exists; rotate or revoke it, or choose another name")]
    KeyExists(String),
    /// A key that cannot be created.
    #[error("{0}")]
    BadKey(&'static str),
    /// A new key whose libraries were said to be the contrary before, or decide so far.
    #[error(
        "library '{library}' {}; to change that: lapidary libraries {} '{library}'",
        if *.trusted { "is not trusted" } else { "is trusted, or has books that decide in what others are told" },
        if *.trusted { "trust" } else { "distrust" }
    )]
    TrustStated {
        /// The library.
        library: Library,
        /// Whether the key was to make it trusted.
        trusted: bool,
    },
    /// The operating system provides no random numbers.
    #[error("the system provides no random numbers, so no secret can be created: {0}")]
    NoRandom(getrandom::Error),
    /// A book without a text.
    #[error("the text is empty")]
    NoText,
    /// No text can have this gem under the recipe.
    #[error("{gem} is not a gem of recipe '{recipe}', whose gems are {are}")]
    BadGem {
        /// The gem.
        gem: WrittenGem,
        /// The recipe.
        recipe: RecipeName,
        /// What gems of the recipe look like.
        are: &'static str,
    },
    /// The metadata of a book is too long.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The note is too long.
    #[error("the note is longer than {NOTE_BYTES} bytes; shorten it")]
    LongNote,
    /// The rights end before they start.
    #[error("the validity ends on {until}, before it starts on {from}")]
    BadValidity {
        /// The first day.
        from: Date,
        /// The last day.
        until: Date,
    },
    /// A text or list for an allow-list has no gems.
    #[error("there are no gems to allow; give a longer text, or allow the book itself")]
    NothingToAllow,
    /// Events cannot be posted to this address.
    #[error(
        "not a valid webhook URL; give one such as https://books.example/lapidary, without a user name"
    )]
    BadWebhook,
    /// These events cannot be chosen.
    #[error("'events' must have at least one of {0}")]
    BadEvents(String),
    /// The audit log has no such entry to send events again from.
    #[error(
        "'from' must be the number of an entry of the audit log, from {first} to {last}, not {from}"
    )]
    BadReplay {
        /// What was asked for.
        from: u64,
        /// The oldest entry.
        first: u64,
        /// The newest entry.
        last: u64,
    },
    /// No event would be sent to this address.
    #[error("no event would be sent there: {0}")]
    UnreachableWebhook(String),
    /// A setting is stored in a format that this version cannot read.
    #[error("the stored {kind} {name:?} cannot be read; remove it and create it again")]
    BadSetting {
        /// The kind of setting.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// A text that takes far longer to read than its length suggests.
    #[error("too expensive to process: {0}")]
    Costly(#[from] Costly),
    /// A query or book has too many gems.
    #[error("there are {found} gems, but the limit is {limit}, which is more than any book has")]
    TooManyGems {
        /// Number of gems.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// A position in a list of gems is beyond its end.
    #[error(
        "'indexed' has the position {at}, but there are only {gems} gems; positions are counted from 0"
    )]
    NoSuchPosition {
        /// The position.
        at: u32,
        /// Number of gems.
        gems: usize,
    },
}

impl CatalogueError {
    pub(super) fn no_such_recipe(asked: &RecipeName, known: &[Recipe]) -> Self {
        let known: Vec<&str> = known.iter().map(|recipe| recipe.name().as_str()).collect();
        Self::NoSuchRecipe {
            asked: asked.to_string(),
            known: if known.is_empty() {
                "none yet".to_owned()
            } else {
                known.join(", ")
            },
        }
    }
}

/// Why the gate refused a book.
fn refusal(report: &Report) -> String {
    let such_as = report
        .matches
        .iter()
        .find(|found| found.decides() && found.book.rights == report.verdict);
    let such_as = such_as.map_or_else(String::new, |found| {
        format!(", such as {}/{}", found.book.library, found.book.id)
    });
    let books = count(report.total as u64, "book matches", "books match");
    let share = report.covered.map_or_else(String::new, |share| {
        format!(
            ", and {} of this text is in protected books",
            Language::English.percent(share)
        )
    });
    format!("not added: {books}{such_as}{share}")
}

impl Classified for CatalogueError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Store(error) => error.code(),
            Self::Recipe(error) => error.code(),
            Self::Name(error) => error.code(),
            Self::NoSuchRecipe { .. } => ErrorCode::UnknownRecipe,
            Self::SecretRecipe(_) => ErrorCode::SecretRecipe,
            Self::TooManyRecipes { .. } => ErrorCode::TooManyRecipes,
            Self::RecipeIncomplete { .. } => ErrorCode::RecipeIncomplete,
            Self::Matches(_) => ErrorCode::Matches,
            Self::CheckIncomplete { .. } => ErrorCode::CheckIncomplete,
            Self::JobRuns { .. } => ErrorCode::JobRuns,
            Self::NoSuchJob(_) => ErrorCode::NoSuchJob,
            Self::JobEnded { .. } => ErrorCode::JobEnded,
            Self::BadTask(_) => ErrorCode::BadTask,
            Self::UnfinishedCopy { .. } => ErrorCode::UnfinishedCopy,
            Self::ChangedCopy { .. } => ErrorCode::CatalogueExists,
            Self::CopyDiffers(_) => ErrorCode::ChangedMeanwhile,
            Self::Output(_) => ErrorCode::ExportFailed,
            Self::BadExport { .. } => ErrorCode::BadExport,
            Self::NotRecut { .. } => ErrorCode::NotRecut,
            Self::NoSuchBook(_) => ErrorCode::NoSuchBook,
            Self::NoSuchText(_) | Self::NoSuchEvidence(_) => ErrorCode::NoSuchText,
            Self::NoSuchDecision(_) => ErrorCode::NoSuchDecision,
            Self::BadDecision => ErrorCode::BadDecision,
            Self::BadAssignee => ErrorCode::BadAssignee,
            Self::NothingToWithdraw => ErrorCode::NothingToWithdraw,
            Self::NoSuchBatch => ErrorCode::NoSuchBatch,
            Self::BadBatch => ErrorCode::BadBatch,
            Self::NoSuchLink => ErrorCode::NoSuchLink,
            Self::BadLink(_) => ErrorCode::BadLink,
            Self::OtherText(_) | Self::OtherEvidence { .. } => ErrorCode::OtherText,
            Self::NoSuchLibrary(_) => ErrorCode::NoSuchLibrary,
            Self::ExceptAlone | Self::NothingSought(_) | Self::TooMuchSought => ErrorCode::BadQuery,
            Self::BadCursor => ErrorCode::BadCursor,
            Self::RequestRuns => ErrorCode::RequestRuns,
            Self::OtherRequest => ErrorCode::OtherRequest,
            Self::OtherVersion { .. } => ErrorCode::PreconditionFailed,
            Self::NoSuchKey(_) => ErrorCode::NoSuchKey,
            Self::RevokedInMemory { .. } => ErrorCode::RevokedInMemory,
            Self::KeyExists(_) => ErrorCode::KeyExists,
            Self::BadKey(_) => ErrorCode::BadKeyRequest,
            Self::TrustStated { .. } => ErrorCode::TrustStated,
            Self::NoRandom(_) => ErrorCode::Internal,
            Self::NoText => ErrorCode::NoText,
            Self::BadGem { .. } => ErrorCode::BadGem,
            Self::TooLong(_) => ErrorCode::TooLong,
            Self::LongNote => ErrorCode::LongNote,
            Self::BadValidity { .. } => ErrorCode::BadValidity,
            Self::NothingToAllow => ErrorCode::NothingToAllow,
            Self::BadWebhook | Self::UnreachableWebhook(_) => ErrorCode::BadWebhook,
            Self::BadEvents(_) => ErrorCode::BadEvents,
            Self::BadReplay { .. } => ErrorCode::BadReplay,
            Self::BadSetting { .. } => ErrorCode::StoreFailed,
            Self::Costly(_) => ErrorCode::OverLimit,
            Self::TooManyGems { .. } => ErrorCode::TooManyGems,
            Self::NoSuchPosition { .. } => ErrorCode::BadGems,
        }
    }
}
