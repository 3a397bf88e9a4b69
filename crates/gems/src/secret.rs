//! What only the owner of an index knows about a recipe.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The size of a secret in bytes.
const SIZE: usize = 32;

/// Draws the constants of a recipe: [`Recipe::with_secret`](crate::Recipe::with_secret). Whoever does not know it cannot tell
/// which parts of a text its gems stand for. Written as 64 hexadecimal digits, and shown nowhere.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Secret([u8; SIZE]);

impl Secret {
    /// A secret of random bytes. They have to come from the system's generator of random numbers for cryptography.
    #[must_use]
    pub fn new(random: [u8; SIZE]) -> Self {
        Self(random)
    }

    /// Eight digits that tell this secret from others, and say nothing about it.
    pub(crate) fn tag(&self) -> String {
        hex::encode(&self.block("name", 0)[..4])
    }

    /// Random numbers for the constants of a recipe, the same ones from the same secret.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        (0_u32..).map(|count| {
            let block = self.block("constants", count);
            block.first_chunk().copied().map_or(0, u64::from_le_bytes)
        })
    }

    /// A hash of the secret for one use of it.
    fn block(&self, of: &str, count: u32) -> [u8; 32] {
        let hash = Sha256::new()
            .chain_update(b"lapidary hardened ")
            .chain_update(of)
            .chain_update(count.to_le_bytes())
            .chain_update(self.0);
        hash.finalize().into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A text is no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a recipe's secret is 64 hexadecimal digits")]
pub struct NoSecret;

impl FromStr for Secret {
    type Err = NoSecret;

    fn from_str(written: &str) -> Result<Self, NoSecret> {
        let mut bytes = [0; SIZE];
        hex::decode_to_slice(written, &mut bytes).map_err(|_| NoSecret)?;
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Secret {
    type Error = NoSecret;

    fn try_from(written: String) -> Result<Self, NoSecret> {
        written.parse()
    }
}

impl From<Secret> for String {
    fn from(secret: Secret) -> Self {
        hex::encode(secret.0)
    }
}
