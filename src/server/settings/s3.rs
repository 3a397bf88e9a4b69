//! Arguments for buckets of S3.

use std::path::PathBuf;
use std::{env, fs};

use clap::Args;
use lapidary_harvest::{ObjectStore, S3Access};
use serde::{Deserialize, Serialize};

use super::defaults;
use crate::server::ServerError;

/// Buckets of S3, or of a server that speaks its protocol.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Buckets of S3")]
pub struct S3Arguments {
    /// The buckets whose objects checks and books may name (`s3://BUCKET/KEY`). Whoever may check, or add books, can name each
    /// object in them. Without any, the server reads no buckets
    #[arg(
        id = "s3_buckets",
        long = "s3-buckets",
        value_name = "BUCKET,…",
        env = "LAPIDARY_S3_BUCKETS",
        value_delimiter = ','
    )]
    pub buckets: Vec<String>,
    /// The address of the server that has them, which may be private. Without it, AWS
    #[arg(
        id = "s3_endpoint",
        long = "s3-endpoint",
        value_name = "URL",
        env = "LAPIDARY_S3_ENDPOINT"
    )]
    pub endpoint: Option<String>,
    /// The region of the buckets
    #[arg(
        id = "s3_region",
        long = "s3-region",
        value_name = "REGION",
        env = "LAPIDARY_S3_REGION",
        default_value = "us-east-1"
    )]
    pub region: String,
    /// The file with `ID:SECRET` of the access key. Without it, the variables `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` have them
    #[arg(
        id = "s3_credentials",
        long = "s3-credentials",
        value_name = "FILE",
        env = "LAPIDARY_S3_CREDENTIALS"
    )]
    pub credentials: Option<PathBuf>,
    /// The name of the key that may send notifications of the buckets, whose verdicts become tags. Without it, they are taken while
    /// there are no keys
    #[arg(
        id = "s3_key",
        long = "s3-key",
        value_name = "NAME",
        env = "LAPIDARY_S3_KEY"
    )]
    pub key: Option<String>,
}

impl Default for S3Arguments {
    fn default() -> Self {
        defaults()
    }
}

impl S3Arguments {
    /// The buckets, if there are any.
    ///
    /// # Errors
    /// [`ServerError::Buckets`].
    pub fn store(&self) -> Result<Option<ObjectStore>, ServerError> {
        if self.buckets.is_empty() {
            return Ok(None);
        }
        let store = self.access_key().and_then(|key| {
            ObjectStore::new(S3Access {
                endpoint: self.endpoint.clone(),
                region: self.region.clone(),
                key,
                buckets: self.buckets.clone(),
            })
        });
        store.map(Some).map_err(ServerError::Buckets)
    }

    /// The access key: `ID:SECRET`.
    fn access_key(&self) -> Result<String, String> {
        if let Some(file) = &self.credentials {
            return fs::read_to_string(file)
                .map_err(|error| format!("{}: {error}", file.display()));
        }
        let [id, secret] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(|name| {
            env::var(name).map_err(|_| format!("set {name}, or name a file with ID:SECRET"))
        });
        Ok(format!("{}:{}", id?, secret?))
    }

    /// Says what is wrong with them, if anything is.
    pub(super) fn verify(&self) -> Result<(), String> {
        let is_used = self.endpoint.is_some() || self.credentials.is_some() || self.key.is_some();
        if self.buckets.is_empty() && is_used {
            return Err("'s3' needs 'buckets', those that may be named".to_owned());
        }
        Ok(())
    }
}
