//! Calls of the API from within the process. The console makes them for its users: they take the same routes as calls from
//! outside, and so the same access rules, limits, lanes and log lines.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use actix_http::Request;
use actix_service::{IntoServiceFactory as _, Service as _, ServiceFactory};
use actix_web::body::BoxBody;
use actix_web::dev::{AppConfig, Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderMap;
use actix_web::http::{Method, Uri};
use actix_web::middleware::from_fn;
use actix_web::web::{self, Data};
use actix_web::{App, Error, HttpMessage as _, HttpRequest, HttpResponse};
use futures_util::future::LocalBoxFuture;
use lapidary_gems::RecipeName;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

pub(crate) use super::access::{ClientLimit, is_from_own_page, is_here};
use super::oidc::Oidc;
use super::outgoing::{Outgoing, PIECE};
use super::problem::Problem;
pub(crate) use super::requests::of_address;
pub(crate) use super::turns::Client;
use super::{ServerState, requests, routes};
use lapidary_catalogue::api::{self, Key};
use lapidary_catalogue::{AccessDenied, Catalogue, CatalogueError};
use lapidary_common::error::{Classified as _, ErrorCode};

/// The application of the API, which each worker has once for its connections and once for calls from within.
pub(super) fn app(
    state: Data<ServerState>,
) -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<BoxBody>,
        Error = Error,
        InitError = (),
    >,
> {
    App::new()
        .app_data(state)
        .wrap(from_fn(requests::observe))
        .configure(routes::configure)
}

/// For whom a call from within is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Insider {
    /// For anyone who can connect, on a server that asks for no key.
    Anyone,
    /// For the holder of the key with this id.
    Key(String),
    /// For whoever started the server, and could change its folder as well.
    Local,
}

/// A call from within.
pub(crate) struct InsideCall {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Payload,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) by: Insider,
    /// A report as a page is to be part of another page.
    pub(crate) as_part: bool,
}

/// A report as a page is to be part of another page.
#[derive(Clone, Copy)]
pub(super) struct AsPart;

type Answering = LocalBoxFuture<'static, Result<ServiceResponse, Error>>;

/// The API of one worker, for calls from within.
pub(crate) struct Inside {
    state: Data<ServerState>,
    service: OnceCell<Box<dyn Fn(Request) -> Answering>>,
}

impl Inside {
    pub(super) fn new(state: Data<ServerState>) -> Rc<Self> {
        Rc::new(Self {
            state,
            service: OnceCell::new(),
        })
    }

    /// Makes a call.
    pub(crate) async fn call(&self, asked: InsideCall) -> HttpResponse {
        let service = self.service.get_or_init(|| async {
            let service = app(self.state.clone())
                .into_factory()
                .new_service(AppConfig::default())
                .await;
            let Ok(service) = service else {
                unreachable!("routes are made without errors")
            };
            Box::new(move |request| -> Answering { Box::pin(service.call(request)) }) as Box<_>
        });
        let InsideCall {
            method,
            uri,
            headers,
            payload,
            peer,
            by,
            as_part,
        } = asked;
        let mut request = Request::with_payload(payload);
        let head = request.head_mut();
        (head.method, head.uri, head.headers, head.peer_addr) = (method, uri, headers, peer);
        request.extensions_mut().insert(by);
        if as_part {
            request.extensions_mut().insert(AsPart);
        }
        match (service.await)(request).await {
            Ok(response) => response.into_parts().1,
            Err(error) => error.error_response(),
        }
    }

    /// The body of a page. A long one is sent in pieces, with the memory reserved for it.
    pub(crate) fn body(&self, page: impl Into<Vec<u8>>) -> Result<BoxBody, Box<api::Problem>> {
        let page = page.into();
        if page.len() <= PIECE {
            return Ok(BoxBody::new(page));
        }
        let mut room = self.state.memory.room();
        room.grow(page.len()).map_err(told)?;
        Ok(BoxBody::new(Outgoing::new(page, room)))
    }

    /// Asks the catalogue. If the store is elsewhere, not on a thread that serves connections.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Catalogue) -> Result<T, CatalogueError> + Send + 'static,
    ) -> Result<T, Box<api::Problem>> {
        let catalogue = Arc::clone(&self.state.catalogue);
        if !catalogue.is_shared() {
            return act(&catalogue).map_err(told);
        }
        let answer = web::block(move || act(&catalogue)).await;
        answer
            .map_err(|_| {
                told(Problem::new(
                    ErrorCode::Internal,
                    "the server stopped in the middle of it",
                ))
            })?
            .map_err(told)
    }

    /// Whether calls of whoever sent a request need no key.
    pub(crate) fn is_open_to(&self, request: &HttpRequest) -> Result<bool, Box<api::Problem>> {
        self.state
            .access
            .is_open_to(request.peer_addr(), &self.state.catalogue)
            .map_err(told)
    }

    /// Refuses requests that a page of another site may have sent, or that go to a name that others can claim.
    pub(crate) fn approve(&self, headers: &HeaderMap) -> Result<(), Box<api::Problem>> {
        self.state.access.approve(headers).map_err(told)
    }

    /// The key with this id, while it is valid.
    pub(crate) fn key(&self, id: &str) -> Result<Option<Arc<Key>>, Box<api::Problem>> {
        self.state.catalogue.keys().valid(id).map_err(told)
    }

    /// The identity provider with which people sign in, if there is one.
    pub(crate) fn oidc(&self) -> Option<&Arc<Oidc>> {
        self.state.oidc.as_ref()
    }

    /// The key of a secret, or why there is none.
    pub(crate) fn key_of(
        &self,
        secret: &str,
    ) -> Result<Result<Arc<Key>, AccessDenied>, Box<api::Problem>> {
        self.state.catalogue.keys().of_secret(secret).map_err(told)
    }

    /// Counts what a client does, in all servers together. Returns whether it is within its limit.
    pub(crate) async fn is_within(
        &self,
        limit: &ClientLimit,
        client: &Client,
    ) -> Result<bool, Box<api::Problem>> {
        let counted = limit.count(&self.state.catalogue, client).await;
        counted.map(|wait| wait.is_none()).map_err(told)
    }

    /// Whether the server itself speaks TLS.
    pub(crate) fn has_tls(&self) -> bool {
        self.state.tls.is_some()
    }

    /// The recipe of checks without the text.
    pub(crate) fn portable_recipe(&self) -> Option<RecipeName> {
        self.state.catalogue.recipes().portable()
    }

    /// Why the server makes no backups, if it makes none.
    pub(crate) fn why_no_backups(&self) -> Option<ErrorCode> {
        self.state
            .catalogue
            .jobs()
            .offers_backups()
            .err()
            .map(|error| error.code())
    }

    /// The largest body of a request, in bytes.
    pub(crate) fn max_body(&self) -> usize {
        self.state.max_body
    }
}

fn told(problem: impl Into<Problem>) -> Box<api::Problem> {
    Box::new(problem.into().details())
}
