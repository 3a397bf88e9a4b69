//! Many files that are checked together.

use lapidary_catalogue::api::{Batch, Batches, NewBatch};
use serde_json::json;

use crate::{
    Endpoint, Input, Needs, Operation, OperationError, PageQuery, SentAs, Session, filled,
};

/// Makes a batch.
pub struct MakeBatch;

impl Input for NewBatch {
    fn sent_as() -> SentAs {
        SentAs::json::<Self>(json!({ "files": ["one.epub", "two.epub"] }))
    }
}

impl Operation for MakeBatch {
    type Path = ();
    type Input = NewBatch;
    type Answer = Batch;
    const CREATES: bool = true;
    const ENDPOINT: Endpoint = Endpoint::post("/v1/batches", Needs::Check)
        .named("make_batch", "Begin to check many files")
        .about(
            "Each file is then sent to `/v1/checks` with `record`, its `name` and this `batch`. The last 100 batches of a key are kept; \
             filed checks stay.",
        )
        .answers(&[(201, "It was made")]);

    fn place(batch: &Batch) -> Option<String> {
        Some(filled(ShowBatch::ENDPOINT.path, &[&batch.id]))
    }

    fn run(session: &Session<'_>, (): (), new: NewBatch) -> Result<Batch, OperationError> {
        Ok(session.batches().make(&new)?)
    }
}

/// Lists the batches of the caller.
pub struct ListBatches;

impl Operation for ListBatches {
    type Path = ();
    type Input = PageQuery;
    type Answer = Batches;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/batches", Needs::Check)
        .named("batches", "List the batches that the key made")
        .answers(&[(200, "A page of batches, newest first")]);

    fn run(session: &Session<'_>, (): (), query: PageQuery) -> Result<Batches, OperationError> {
        let limit = query.limit()?;
        let cursor = query.cursor.as_deref();
        Ok(session.batches().page(session.actor(), cursor, limit)?)
    }
}

/// Shows a batch.
pub struct ShowBatch;

impl Operation for ShowBatch {
    type Path = String;
    type Input = ();
    type Answer = Batch;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/batches/{batch}", Needs::Check)
        .named("batch", "Show a batch that the key made, with its files")
        .answers(&[(200, "The batch")]);

    fn run(session: &Session<'_>, id: String, (): ()) -> Result<Batch, OperationError> {
        Ok(session.batches().get(&id, session.actor())?)
    }
}
