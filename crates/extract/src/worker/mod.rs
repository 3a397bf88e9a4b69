//! Readers in separate processes, so that whatever a file does to a parser affects only that file: no panic, endless
//! loop, memory exhaustion or stack overflow reaches the caller.
//!
//! A process sets its own limits before it sees a file. It reads one file and exits, except for the pages and books of a
//! source (`Readers`), where starting a process would take longer than reading. Only this part of the crate knows about these
//! processes; [`super::read`] is the way to use them.

mod child;
mod process;

use std::io::{self, Read, Write};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread::available_parallelism;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::child::{ReadPage, work};
use self::process::Process;
use super::limits::{Limit, Limits, Met};
use super::{Book, Charge, Encoding, ExtractError, File, MainText, read};

/// The hidden subcommand that starts a worker.
pub const SUBCOMMAND: &str = "extract-worker";
/// The maximum size of a frame's head: everything about a book except its text.
const HEAD: u64 = 1 << 20;
/// The maximum number of UTF-8 bytes for a byte of text in another encoding.
const UTF_8_OF_BYTE: u64 = 3;
/// The largest file after which a worker may read another one, and the number of files. What a parser leaves behind in memory
/// is then small.
const SMALL: u64 = 1 << 20;
const ORDERS: u32 = 500;

static POOL: OnceLock<WorkerPool> = OnceLock::new();

/// Starts workers, and limits how many run.
struct WorkerPool {
    program: PathBuf,
    patience: Duration,
    free: Mutex<usize>,
    freed: Condvar,
}

/// The instructions sent to a worker before the file.
#[derive(Serialize, Deserialize)]
struct ReadOrder {
    what: What,
    /// The length of the file.
    bytes: u64,
    limits: Limits,
}

/// What a file is.
#[derive(Serialize, Deserialize)]
enum What {
    /// One with books.
    File {
        name: Option<String>,
        encoding: Option<Encoding>,
        main: Option<MainText>,
    },
    /// A page of a source.
    Page(Value),
}

/// A worker's response consists of frames: a length, a JSON head of that length, and the text of the book if it has one.
#[derive(Serialize, Deserialize)]
enum Frame {
    /// A book, and the length of its text, which follows.
    Book(Book, u64),
    /// A part of what was found in a page.
    Part(Value),
    /// The file cannot be read.
    Failed(ExtractError),
    /// There is no more.
    End,
}

/// How many processes read files at once: one per processor, and at least two, so that no client occupies all of them.
#[must_use]
pub fn readers() -> usize {
    available_parallelism().map_or(1, NonZero::get).max(2)
}

/// From now on, [`super::read`] reads all files except plain text in processes of `program`, at most [`readers`] at
/// once. A file that has to wait longer than `patience` for a process is refused with [`ExtractError::Busy`].
/// `program` must be the `lapidary` command. Only the first call has an effect.
pub fn isolate(program: PathBuf, patience: Duration) {
    let _ = POOL.set(WorkerPool {
        program,
        patience,
        free: Mutex::new(readers()),
        freed: Condvar::new(),
    });
}

/// Reads a file in a worker.
pub(super) fn read_apart(
    file: File,
    limits: Limits,
    charge: Charge<'_>,
) -> Result<Vec<Book>, ExtractError> {
    match POOL.get() {
        Some(pool) if needs_worker(&file) => pool.read(&file, None, limits, charge, None),
        _ => {
            let size = file.bytes.len() as u64;
            let is_utf8 =
                file.bytes.as_text().is_some() || simdutf8::basic::from_utf8(&file.bytes).is_ok();
            charge(if is_utf8 { size } else { UTF_8_OF_BYTE * size })?;
            read_here(file, None, limits)
        }
    }
}

/// Whether it is of a format that needs a third-party parser.
fn needs_worker(file: &File) -> bool {
    read::reads_apart(&file.bytes, file.name.as_deref())
}

fn read_here(
    file: File,
    main: Option<&MainText>,
    limits: Limits,
) -> Result<Vec<Book>, ExtractError> {
    // A parser that panics leaves no state behind that is used again.
    catch_unwind(AssertUnwindSafe(|| read::read(file, main, limits)))
        .unwrap_or_else(|_| Err(stopped("its reader crashed")))
}

fn stopped(why: &str) -> ExtractError {
    ExtractError::Stopped {
        why: why.to_owned(),
    }
}

impl WorkerPool {
    fn read(
        &self,
        file: &File,
        main: Option<&MainText>,
        limits: Limits,
        charge: Charge<'_>,
        kept: Option<&Readers>,
    ) -> Result<Vec<Book>, ExtractError> {
        let size = file.bytes.len() as u64;
        if size > limits.input {
            return Err(limits.met(Limit::Input).into());
        }
        let _turn = WorkerSlot::take(self)
            .ok_or_else(|| busy("too many other files are being read".to_owned()))?;
        let what = What::File {
            name: file.name.clone(),
            encoding: file.encoding,
            main: main.cloned(),
        };
        let order = ReadOrder {
            what,
            bytes: size,
            limits,
        };
        loop {
            let mut process = self.start(kept)?;
            let heard = process.talk(limits, |stdin, stdout| {
                // If a worker dies before it has read everything, its own error matters more.
                let _ = send(stdin, &order, &file.bytes);
                hear(stdout, limits, charge)
            });
            process.orders += 1;
            match heard {
                Ok(Some(books)) => {
                    if let Some(kept) = kept {
                        kept.keep(process, size);
                    }
                    return Ok(books);
                }
                Err(Heard::Refused(why)) => return Err(why),
                // What it has read before may be the reason.
                _ if process.orders > 1 => {}
                _ => return Err(process.obituary(limits)),
            }
        }
    }

    /// A worker that is kept, or a new one.
    fn start(&self, kept: Option<&Readers>) -> Result<Process, ExtractError> {
        let idle = kept.and_then(|kept| kept.idle.lock().pop());
        idle.map_or_else(|| Process::start(&self.program), Ok)
            .map_err(|error| ExtractError::Busy {
                why: format!("no process could be started to read it: {error}"),
            })
    }
}

fn busy(why: String) -> ExtractError {
    ExtractError::Busy { why }
}

/// Workers that read one file after the other, all of the same origin: what a file does to its worker can affect only others
/// of that origin.
#[derive(Default)]
pub struct Readers {
    idle: Mutex<Vec<Process>>,
}

impl Readers {
    /// Like [`super::read`]; of a page only its main text, if it is said where that is.
    pub fn read(
        &self,
        file: File,
        main: Option<&MainText>,
        limits: Limits,
    ) -> Result<Vec<Book>, ExtractError> {
        match POOL.get() {
            Some(pool) if needs_worker(&file) => {
                pool.read(&file, main, limits, &mut |_| Ok(()), Some(self))
            }
            _ => read_here(file, main, limits),
        }
    }

    /// Whether pages are read apart, too.
    pub fn read_pages() -> bool {
        POOL.get().is_some()
    }

    /// Has a page read, as `order` says, by what [`work`] was given.
    pub fn page<'r>(
        &'r self,
        order: Value,
        page: &[u8],
        limits: Limits,
    ) -> Result<Parts<'r>, ExtractError> {
        let pool = POOL
            .get()
            .ok_or_else(|| stopped("there is no program to read it"))?;
        let size = page.len() as u64;
        let order = ReadOrder {
            what: What::Page(order),
            bytes: size,
            limits,
        };
        loop {
            let mut process = pool.start(Some(self))?;
            let first = process.talk(limits, |stdin, stdout| {
                let _ = send(stdin, &order, page);
                frame(stdout, limits.unpacked)
            });
            process.orders += 1;
            // What it has read before may be the reason.
            if process.orders == 1 || matches!(first, Ok(Some(_))) {
                return Ok(Parts {
                    readers: self,
                    process: Some((process, Some(first))),
                    size,
                    limits,
                });
            }
        }
    }

    /// Ends the workers that have nothing to do.
    pub fn rest(&self) {
        self.idle.lock().clear();
    }

    fn keep(&self, process: Process, size: u64) {
        let mut idle = self.idle.lock();
        if size <= SMALL && process.orders < ORDERS && idle.len() < readers() {
            idle.push(process);
        }
    }
}

/// What a worker finds in a page.
pub struct Parts<'r> {
    readers: &'r Readers,
    /// As long as there may be more; and the next frame, if it was heard.
    process: Option<(Process, Option<Next>)>,
    size: u64,
    limits: Limits,
}

type Next = Result<Option<(Frame, u64)>, Heard>;

impl Iterator for Parts<'_> {
    type Item = Result<Value, ExtractError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut process, heard) = self.process.take()?;
        let limits = self.limits;
        match heard
            .unwrap_or_else(|| process.talk(limits, |_, stdout| frame(stdout, limits.unpacked)))
        {
            Ok(Some((Frame::Part(part), _))) => {
                self.process = Some((process, None));
                Some(Ok(part))
            }
            Ok(Some((Frame::End, _))) => {
                self.readers.keep(process, self.size);
                None
            }
            Ok(Some((Frame::Failed(why), _))) => Some(Err(why)),
            _ => Some(Err(process.obituary(limits))),
        }
    }
}

fn send(stdin: &mut impl Write, order: &ReadOrder, bytes: &[u8]) -> io::Result<()> {
    let order = serde_json::to_vec(order)?;
    stdin.write_all(&(order.len() as u64).to_le_bytes())?;
    stdin.write_all(&order)?;
    stdin.write_all(bytes)?;
    stdin.flush()
}

/// Why a worker's response contains no books.
enum Heard {
    /// It gave a reason, or its response exceeds a limit.
    Refused(ExtractError),
    /// The response is malformed.
    Nonsense,
}

impl From<io::Error> for Heard {
    fn from(_: io::Error) -> Self {
        Self::Nonsense
    }
}

/// Reads a worker's response; `None` if it was cut short. Texts are read into memory that was charged for them.
fn hear(
    mut answer: impl Read,
    limits: Limits,
    charge: Charge<'_>,
) -> Result<Option<Vec<Book>>, Heard> {
    let at = limits.unpacked.max(limits.input);
    let mut left = at;
    let mut books = Vec::new();
    loop {
        let Some((frame, head)) = frame(&mut answer, HEAD)? else {
            return Ok(None);
        };
        match frame {
            Frame::End => return Ok(Some(books)),
            Frame::Failed(why) => return Err(Heard::Refused(why)),
            Frame::Part(_) => return Err(Heard::Nonsense),
            Frame::Book(mut book, length) => {
                let too_much = Heard::Refused(
                    Met {
                        limit: Limit::Unpacked,
                        at,
                    }
                    .into(),
                );
                left = left.checked_sub(length).ok_or(too_much)?;
                charge(length + head).map_err(Heard::Refused)?;
                if let Ok(read) = &mut book.read {
                    let text = exactly(&mut answer, Some(length))?;
                    read.text = String::from_utf8(text).map_err(|_| Heard::Nonsense)?;
                }
                books.push(book);
            }
        }
    }
}

/// Reads the head of a frame of at most so many bytes, and its length; `None` if there is no more.
fn frame(answer: &mut impl Read, most: u64) -> Result<Option<(Frame, u64)>, Heard> {
    let mut length = [0; 8];
    if answer.read_exact(&mut length).is_err() {
        return Ok(None);
    }
    let head = exactly(
        answer,
        Some(u64::from_le_bytes(length)).filter(|length| *length <= most),
    )?;
    let frame = serde_json::from_slice(&head).map_err(|_| Heard::Nonsense)?;
    Ok(Some((frame, head.len() as u64)))
}

fn exactly(answer: &mut impl Read, length: Option<u64>) -> Result<Vec<u8>, Heard> {
    let length = length.ok_or(Heard::Nonsense)?;
    let mut bytes = Vec::with_capacity(length as usize);
    answer.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length {
        Ok(bytes)
    } else {
        Err(Heard::Nonsense)
    }
}

/// A slot for a running worker.
struct WorkerSlot<'a>(&'a WorkerPool);

impl<'a> WorkerSlot<'a> {
    /// Waits for a slot, but not until files that take all their time are done.
    fn take(pool: &'a WorkerPool) -> Option<Self> {
        let mut free = pool.free.lock();
        pool.freed
            .wait_while_for(&mut free, |free| *free == 0, pool.patience);
        if *free == 0 {
            return None;
        }
        *free -= 1;
        Some(Self(pool))
    }
}

impl Drop for WorkerSlot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.freed.notify_one();
    }
}
