//! Readers in separate processes, so that whatever a file does to a parser affects only that file: no panic, endless
//! loop, memory exhaustion or stack overflow reaches the caller.
//!
//! A process reads one file and exits. Small files that one stranger sent together, such as pages of a site, can share a process: it
//! takes longer to start one than to read them. If it dies, each of those that are left is read by its own. A process sets its own limits
//! before it sees a file. Only this part of the crate knows about these processes; [`super::read`] is the way to use them.

use std::io::{self, Read, Write};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::slice;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, available_parallelism};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::limits::{Limit, Limits, Met};
use super::{Book, Charge, Encoding, ExtractError, File, read};

/// The hidden subcommand that starts a worker.
pub const SUBCOMMAND: &str = "extract-worker";
/// The time limit applies to processor time. On a busy machine a worker may take this many times longer, plus this much.
const PATIENCE: u32 = 3;
const GRACE: Duration = Duration::from_secs(2);
/// The maximum size of a frame's head: everything about a book except its text.
const HEAD: u64 = 1 << 20;
/// The maximum number of UTF-8 bytes for a byte of text in another encoding.
const UTF_8_OF_BYTE: u64 = 3;
/// How much of a dying worker's error output is read.
const LAST_WORDS: u64 = 4 << 10;

static POOL: OnceLock<Pool> = OnceLock::new();

/// Starts workers, and limits how many run.
struct Pool {
    program: PathBuf,
    patience: Duration,
    free: Mutex<usize>,
    freed: Condvar,
}

/// The instructions sent to a worker before the files.
#[derive(Serialize, Deserialize)]
struct Order {
    files: Vec<Ordered>,
    limits: Limits,
}

/// A file that follows.
#[derive(Serialize, Deserialize)]
struct Ordered {
    name: Option<String>,
    encoding: Option<Encoding>,
    length: u64,
}

/// A file as it was read: its books, or why there are none.
type Reading = Result<Vec<Book>, ExtractError>;

/// A worker's response to a file consists of frames: a length, a JSON head of that length, and the text of the book if it has one.
#[derive(Serialize, Deserialize)]
enum Frame {
    /// A book, and the length of its text, which follows.
    Book(Book, u64),
    /// The file cannot be read.
    Failed(ExtractError),
    /// There are no more books.
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
    let _ = POOL.set(Pool { program, patience, free: Mutex::new(readers()), freed: Condvar::new() });
}

/// Reads a file in a worker.
pub(super) fn read_apart(file: File, limits: Limits, charge: Charge<'_>) -> Reading {
    match POOL.get() {
        Some(pool) if !read::is_plain(&file) => pool.read(&file, limits, charge),
        _ => {
            let size = file.bytes.len() as u64;
            let is_utf8 = file.bytes.as_text().is_some() || simdutf8::basic::from_utf8(&file.bytes).is_ok();
            charge(if is_utf8 { size } else { UTF_8_OF_BYTE * size })?;
            read_here(file, limits)
        }
    }
}

/// Reads small files in one worker. They must be of the same stranger.
pub(super) fn read_together(files: Vec<File>, limits: Limits) -> Vec<Reading> {
    let charge: Charge<'_> = &mut |_| Ok(());
    let is_apart = |file: &File| !read::is_plain(file) && file.bytes.len() as u64 <= limits.input;
    let Some(pool) = POOL.get() else {
        return files.into_iter().map(|file| read_apart(file, limits, charge)).collect();
    };
    let (places, files): (Vec<bool>, Vec<File>) = files.into_iter().map(|file| (is_apart(&file), file)).unzip();
    let (mut apart, mut others) = (Vec::new(), Vec::new());
    for (file, is_apart) in files.into_iter().zip(&places) {
        if *is_apart { &mut apart } else { &mut others }.push(file);
    }
    let mut apart = pool.read_together(&apart, limits, charge).into_iter();
    let mut others = others.into_iter().map(|file| read_apart(file, limits, &mut |_| Ok(())));
    places.into_iter().filter_map(|is_apart| if is_apart { apart.next() } else { others.next() }).collect()
}

fn read_here(file: File, limits: Limits) -> Reading {
    // A parser that panics leaves no state behind that is used again.
    catch_unwind(AssertUnwindSafe(|| read::read(file, limits))).unwrap_or_else(|_| Err(stopped("its reader crashed")))
}

fn stopped(why: &str) -> ExtractError {
    ExtractError::Stopped { why: why.to_owned() }
}

impl Pool {
    fn read(&self, file: &File, limits: Limits, charge: Charge<'_>) -> Reading {
        if file.bytes.len() as u64 > limits.input {
            return Err(Met { limit: Limit::Input, at: limits.input }.into());
        }
        let mut read = self.read_together(slice::from_ref(file), limits, charge);
        read.pop().unwrap_or_else(|| Err(stopped("it was not read")))
    }

    /// Reads files in one worker; after it died, in others.
    fn read_together(&self, files: &[File], limits: Limits, charge: Charge<'_>) -> Vec<Reading> {
        let busy = |why: String| ExtractError::Busy { why };
        let mut read = Vec::with_capacity(files.len());
        while read.len() < files.len() {
            let left = &files[read.len()..];
            let run = match Turn::take(self) {
                Some(_turn) => self.run(left, limits, charge),
                None => Ok((Vec::new(), Some(busy("too many other files are being read".to_owned())))),
            };
            let (some, end) = run.unwrap_or_else(|error| {
                (Vec::new(), Some(busy(format!("no process could be started to read it: {error}"))))
            });
            read.extend(some);
            match end {
                None => {}
                Some(end) if left.len() == 1 || matches!(end, ExtractError::Busy { .. }) => read.push(Err(end)),
                // What is left is read one by one: only alone, what happens to a file is its own doing.
                Some(_) => {
                    let alone = files[read.len()..].iter().map(|file| self.read(file, limits, charge));
                    read.extend(alone.collect::<Vec<_>>());
                }
            }
        }
        read
    }

    /// The first files as a worker reads them, and why it did not read the next one if it died.
    fn run(
        &self,
        files: &[File],
        limits: Limits,
        charge: Charge<'_>,
    ) -> io::Result<(Vec<Reading>, Option<ExtractError>)> {
        let ordered =
            |file: &File| Ordered { name: file.name.clone(), encoding: file.encoding, length: file.bytes.len() as u64 };
        let order = serde_json::to_vec(&Order { files: files.iter().map(ordered).collect(), limits })?;
        let mut child = Command::new(&self.program)
            .arg(SUBCOMMAND)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(mut stdout), Some(stderr)) = streams else {
            return Err(io::Error::other("it has no streams"));
        };
        let child = &Mutex::new(child);
        let (done, finished) = channel::<()>();
        thread::scope(|scope| {
            let watch = scope.spawn(move || {
                let late = finished.recv_timeout(PATIENCE * limits.seconds() + GRACE) == Err(RecvTimeoutError::Timeout);
                if late {
                    let _ = lock(child).kill();
                }
                late
            });
            let last_words = scope.spawn(|| last_words(stderr));
            // If a worker dies before it has read everything, its own error matters more.
            let _ = send(stdin, &order, files);
            let (mut read, mut refused) = (Vec::new(), false);
            while read.len() < files.len() && !refused {
                match hear(&mut stdout, limits, charge) {
                    Ok(Some(reading)) => read.push(reading),
                    Err(Heard::Refused(why)) => {
                        refused = true;
                        read.push(Err(why));
                    }
                    Ok(None) | Err(Heard::Nonsense) => break,
                }
            }
            if refused || read.len() < files.len() {
                // Its remaining output is of no use; if it has already ended, this has no effect.
                let _ = lock(child).kill();
            }
            drop(stdout);
            let status = loop {
                // Blocking here would keep the lock from the watchdog.
                match lock(child).try_wait()? {
                    Some(status) => break status,
                    None => thread::sleep(Duration::from_millis(1)),
                }
            };
            drop(done);
            let late = watch.join().unwrap_or_default();
            let last_words = last_words.join().unwrap_or_default();
            if read.len() == files.len() && !refused && !status.success() {
                read.pop();
            }
            let died = read.len() < files.len() && !refused;
            Ok((read, died.then(|| obituary(status, late, &last_words, limits))))
        })
    }
}

fn lock(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

fn send(mut stdin: impl Write, order: &[u8], files: &[File]) -> io::Result<()> {
    stdin.write_all(&(order.len() as u64).to_le_bytes())?;
    stdin.write_all(order)?;
    files.iter().try_for_each(|file| stdin.write_all(&file.bytes))?;
    stdin.flush()
}

/// Why a worker's response contains no books.
enum Heard {
    /// Its response exceeds a limit.
    Refused(ExtractError),
    /// The response is malformed.
    Nonsense,
}

impl From<io::Error> for Heard {
    fn from(_: io::Error) -> Self {
        Self::Nonsense
    }
}

/// Reads a worker's response to a file; `None` if it was cut short. Texts are read into memory that was charged for them.
fn hear(mut answer: impl Read, limits: Limits, charge: Charge<'_>) -> Result<Option<Reading>, Heard> {
    let at = limits.unpacked.max(limits.input);
    let mut left = at;
    let mut books = Vec::new();
    loop {
        let mut length = [0; 8];
        if answer.read_exact(&mut length).is_err() {
            return Ok(None);
        }
        let head = exactly(&mut answer, Some(u64::from_le_bytes(length)).filter(|length| *length <= HEAD))?;
        match serde_json::from_slice(&head).map_err(|_| Heard::Nonsense)? {
            Frame::End => return Ok(Some(Ok(books))),
            Frame::Failed(why) => return Ok(Some(Err(why))),
            Frame::Book(mut book, length) => {
                let too_much = Heard::Refused(Met { limit: Limit::Unpacked, at }.into());
                left = left.checked_sub(length).ok_or(too_much)?;
                charge(length + head.len() as u64).map_err(Heard::Refused)?;
                if let Ok(read) = &mut book.read {
                    let text = exactly(&mut answer, Some(length))?;
                    read.text = String::from_utf8(text).map_err(|_| Heard::Nonsense)?;
                }
                books.push(book);
            }
        }
    }
}

fn exactly(answer: &mut impl Read, length: Option<u64>) -> Result<Vec<u8>, Heard> {
    let length = length.ok_or(Heard::Nonsense)?;
    let mut bytes = Vec::with_capacity(length as usize);
    answer.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(Heard::Nonsense) }
}

/// Writes the result.
fn say(answer: &mut impl Write, read: Reading) -> io::Result<()> {
    let mut head = |frame: &Frame, text: &str| {
        let head = serde_json::to_vec(frame)?;
        answer.write_all(&(head.len() as u64).to_le_bytes())?;
        answer.write_all(&head)?;
        answer.write_all(text.as_bytes())
    };
    match read {
        Err(why) => head(&Frame::Failed(why), ""),
        Ok(books) => {
            for Book { name, read } in books {
                let (text, read) = match read {
                    Ok(mut read) => (std::mem::take(&mut read.text), Ok(read)),
                    Err(why) => (String::new(), Err(why)),
                };
                head(&Frame::Book(Book { name, read }, text.len() as u64), &text)?;
            }
            head(&Frame::End, "")
        }
    }
}

/// The beginning of a dying worker's error output. The rest is read too, so that the worker does not block on it.
fn last_words(mut stderr: impl Read) -> String {
    let mut words = Vec::new();
    let _ = (&mut stderr).take(LAST_WORDS).read_to_end(&mut words);
    let _ = io::copy(&mut stderr, &mut io::sink());
    String::from_utf8_lossy(&words).into_owned()
}

/// Why a worker died.
fn obituary(status: ExitStatus, late: bool, last_words: &str, limits: Limits) -> ExtractError {
    let out_of_time = late || signal(status) == Some(SIGXCPU);
    if out_of_time {
        Met { limit: Limit::Time, at: limits.time }.into()
    } else if last_words.contains("memory allocation") {
        Met { limit: Limit::Memory, at: limits.memory }.into()
    } else if last_words.contains("overflowed its stack") {
        stopped("its reader overflowed its stack")
    } else {
        stopped(&format!("its reader died ({status})"))
    }
}

const SIGXCPU: i32 = 24;

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// A slot for a running worker.
struct Turn<'a>(&'a Pool);

impl<'a> Turn<'a> {
    /// Waits for a slot, but not until files that take all their time are done.
    fn take(pool: &'a Pool) -> Option<Self> {
        let free = pool.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = pool.freed.wait_timeout_while(free, pool.patience, |free| *free == 0);
        let (mut free, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return None;
        }
        *free -= 1;
        Some(Self(pool))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

/// The worker: reads an order and files from standard input, and writes the results to standard output.
pub fn work() -> io::Result<()> {
    std::panic::set_hook(Box::new(|_| {}));
    let mut stdin = io::stdin().lock();
    let mut length = [0; 8];
    stdin.read_exact(&mut length)?;
    let mut order = Vec::new();
    (&mut stdin).take(u64::from_le_bytes(length)).read_to_end(&mut order)?;
    let Order { files, limits } = serde_json::from_slice(&order)?;
    let answer = private_stdout()?;
    confine(limits)?;
    // All of them first: whoever sends them does not listen before.
    let mut sent = Vec::new();
    for Ordered { name, encoding, length } in files {
        let mut bytes = Vec::new();
        (&mut stdin).take(length).read_to_end(&mut bytes)?;
        sent.push(File { bytes: bytes.into(), name, encoding });
    }
    let mut answer = io::BufWriter::new(answer);
    for file in sent {
        say(&mut answer, read_here(file, limits))?;
        // What was read counts, even if the next file is the end of this process.
        answer.flush()?;
    }
    Ok(())
}

/// Reserves standard output for the response: anything that a parser prints goes to standard error.
#[cfg(unix)]
fn private_stdout() -> io::Result<impl Write> {
    let answer = rustix::io::dup(io::stdout())?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(std::fs::File::from(answer))
}

#[cfg(not(unix))]
fn private_stdout() -> io::Result<impl Write> {
    Ok(io::stdout())
}

/// Restricts this process to the resources that reading a file needs.
#[cfg(unix)]
fn confine(limits: Limits) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // If the program that started the worker ends, nobody waits for the result.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let seconds = limits.time.max(1);
    for (resource, soft, hard) in [
        (Resource::As, limits.memory, limits.memory),
        (Resource::Cpu, seconds, seconds + 1),
        (Resource::Core, 0, 0),
        (Resource::Fsize, 0, 0),
        // Only the three standard streams and the response.
        (Resource::Nofile, 4, 4),
    ] {
        setrlimit(resource, Rlimit { current: Some(soft), maximum: Some(hard) })?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn confine(_: Limits) -> io::Result<()> {
    Ok(())
}
