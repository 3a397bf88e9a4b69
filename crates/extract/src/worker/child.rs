//! The worker itself.

use std::io::{self, BufRead as _, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use super::{Frame, ReadOrder, What, read_here, stopped};
use crate::limits::Limits;
use crate::{Book, ExtractError, File};

/// Reads a page of a source as ordered, and passes on what it finds, part by part.
pub type ReadPage = fn(&Value, &[u8], &mut dyn FnMut(Value) -> io::Result<()>) -> io::Result<()>;

/// The worker: reads orders, each with a file, from standard input, and writes the results to standard output.
///
/// # Errors
/// If it is given up.
pub fn work(read_page: ReadPage) -> io::Result<()> {
    std::panic::set_hook(Box::new(|_| {}));
    let mut stdin = io::stdin().lock();
    let mut answer: Option<io::BufWriter<_>> = None;
    while !stdin.fill_buf()?.is_empty() {
        let ReadOrder {
            what,
            bytes,
            limits,
        } = read_order(&mut stdin)?;
        if answer.is_none() {
            answer = Some(io::BufWriter::new(private_stdout()?));
            confine(limits)?;
        }
        give_time(limits)?;
        let mut file = Vec::new();
        (&mut stdin).take(bytes).read_to_end(&mut file)?;
        let Some(answer) = &mut answer else {
            return Ok(());
        };
        match what {
            What::File {
                name,
                encoding,
                main,
            } => {
                let file = File {
                    bytes: file.into(),
                    name,
                    encoding,
                };
                say(answer, read_here(file, main.as_ref(), limits))?;
            }
            What::Page(order) => say_page(answer, read_page, &order, &file)?,
        }
        answer.flush()?;
    }
    Ok(())
}

fn read_order(stdin: &mut impl Read) -> io::Result<ReadOrder> {
    let mut length = [0; 8];
    stdin.read_exact(&mut length)?;
    let mut order = Vec::new();
    stdin
        .take(u64::from_le_bytes(length))
        .read_to_end(&mut order)?;
    Ok(serde_json::from_slice(&order)?)
}

/// Writes what is found in a page.
fn say_page(
    answer: &mut impl Write,
    read_page: ReadPage,
    order: &Value,
    page: &[u8],
) -> io::Result<()> {
    let read = catch_unwind(AssertUnwindSafe(|| {
        read_page(order, page, &mut |part| {
            head(answer, &Frame::Part(part), "")
        })
    }));
    match read {
        Ok(read) => read?,
        Err(_) => head(answer, &Frame::Failed(stopped("its reader crashed")), "")?,
    }
    head(answer, &Frame::End, "")
}

fn head(answer: &mut impl Write, frame: &Frame, text: &str) -> io::Result<()> {
    let head = serde_json::to_vec(frame)?;
    answer.write_all(&(head.len() as u64).to_le_bytes())?;
    answer.write_all(&head)?;
    answer.write_all(text.as_bytes())
}

/// Writes the result of reading a file.
fn say(answer: &mut impl Write, read: Result<Vec<Book>, ExtractError>) -> io::Result<()> {
    match read {
        Err(why) => head(answer, &Frame::Failed(why), ""),
        Ok(books) => {
            for Book { name, read } in books {
                let (text, read) = match read {
                    Ok(mut read) => (std::mem::take(&mut read.text), Ok(read)),
                    Err(why) => (String::new(), Err(why)),
                };
                head(
                    answer,
                    &Frame::Book(Book { name, read }, text.len() as u64),
                    &text,
                )?;
            }
            head(answer, &Frame::End, "")
        }
    }
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
    for (resource, soft, hard) in [
        (Resource::As, limits.memory, limits.memory),
        (Resource::Core, 0, 0),
        (Resource::Fsize, 0, 0),
        // Only the three standard streams and the response.
        (Resource::Nofile, 4, 4),
    ] {
        setrlimit(
            resource,
            Rlimit {
                current: Some(soft),
                maximum: Some(hard),
            },
        )?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn confine(_: Limits) -> io::Result<()> {
    Ok(())
}

/// Limits the processor time until the next order.
#[cfg(unix)]
fn give_time(limits: Limits) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use rustix::time::{ClockId, clock_gettime};
    let used = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or_default();
    let maximum = getrlimit(Resource::Cpu).maximum;
    Ok(setrlimit(
        Resource::Cpu,
        Rlimit {
            current: Some(used + limits.time.max(1)),
            maximum,
        },
    )?)
}

#[cfg(not(unix))]
fn give_time(_: Limits) -> io::Result<()> {
    Ok(())
}
