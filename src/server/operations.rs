//! The one handler of all declared operations.

use std::sync::Arc;

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use jiff::Timestamp;
use lapidary_catalogue::api::{Finding, History};
use lapidary_catalogue::{CatalogueError, Editor, OnceRequest, Terms};
use lapidary_language::Language;
use lapidary_operations::{Endpoint, Host, Input, Operation, PathParameters, SentAs, Session};
use lapidary_store::Condition;
use utoipa::openapi::path::HttpMethod;

use super::access::{Needs, Visible};
use super::body::{self, Sent, WORDS};
use super::memory::Room;
use super::problem::Problem;
use super::turns::Lane;
use super::work::{Answer, work_shared};
use super::{ServerState, conditions, language, once, parameters, requests};

/// Reads a request, does what it asks for, and answers.
pub(super) async fn handle<O: Operation>(
    request: HttpRequest,
    payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let endpoint = O::ENDPOINT;
    let path = path::<O>(&request)?;
    let mut asked = AnswerTerms {
        own_path: request.uri().path().to_owned(),
        condition: conditions::of(request.headers())?,
        once: None,
    };
    let named = if O::CREATES {
        once::of(&request)?
    } else {
        None
    };
    if waits_for_the_disk(&endpoint) {
        requests::is_work_of(Lane::Changes);
    }
    let input = Received::<O::Input>::of(&request, payload, &state).await?;
    let libraries = Visible::to(&request);
    let language = language::preferred(&request);
    let host = Data::clone(&state);
    work_shared(&state, move |catalogue, actor| {
        if let Some(named) = named {
            asked.once = Some(named.with(input.body(), None).begin(catalogue, &actor)?);
        }
        let (input, mut room) = input.parsed()?;
        if let Some(text) = input.text() {
            room.grow_to_check(text, catalogue)?;
        }
        let session = Session::new(catalogue, actor, libraries, &**host).in_language(language);
        answered::<O>(session, path, input, asked)
    })
    .await
}

/// What a request asks of its answer, beside the operation.
struct AnswerTerms {
    own_path: String,
    condition: Condition,
    /// The request, if it takes effect once.
    once: Option<OnceRequest>,
}

/// Does what an operation asks for, under the condition of its request, and answers.
fn answered<O: Operation>(
    session: Session<'_>,
    path: O::Path,
    input: O::Input,
    asked: AnswerTerms,
) -> Result<Answer, Problem> {
    let AnswerTerms {
        own_path,
        condition,
        once,
    } = asked;
    if O::VERSION.is_none() && once.is_none() {
        return done::<O>(&session, path, input, own_path);
    }
    if let Some(version) = O::VERSION
        && O::ENDPOINT.method == HttpMethod::Get
    {
        // A change after this is not in the version that the client is told, and so is noticed.
        let version = version(&session, &path)?.unwrap_or_default();
        let answer = done::<O>(&session, path, input, own_path)?;
        return answer.if_wanted(&version, &condition);
    }
    let mut terms = Terms::new(conditions::of_versions(condition));
    if let Some(once) = once {
        terms = terms.once(once);
    }
    let terms = Arc::new(terms);
    let session = session.on(Arc::clone(&terms));
    let answer = terms.keep_during(|| done::<O>(&session, path, input, own_path))?;
    Ok(match terms.written().filter(|_| O::VERSION.is_some()) {
        Some(version) => answer.of_version(version.to_owned()),
        None => answer,
    })
}

fn done<O: Operation>(
    session: &Session<'_>,
    path: O::Path,
    input: O::Input,
    own_path: String,
) -> Result<Answer, Problem> {
    let answer = O::run(session, path, input)?;
    let place = O::place(&answer).unwrap_or(own_path);
    let answer = Answer::of_operation::<O>(&answer)?.at(place);
    Ok(if O::HAS_SENTENCES {
        answer.in_language(session.language)
    } else {
        answer
    })
}

/// What the placeholders in the path of an operation stand for.
pub(super) fn path<O: Operation>(request: &HttpRequest) -> Result<O::Path, Problem> {
    let segments = parameters::segments(request, &O::ENDPOINT)?;
    Ok(O::Path::of_segments(segments)?)
}

/// Whether a call of those who may only check changes something.
fn waits_for_the_disk(endpoint: &Endpoint) -> bool {
    endpoint.needs == Needs::Decisions && endpoint.method != HttpMethod::Get
}

/// The input of an operation, before it costs any work.
enum Received<I> {
    Parsed(I, Room),
    Json(Sent),
}

impl<I: Input> Received<I> {
    async fn of(
        request: &HttpRequest,
        payload: Payload,
        state: &ServerState,
    ) -> Result<Self, Problem> {
        let query = request.query_string();
        let parsed = match I::sent_as() {
            SentAs::Nothing => parameters::query("", "")?,
            SentAs::Query { known, .. } => parameters::query(query, known)?,
            SentAs::Json(_) => {
                parameters::none(query)?;
                let limit = if I::IS_LARGE { state.max_body } else { WORDS };
                let sent = body::body_of(body::JSON, request, payload, state, limit).await?;
                return Ok(Self::Json(sent));
            }
        };
        Ok(Self::Parsed(parsed, state.memory.room()))
    }

    /// The body, if there is one.
    fn body(&self) -> &[u8] {
        match self {
            Self::Parsed(..) => &[],
            Self::Json(sent) => &sent.bytes,
        }
    }

    /// The input, with the memory that is reserved for it.
    fn parsed(self) -> Result<(I, Room), Problem> {
        match self {
            Self::Parsed(input, room) => Ok((input, room)),
            Self::Json(sent) => sent.json(),
        }
    }
}

impl Host for ServerState {
    fn is_server(&self) -> bool {
        true
    }

    fn min_free(&self) -> u64 {
        self.min_free
    }

    fn certificate_until(&self) -> Option<Timestamp> {
        self.tls.as_ref().map(|tls| tls.until())
    }

    fn sign_in_fault(&self, language: Language) -> Option<Finding> {
        self.oidc.as_ref()?.fault(language)
    }

    fn last_hour(&self) -> History {
        self.history.last_hour()
    }

    fn revoke_key(&self, editor: &Editor<'_>, name: &str) -> Result<bool, CatalogueError> {
        let revoked = editor.keys().revoke_at_once(name);
        if matches!(
            revoked,
            Ok(true) | Err(CatalogueError::RevokedInMemory { .. })
        ) {
            self.access.forget(name);
        }
        revoked
    }
}
