//! One classification of errors for both front ends.
//!
//! Every error has a [code](ErrorCode) for programs, and every code has one [kind](ErrorKind). The server derives the
//! HTTP status from the kind, the command line its exit status.

use lapidary_gems::RecipeError;

/// What went wrong, in general.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request cannot be read.
    Malformed,
    /// A value is not acceptable.
    Input,
    /// There is no valid key.
    Unauthorized,
    /// The key does not permit it.
    Forbidden,
    /// It does not exist.
    Missing,
    /// The path does not support the method.
    WrongMethod,
    /// The request arrives too slowly.
    TooSlow,
    /// The current state does not allow it.
    Conflict,
    /// A condition that the request names does not hold.
    Condition,
    /// It exceeds a size limit.
    TooLarge,
    /// The content type or encoding is not supported.
    UnsupportedType,
    /// The server is not responsible for the host name.
    WrongHost,
    /// Too many requests.
    RateLimited,
    /// The folder that a command names is not as expected. Clients of a server name no folders.
    Folder,
    /// The folder that a command names is in use.
    InUse,
    /// Temporarily unavailable; try again later.
    Busy,
    /// The disk is full.
    DiskFull,
    /// A fault of the program or of its environment.
    Internal,
}

impl ErrorKind {
    /// Whether the user can fix it by asking for something else.
    #[must_use]
    pub fn is_input(self) -> bool {
        !matches!(
            self,
            Self::InUse | Self::Busy | Self::DiskFull | Self::Internal
        )
    }
}

macro_rules! codes {
    ($($code:ident = $name:literal: $kind:ident,)*) => {
        /// The code of an error, for programs. Codes do not change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
                pub enum ErrorCode {
            $(#[doc = concat!("`", $name, "`")] $code,)*
        }

        impl ErrorCode {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$code,)*];

            /// The code as a string.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$code => $name,)* }
            }

            /// Its kind.
            #[must_use]
            pub fn kind(self) -> ErrorKind {
                match self { $(Self::$code => ErrorKind::$kind,)* }
            }
        }
    };
}

codes! {
    BadCursor = "bad_cursor": Malformed,
    BadForm = "bad_form": Malformed,
    BadGems = "bad_gems": Malformed,
    BadIdempotencyKey = "bad_idempotency_key": Malformed,
    BadJson = "bad_json": Malformed,
    BadLimit = "bad_limit": Malformed,
    BadPath = "bad_path": Malformed,
    BadPrecondition = "bad_precondition": Malformed,
    BadQuery = "bad_query": Malformed,
    BadRef = "bad_ref": Malformed,
    BrokenBody = "broken_body": Malformed,
    NoPreconditions = "no_preconditions": Malformed,
    Undecodable = "undecodable": Malformed,

    BadKey = "bad_key": Unauthorized,
    KeyExpired = "key_expired": Unauthorized,
    NoKey = "no_key": Unauthorized,

    CrossSite = "cross_site": Forbidden,
    MayNotForbid = "may_not_forbid": Forbidden,
    NotAllowed = "not_allowed": Forbidden,
    SetByAdministrator = "set_by_administrator": Forbidden,
    NotYourLibrary = "not_your_library": Forbidden,

    NoSuchAllowList = "no_such_allow_list": Missing,
    NoSuchBatch = "no_such_batch": Missing,
    NoSuchBook = "no_such_book": Missing,
    NoSuchDecision = "no_such_decision": Missing,
    NoSuchJob = "no_such_job": Missing,
    NoSuchKey = "no_such_key": Missing,
    NoSuchLexicon = "no_such_lexicon": Missing,
    NoSuchLibrary = "no_such_library": Missing,
    NoSuchLink = "no_such_link": Missing,
    NoSuchRecipe = "no_such_recipe": Missing,
    NoSuchSource = "no_such_source": Missing,
    NoSuchText = "no_such_text": Missing,
    NoSuchWebhook = "no_such_webhook": Missing,
    NotFound = "not_found": Missing,

    MethodNotAllowed = "method_not_allowed": WrongMethod,
    BodyStalled = "body_stalled": TooSlow,

    CheckIncomplete = "check_incomplete": Conflict,
    Duplicate = "duplicate": Conflict,
    IsDefault = "is_default": Conflict,
    JobEnded = "job_ended": Conflict,
    JobRuns = "job_runs": Conflict,
    KeyExists = "key_exists": Conflict,
    Matches = "matches": Conflict,
    NotOffered = "not_offered": Conflict,
    NotRecut = "not_recut": Conflict,
    NothingToWithdraw = "nothing_to_withdraw": Conflict,
    OtherText = "other_text": Conflict,
    RecipeDiffers = "recipe_differs": Conflict,
    RecipeIncomplete = "recipe_incomplete": Conflict,
    RequestRuns = "request_runs": Conflict,
    SourceExists = "source_exists": Conflict,
    SourcePaused = "source_paused": Conflict,
    SourceRuns = "source_runs": Conflict,
    TrustStated = "trust_stated": Conflict,
    WouldBeEmpty = "would_be_empty": Conflict,

    PreconditionFailed = "precondition_failed": Condition,

    BodyTooLarge = "body_too_large": TooLarge,
    TooManyChecks = "too_many_checks": TooLarge,
    TooManyElements = "too_many_elements": TooLarge,
    TooManyFiles = "too_many_files": TooLarge,
    TooManyGems = "too_many_gems": TooLarge,
    TooManyRecipes = "too_many_recipes": TooLarge,
    TooMuchMemory = "too_much_memory": TooLarge,

    UnknownCharset = "unknown_charset": UnsupportedType,
    UnknownContentEncoding = "unknown_content_encoding": UnsupportedType,
    UnknownContentType = "unknown_content_type": UnsupportedType,

    UnknownHost = "unknown_host": WrongHost,

    BadAssignee = "bad_assignee": Input,
    BadBatch = "bad_batch": Input,
    BadDecision = "bad_decision": Input,
    BadEvents = "bad_events": Input,
    BadExport = "bad_export": Input,
    BadGem = "bad_gem": Input,
    BadKeyRequest = "bad_key_request": Input,
    BadLink = "bad_link": Input,
    BadName = "bad_name": Input,
    BadRecipe = "bad_recipe": Input,
    BadReplay = "bad_replay": Input,
    BadSource = "bad_source": Input,
    BadTable = "bad_table": Input,
    BadTask = "bad_task": Input,
    BadValidity = "bad_validity": Input,
    BadWebhook = "bad_webhook": Input,
    Damaged = "damaged": Input,
    OtherRequest = "idempotency_key_reused": Input,
    Encrypted = "encrypted": Input,
    LongNote = "long_note": Input,
    NoText = "no_text": Input,
    NotFetched = "not_fetched": Input,
    NotReadable = "not_readable": Input,
    NotText = "not_text": Input,
    NothingToAllow = "nothing_to_allow": Input,
    OverLimit = "over_limit": Input,
    SecretRecipe = "secret_recipe": Input,
    SeveralBooks = "several_books": Input,
    TooLong = "too_long": Input,
    UnknownRecipe = "unknown_recipe": Input,

    TooManyRequests = "too_many_requests": RateLimited,

    CatalogueExists = "catalogue_exists": Folder,
    NoBackup = "no_backup": Folder,
    NoCatalogue = "no_catalogue": Folder,
    NotACatalogue = "not_a_catalogue": Folder,
    UnfinishedCopy = "unfinished_copy": Folder,

    InUse = "in_use": InUse,

    ChangedMeanwhile = "changed_meanwhile": Busy,
    DiskNearlyFull = "disk_nearly_full": Busy,
    NoDiskSpace = "no_disk_space": Busy,
    NotReplicated = "not_replicated": Busy,
    NotWritable = "not_writable": Busy,
    Overloaded = "overloaded": Busy,
    ReadOnly = "read_only": Busy,
    SourceUnreachable = "source_unreachable": Busy,
    Starting = "starting": Busy,
    Stopping = "stopping": Busy,
    StoreFull = "store_full": Busy,
    StoreSilent = "store_silent": Busy,
    StoreEmptied = "store_emptied": Busy,
    StoreUnavailable = "store_unavailable": Busy,

    DiskFull = "disk_full": DiskFull,
    RevokedInMemory = "revoked_in_memory": DiskFull,

    ExportFailed = "export_failed": Internal,
    Internal = "internal": Internal,
    StoreFailed = "store_failed": Internal,
}

impl ErrorCode {
    /// The code with this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}

/// An error with a place in the classification.
pub trait Classified: std::error::Error {
    /// Its code.
    fn code(&self) -> ErrorCode;
}

impl Classified for RecipeError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Name(_) | Self::Unknown(_) => ErrorCode::UnknownRecipe,
            // All other errors concern the recipe's content.
            _ => ErrorCode::BadRecipe,
        }
    }
}
