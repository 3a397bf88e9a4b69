//! Many books described by a table: `POST /v1/libraries/{library}/table`.

use std::sync::Arc;

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use hashbrown::HashMap;
use parking_lot::Mutex;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::IntoParams;
use utoipa::openapi::path::HttpMethod::Post;

use super::access::Needs::Ingest;
use super::body::{self, Raw};
use super::books::AddingParameters;
use super::calls::{Call, file, form_of_files, lines as json_lines, text};
use super::feed::{Feed, id_of_file, locked};
use super::forms::{self, FormPart};
use super::lines::{self, StreamLine};
use super::memory::Room;
use super::problem::{Problem, excerpt};
use super::requests::caller;
use super::turns::Patience;
use super::{ServerState, parameters};
use lapidary_catalogue::api::{AddOutcome, FieldChange, ImportAnswer, RowOutcome};
use lapidary_catalogue::onix::Territory;
use lapidary_catalogue::table::{self, NumberedRow, TableRow};
use lapidary_catalogue::{Content, Editor, NewEntry};
use lapidary_common::error::ErrorCode;
use lapidary_common::isbn::{Isbn, isbns_in};
use lapidary_extract::{Limits, is_workbook};
use lapidary_store::{BookId, BookKey, Rights};

/// The largest table, in bytes.
const TABLE_BYTES: usize = 8 << 20;
/// The maximum number of its rows.
const MOST_ROWS: usize = 10_000;
/// How much memory a workbook takes while it is read, whatever its size: its parts, its texts and its cells.
const WORKBOOK_BYTES: usize = 48 << 20;
/// How many times its own size a table takes when it is read.
const READ: usize = 6;
/// The content types of a table that comes without files.
const TABLES: &[&str] = &[
    "text/csv",
    "application/x-ndjson",
    "application/xml",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/octet-stream",
];

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Post, "/v1/libraries/{library}/table", Ingest, import)
            .named(
                "import_table",
                "Change the metadata of many books by a table, or add them with their files",
            )
            .about(
                "The body, or the first file of a form, is the table: CSV, XLSX, JSON Lines (`id`, `file`, `rights`, `title`, `authors`, \
                 `language`, `identifiers`, `published` and `validity`) or ONIX for Books 3, with up to 10,000 rows and 8 MiB. \
                 In CSV and XLSX, the first row has these names; `from`, `until` and `otherwise` are those of the validity, \
                 and lists are separated by semicolons. A row changes the book with its `id`; what it leaves out stays. \
                 With `deleted`, it disables the book, until a later row says it again without. The \
                 other files, up to 99, are books: each is added, or replaces the one that is there, with what the row says \
                 whose `file` is its name, whose `id` is its name without the extension, or whose ISBN is in its name. \
                 `dry_run` changes nothing, and says what would change.",
            )
            .query::<AboutTable>()
            .query::<AddingParameters>()
            .takes([
                text("text/csv").example("id,title,authors\nevenings,Evenings on a Farm near Dikanka,N. Gogol\n"),
                json_lines::<TableRow>(),
                file(),
                form_of_files(),
            ])
            .answers(200, "One result per row", [json_lines::<ImportAnswer>()]),
    ]
}

/// The query of a table.
#[derive(Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct AboutTable {
    /// The rights in new books whose rows do not say them
    rights: Option<Rights>,
    /// Only say what would change
    #[serde(default)]
    #[param(required = false)]
    dry_run: bool,
    /// Of an ONIX feed, the rights that hold in this country or region; by default the strictest of any
    #[serde(default, deserialize_with = "territory")]
    #[param(value_type = Option<String>)]
    territory: Option<Territory>,
}

fn territory<'de, D: Deserializer<'de>>(word: D) -> Result<Option<Territory>, D::Error> {
    let word = String::deserialize(word)?;
    word.parse().map(Some).map_err(D::Error::custom)
}

async fn import(
    request: HttpRequest,
    payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let (feed, others) = Feed::of(&request)?;
    let known = "rights (forbidden, protected, free, public_domain or unknown), dry_run and keep_text (true or false), territory, unless and except";
    let about: AboutTable = parameters::query(&others, known)?;
    let sent = if forms::is_form(&request) {
        body::files(&request, payload, &state).await?
    } else {
        let sent = body::body_of(TABLES, &request, payload, &state, TABLE_BYTES).await?;
        (vec![FormPart::of_bytes(sent.bytes)], sent.room)
    };
    let by = caller();
    let territory = about.territory.clone();
    let read = move || SentTable::read(sent, territory.as_ref());
    let turn = state
        .turns
        .take(by.lane, by.client, Patience::Refusable, read);
    let SentTable { rows, room, files } = turn.await??;
    let import = Import {
        feed,
        about,
        files: Arc::new(files),
        limits: state.limits,
    };
    Ok(lines::answer_files(
        &request,
        &state,
        rows.into_iter(),
        room,
        move |catalogue, lines, room| {
            let lines = lines.into_iter();
            lines
                .map(|line| import.landed(catalogue, line, room))
                .collect()
        },
    ))
}

/// A table, and the files of its books.
struct SentTable {
    /// The rows with their files, as JSON.
    rows: Vec<Bytes>,
    /// The memory reserved for the rows.
    room: Room,
    files: Files,
}

impl SentTable {
    fn read(
        (parts, mut room): (Vec<FormPart>, Room),
        territory: Option<&Territory>,
    ) -> Result<Self, Problem> {
        let mut parts = parts.into_iter();
        let table = parts.next().map(|part| part.bytes).unwrap_or_default();
        // A browser sends a field for files in which none were chosen.
        let files = parts.filter(|part| part.name.is_some() || !part.bytes.is_empty());
        let files: Vec<FormPart> = files.collect();
        let rows = joined(rows(&table, territory, &mut room)?, &files)?;
        let mut of_rows = room.another();
        of_rows.grow(2 * rows.iter().map(Bytes::len).sum::<usize>())?;
        room.shrink_to(files.iter().map(|part| part.bytes.len()).sum());
        Ok(Self {
            rows,
            room: of_rows,
            files: Files {
                parts: files,
                _room: room,
            },
        })
    }
}

/// Reads a table, within its limits.
fn rows(
    table: &[u8],
    territory: Option<&Territory>,
    room: &mut Room,
) -> Result<Vec<NumberedRow>, Problem> {
    if table.len() > TABLE_BYTES {
        return Err(body::too_large("table", TABLE_BYTES, false));
    }
    room.grow(if is_workbook(table) {
        WORKBOOK_BYTES
    } else {
        READ * table.len()
    })?;
    table::read(table, MOST_ROWS, territory)
        .map_err(|why| bad(&format!("the table cannot be read: {why}")))
}

fn bad(why: &str) -> Problem {
    Problem::new(ErrorCode::BadTable, excerpt(why))
}

/// The files of books, with the memory reserved for them.
struct Files {
    parts: Vec<FormPart>,
    _room: Room,
}

/// A row, and which of the files is that of its book.
#[derive(Serialize, Deserialize)]
struct JoinedRow {
    line: u64,
    row: Result<TableRow, String>,
    id: Option<BookId>,
    file: Option<usize>,
}

/// The rows with their files, as JSON, and behind them the files that no row is for.
fn joined(rows: Vec<NumberedRow>, files: &[FormPart]) -> Result<Vec<Bytes>, Problem> {
    let mut names = FileNames::of(files);
    let mut first_of: HashMap<BookId, u64> = HashMap::new();
    let mut all = Vec::with_capacity(rows.len());
    for NumberedRow { line, row } in rows {
        let file = row.as_ref().ok().and_then(|row| names.take(row));
        let id = row.as_ref().ok().and_then(|row| id_of(row, file, files));
        let first = id.clone().map(|id| *first_of.entry(id).or_insert(line));
        let row = match first.filter(|first| *first != line) {
            Some(first) => Err(format!("its book is already in line {first}")),
            None => row,
        };
        all.push(as_json(&JoinedRow {
            line,
            row,
            id,
            file,
        })?);
    }
    for file in names.unused() {
        let row = Err("no row of the table is for this file".to_owned());
        all.push(as_json(&JoinedRow {
            line: 0,
            row,
            id: None,
            file: Some(file),
        })?);
    }
    Ok(all)
}

fn as_json(row: &JoinedRow) -> Result<Bytes, Problem> {
    let json =
        serde_json::to_vec(row).map_err(|error| Problem::failed(ErrorCode::Internal, &error))?;
    Ok(json.into())
}

/// The id of the book of a row: its own, or the name of its file without the extension.
fn id_of(row: &TableRow, file: Option<usize>, files: &[FormPart]) -> Option<BookId> {
    let name = file.and_then(|file| files[file].name.as_deref());
    let name = name.or(row.file.as_deref().map(base));
    row.id
        .clone()
        .or_else(|| BookId::try_from(id_of_file(name?)).ok())
}

/// A name without folders.
fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The files by what rows call them.
struct FileNames {
    by_name: HashMap<String, usize>,
    by_id: HashMap<String, usize>,
    by_isbn: HashMap<Isbn, usize>,
    is_used: Vec<bool>,
}

impl FileNames {
    fn of(files: &[FormPart]) -> Self {
        let (mut by_name, mut by_id, mut by_isbn) =
            (HashMap::new(), HashMap::new(), HashMap::new());
        for (at, file) in files.iter().enumerate() {
            let Some(name) = &file.name else { continue };
            let id = id_of_file(name);
            for isbn in isbns_in(&id) {
                by_isbn.insert(isbn, at);
            }
            by_id.insert(id, at);
            by_name.insert(name.clone(), at);
        }
        Self {
            by_name,
            by_id,
            by_isbn,
            is_used: vec![false; files.len()],
        }
    }

    /// The file of a row, unless another row has it.
    fn take(&mut self, row: &TableRow) -> Option<usize> {
        let id = row.id.as_ref().map(BookId::as_str);
        let isbn = id.and_then(Isbn::parse);
        let found = row
            .file
            .as_deref()
            .and_then(|file| self.by_name.get(base(file)))
            .or_else(|| self.by_id.get(id?))
            .or_else(|| self.by_isbn.get(&isbn?));
        let found = found.copied().filter(|at| !self.is_used[*at])?;
        self.is_used[found] = true;
        Some(found)
    }

    fn unused(&self) -> impl Iterator<Item = usize> {
        let used = self.is_used.iter().enumerate();
        used.filter(|(_, is_used)| !**is_used).map(|(at, _)| at)
    }
}

/// An import in progress.
#[derive(Clone)]
struct Import {
    feed: Feed,
    about: AboutTable,
    files: Arc<Files>,
    limits: Limits,
}

impl Import {
    fn landed(
        &self,
        catalogue: &Editor<'_>,
        line: StreamLine,
        memory: &Mutex<Room>,
    ) -> ImportAnswer {
        let mut answer = ImportAnswer {
            line: line.number,
            id: None,
            file: None,
            outcome: RowOutcome::Refused,
            changes: Vec::new(),
            row: None,
            problem: None,
        };
        let fate = line.content.and_then(|json| {
            let joined: JoinedRow = serde_json::from_slice(&json)
                .map_err(|error| Problem::failed(ErrorCode::Internal, &error))?;
            let file = joined.file.and_then(|file| self.files.parts.get(file));
            answer.line = joined.line;
            answer.id = joined.id.clone().map(Into::into);
            answer.file = file.and_then(|part| part.name.clone());
            let row = joined.row.map_err(|why| bad(&why))?;
            let key = self.key(joined.id, &row)?;
            let fate = match file {
                Some(file) => self.add(catalogue, key, &row, file, memory),
                None => self.amend(catalogue, &key, &row),
            };
            answer.row = fate.is_ok().then_some(row);
            fate
        });
        match fate {
            Ok((outcome, changes)) => ImportAnswer {
                outcome,
                changes,
                ..answer
            },
            Err(problem) => ImportAnswer {
                problem: Some(problem.details()),
                ..answer
            },
        }
    }

    /// The book of a row.
    fn key(&self, id: Option<BookId>, row: &TableRow) -> Result<BookKey, Problem> {
        let library = &self.feed.library;
        if row.library.as_ref().is_some_and(|own| own != library) {
            return Err(bad("the row is for another library; import it there"));
        }
        Ok(BookKey {
            library: library.clone(),
            id: id.ok_or_else(|| bad("the row has no id, and no file whose name could be it"))?,
        })
    }

    fn amend(
        &self,
        catalogue: &Editor<'_>,
        key: &BookKey,
        row: &TableRow,
    ) -> Result<(RowOutcome, Vec<FieldChange>), Problem> {
        let followed = catalogue.books().follow(key, row, self.about.dry_run)?;
        Ok(match followed {
            None => (RowOutcome::Missing, Vec::new()),
            Some(changes) if changes.is_empty() => (RowOutcome::Unchanged, changes),
            Some(changes) => (RowOutcome::Changed, changes),
        })
    }

    /// Adds the book in a file, or replaces it. What neither the row nor the file says stays as it was.
    fn add(
        &self,
        catalogue: &Editor<'_>,
        key: BookKey,
        row: &TableRow,
        file: &FormPart,
        memory: &Mutex<Room>,
    ) -> Result<(RowOutcome, Vec<FieldChange>), Problem> {
        if row.deleted {
            return Err(bad(
                "the row deletes the book whose file was sent; send one of them",
            ));
        }
        let stored = catalogue.books().get(&key)?;
        let of_stored = stored.as_ref().map(|stored| stored.rights);
        let rights = row.rights.or(of_stored).or(self.about.rights);
        let rights = rights
            .ok_or_else(|| bad("the row of a new book has no rights, and the request has none"))?;
        if self.about.dry_run {
            let outcome = stored.map_or(RowOutcome::Added, |_| RowOutcome::Replaced);
            return Ok((outcome, Vec::new()));
        }
        let (description, validity) = stored
            .map(|stored| (stored.description, stored.standing.validity))
            .unwrap_or_default();
        let text = Content::text(String::new());
        let entry = NewEntry {
            description: row.clone().take_description().or(description),
            validity: row.validity.clone().or(validity),
            ..NewEntry::new(key, rights, text)
        };
        let raw = Raw::of_form(file.clone(), locked(memory).another(), self.limits);
        let added = self.feed.add_file(catalogue, raw, entry, memory)?;
        let outcome = match added.outcome {
            AddOutcome::Added => RowOutcome::Added,
            AddOutcome::Replaced => RowOutcome::Replaced,
            AddOutcome::Unchanged => RowOutcome::Unchanged,
        };
        Ok((outcome, Vec::new()))
    }
}
