//! Forms with files: `multipart/form-data`, as browsers and `curl -F` send them.

use std::convert::Infallible;
use std::sync::Arc;

use actix_web::http::header::{CONTENT_TYPE, HeaderValue};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use futures_util::{FutureExt, stream};
use memchr::memmem;
use multer::{Field, Multipart};
use parking_lot::Mutex;
use serde::Serialize;

use crate::server::ServerState;
use crate::server::body::{self, Declared, Raw};
use crate::server::lines::{self, StreamLine};
use crate::server::memory::Room;
use crate::server::problem::{Problem, excerpt};
use lapidary_catalogue::Editor;
use lapidary_common::error::ErrorCode;

/// The content type.
pub(crate) const FORM_DATA: &str = "multipart/form-data";
/// The name of the fields that hold files.
pub(crate) const FIELD: &str = "file";
/// The maximum number of files.
pub(crate) const MOST_FILES: usize = 100;
/// The maximum size of the headers of a part.
const HEAD_BYTES: usize = 8 << 10;

/// A form as it was sent.
pub(crate) struct Form {
    boundary: String,
    sent: body::Sent,
}

/// A file of a form.
#[derive(Clone)]
pub(crate) struct FormPart {
    /// Its name, without folders.
    pub(crate) name: Option<String>,
    /// What the form says of it.
    pub(crate) declared: Declared,
    pub(crate) bytes: Bytes,
}

impl FormPart {
    /// What a body is that comes without a form.
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self {
            name: None,
            declared: Declared::new("", None),
            bytes: bytes.into(),
        }
    }
}

/// A file of a form that gets its own answer.
pub(crate) struct FormFile {
    /// Its number, starting at 1.
    pub(crate) number: u64,
    /// The names of all files of the form.
    names: Arc<[Option<String>]>,
    /// Its content, or why it is refused.
    pub(crate) raw: Result<Raw, Problem>,
}

impl FormFile {
    /// Its name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.names[self.number as usize - 1].as_deref()
    }

    /// The names of the files before it.
    pub(crate) fn before(&self) -> impl Iterator<Item = &str> {
        self.names[..self.number as usize - 1]
            .iter()
            .flatten()
            .map(String::as_str)
    }
}

/// Responds to a form with a line for each file. `work` processes one file at a time; memory is reserved for the results.
pub(crate) async fn answer<A: Serialize + 'static>(
    request: &HttpRequest,
    payload: Payload,
    state: &Data<ServerState>,
    work: impl Fn(&Editor<'_>, FormFile, &Mutex<Room>) -> A + Clone + Send + 'static,
) -> Result<HttpResponse, Problem> {
    let (parts, room) = body::files(request, payload, state).await?;
    let names: Arc<[Option<String>]> = parts.iter().map(|part| part.name.clone()).collect();
    let (declared, files): (Vec<_>, Vec<_>) = parts
        .into_iter()
        .map(|part| (part.declared, part.bytes))
        .unzip();
    let limits = state.limits;
    Ok(lines::answer_files(
        request,
        state,
        files.into_iter(),
        room,
        move |catalogue, files, room| {
            let files = files.into_iter().map(|StreamLine { number, content }| {
                let at = number as usize - 1;
                let raw = content.map(|bytes| {
                    let part = FormPart {
                        name: names[at].clone(),
                        declared: declared[at].clone(),
                        bytes,
                    };
                    Raw::of_form(part, room.lock().another(), limits)
                });
                work(
                    catalogue,
                    FormFile {
                        number,
                        names: Arc::clone(&names),
                        raw,
                    },
                    room,
                )
            });
            files.collect()
        },
    ))
}

/// Whether the body is a form.
pub(crate) fn is_form(request: &HttpRequest) -> bool {
    let kind = request
        .headers()
        .get(CONTENT_TYPE)
        .map(HeaderValue::as_bytes)
        .unwrap_or_default();
    kind.get(..FORM_DATA.len())
        .is_some_and(|kind| kind.eq_ignore_ascii_case(FORM_DATA.as_bytes()))
}

/// What separates the parts of the form.
pub(crate) fn boundary(request: &HttpRequest) -> Result<String, Problem> {
    let kind = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    multer::parse_boundary(kind).map_err(|_| {
        bad("the content type names no boundary; let the program that sends the form write the header, as curl -F does")
    })
}

impl Form {
    pub(crate) fn new(boundary: String, sent: body::Sent) -> Self {
        Self { boundary, sent }
    }

    /// Its files, at least one, with the memory reserved for them.
    pub(crate) fn files(self) -> Result<(Vec<FormPart>, Room), Problem> {
        let body::Sent { bytes, mut room } = self.sent;
        // While the form is read, it exists twice.
        room.grow(bytes.len())?;
        let parts = parts(bytes, &self.boundary)?;
        room.shrink_to(parts.iter().map(|part| part.bytes.len()).sum());
        Ok((parts, room))
    }

    /// Its only file.
    pub(crate) fn only_file(self) -> Result<(FormPart, Room), Problem> {
        let (files, room) = self.files()?;
        let number = files.len();
        match <[FormPart; 1]>::try_from(files) {
            Ok([file]) => Ok((file, room)),
            Err(_) => Err(bad(format!(
                "the form has {number} files, and this call takes one; send several to /v1/checks:batch, or to \
                 /v1/libraries/{{library}}/books"
            ))),
        }
    }
}

fn bad(why: impl Into<String>) -> Problem {
    Problem::new(ErrorCode::BadForm, why)
}

fn parts(bytes: Vec<u8>, boundary: &str) -> Result<Vec<FormPart>, Problem> {
    refuse_large_heads(&bytes, boundary)?;
    let all = stream::iter([Ok::<_, Infallible>(Bytes::from(bytes))]);
    let mut form = Multipart::new(all, boundary);
    let mut parts = Vec::new();
    while let Some(field) = at_once(form.next_field())? {
        parts.push(part(field)?);
    }
    if parts.is_empty() {
        return Err(bad(format!(
            "the form has no file; send it in a field named '{FIELD}': curl -F {FIELD}=@NAME"
        )));
    }
    Ok(parts)
}

/// Refuses forms with too many parts, or with headers that are too long, before they are parsed. The content of a part
/// does not contain the boundary (RFC 2046).
fn refuse_large_heads(bytes: &[u8], boundary: &str) -> Result<(), Problem> {
    let delimiter = format!("--{boundary}");
    for (number, at) in memmem::find_iter(bytes, delimiter.as_bytes()).enumerate() {
        let rest = &bytes[at + delimiter.len()..];
        if rest.starts_with(b"--") {
            break;
        }
        if number == MOST_FILES {
            let detail = format!(
                "a form may have at most {MOST_FILES} files; send the others in another request"
            );
            return Err(Problem::new(ErrorCode::TooManyFiles, detail));
        }
        if rest.len() > HEAD_BYTES && memmem::find(&rest[..HEAD_BYTES], b"\r\n\r\n").is_none() {
            return Err(bad(format!(
                "the headers of part {} are longer than {HEAD_BYTES} bytes",
                number + 1
            )));
        }
    }
    Ok(())
}

/// The result of reading from a form that has arrived completely: there is nothing to wait for.
fn at_once<T>(read: impl Future<Output = multer::Result<T>>) -> Result<T, Problem> {
    read.now_or_never().unwrap_or(Err(multer::Error::IncompleteStream)).map_err(|error| match error {
        multer::Error::IncompleteFieldData { .. } | multer::Error::IncompleteStream => {
            bad("the form ends early, or its boundary is not the one in the content type; send it again")
        }
        _ => bad("the headers of a part of the form cannot be read"),
    })
}

fn part(field: Field<'_>) -> Result<FormPart, Problem> {
    match field.name() {
        Some(FIELD) => {}
        name => {
            return Err(bad(format!(
                "the form has a field '{}'; send files in fields named '{FIELD}', and everything else in the query",
                excerpt(name.unwrap_or_default())
            )));
        }
    }
    let kind = field
        .headers()
        .get("content-type")
        .map(|kind| kind.to_str().unwrap_or("?").to_owned());
    let kind = kind.unwrap_or_default();
    if kind
        .trim_start()
        .to_ascii_lowercase()
        .starts_with("multipart/")
    {
        return Err(bad(
            "a part of the form is a form itself; send each file as a part of its own",
        ));
    }
    let declared = match field.content_type() {
        Some(mime) => Declared::new(
            mime.essence_str(),
            mime.get_param("charset").map(|name| name.as_str()),
        ),
        None => Declared::new("", None),
    };
    let name = field
        .file_name()
        .and_then(|name| name.rsplit(['/', '\\']).next());
    let name = name.filter(|name| !name.is_empty()).map(ToOwned::to_owned);
    let bytes = at_once(field.bytes())?;
    Ok(FormPart {
        name,
        declared,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FormPart, HEAD_BYTES, MOST_FILES, parts};

    fn read(form: &str) -> Result<Vec<FormPart>, String> {
        parts(form.as_bytes().to_vec(), "x").map_err(|problem| problem.details().detail)
    }

    fn file(head: &str, content: &str) -> String {
        format!("--x\r\nContent-Disposition: form-data; name=\"file\"{head}\r\n\r\n{content}\r\n")
    }

    #[test]
    fn files_and_their_names() {
        let form = [
            file("; filename=\"one.txt\"", "first\r\n--y\r\n"),
            file(
                "; filename=\"C:\\books\\Мир.txt\"\r\nContent-Type: text/plain; charset=koi8-r",
                "",
            ),
            file("", "third"),
            file("; filename=\"\"", "fourth"),
            file("; filename=\"a.jpg\"\r\nContent-Type: image/jpeg", "fifth"),
            file(
                "; filename=\"a\"\r\nContent-Type: text/plain; charset=klingon",
                "sixth",
            ),
        ];
        let parts = read(&(form.concat() + "--x--\r\n")).expect("a form");
        let shown: Vec<_> = parts
            .iter()
            .map(|part| {
                (
                    part.name.as_deref(),
                    part.declared.encoding.is_ok(),
                    str::from_utf8(&part.bytes).expect("text"),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                (Some("one.txt"), true, "first\r\n--y\r\n"),
                (Some("Мир.txt"), true, ""),
                (None, true, "third"),
                (None, true, "fourth"),
                (Some("a.jpg"), true, "fifth"),
                (Some("a"), false, "sixth"),
            ]
        );
        let encoding = parts[1]
            .declared
            .encoding
            .clone()
            .expect("a known one")
            .expect("a named one");
        assert_eq!(encoding.to_string().to_lowercase(), "koi8-r");
    }

    #[test]
    fn forms_that_are_refused() {
        let (one, end) = (file("", "text"), "--x--\r\n");
        let many = file("", "").repeat(MOST_FILES + 1) + end;
        let long = file(&format!("\r\nX-Long: {}", "a".repeat(HEAD_BYTES)), "") + end;
        let headers = file(&"\r\nX-A: b".repeat(40), "") + end;
        let nested = file(
            "\r\nContent-Type: Multipart/mixed; boundary=y",
            "--y\r\n\r\na\r\n--y--",
        ) + end;
        let field =
            "--x\r\nContent-Disposition: form-data; name=\"rights\"\r\n\r\nfree\r\n--x--\r\n";
        let table = [
            ("", "ends early"),
            ("--x--\r\n", "no file"),
            ("--x", "ends early"),
            ("--y\r\n\r\n\r\n--y--", "ends early"),
            (one.as_str(), "ends early"),
            (&one[..one.len() - 4], "ends early"),
            (&one[..20], "ends early"),
            ("--x\r\n\r\ntext\r\n--x--", "ends early"),
            ("--x\r\nX-A: b\r\n\r\ntext\r\n--x--", "a field ''"),
            ("--x\r\n: x\r\n\r\ntext\r\n--x--", "cannot be read"),
            (&(one.clone() + field), "a field 'rights'"),
            (&many, "at most 100 files"),
            (&long, "longer than 8192 bytes"),
            (&headers, "cannot be read"),
            (&nested, "a form itself"),
        ];
        for (form, why) in table {
            let problem = read(form).err().unwrap_or_else(|| panic!("{form}"));
            assert!(problem.contains(why), "{form}: {problem}");
        }
        assert_eq!(
            read(&(file("", "").repeat(MOST_FILES) + end))
                .expect("a form")
                .len(),
            MOST_FILES
        );
    }

    proptest! {
        /// Whatever files hold, they are read as they were sent.
        #[test]
        fn files_are_read_as_sent(files in prop::collection::vec("[-x\r\n a]{0,40}", 1..8)) {
            prop_assume!(files.iter().all(|file| !file.contains("--x")));
            let form: String = files.iter().map(|content| file("", content)).collect();
            let read = read(&(form + "--x--\r\n")).unwrap();
            let read: Vec<&str> = read.iter().map(|part| str::from_utf8(&part.bytes).unwrap()).collect();
            prop_assert_eq!(read, files);
        }

        /// No bytes cause a panic, and none are invented.
        #[test]
        fn any_bytes_are_read_or_refused(form in "(--x|\r\n|\r\n\r\n|--|Content-Disposition: form-data; name=\"?file|\"|;|=|\\\\|.){0,40}") {
            if let Ok(parts) = parts(form.as_bytes().to_vec(), "x") {
                prop_assert!(parts.iter().map(|part| part.bytes.len()).sum::<usize>() <= form.len());
            }
        }
    }
}
