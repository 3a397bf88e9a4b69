//! Commands, where they go, and their answers.

use redis::{Cmd, FromRedisValue, Script, ToRedisArgs, Value};

use super::keys::slot;

/// A command for the node that has a key.
#[derive(Clone)]
pub(super) struct Command {
    pub(super) key: Vec<u8>,
    pub(super) slot: u16,
    /// As it is sent.
    pub(super) bytes: Vec<u8>,
}

impl Command {
    /// A command whose first argument is its key.
    pub(super) fn new(name: &str, key: &[u8], arguments: impl ToRedisArgs) -> Self {
        let mut command = redis::cmd(name);
        command.arg(key).arg(arguments);
        Self::packed(key, &command)
    }

    /// A command with nothing but its key.
    pub(super) fn bare(name: &str, key: &[u8]) -> Self {
        Self::packed(key, redis::cmd(name).arg(key))
    }

    /// A script with all keys that it may touch, which are all of one slot. A node that has only some of them, because
    /// it is handing over the slot, then refuses it (`TRYAGAIN`).
    pub(super) fn script(script: &Script, keys: &[Vec<u8>], arguments: impl ToRedisArgs) -> Self {
        let mut command = redis::cmd("EVALSHA");
        command
            .arg(script.get_hash())
            .arg(keys.len())
            .arg(keys)
            .arg(arguments);
        Self::packed(keys.first().map_or(&[], Vec::as_slice), &command)
    }

    fn packed(key: &[u8], command: &Cmd) -> Self {
        Self {
            key: key.to_vec(),
            slot: slot(key),
            bytes: command.get_packed_command(),
        }
    }
}

/// The fields of a hash, and their values; `None` if an answer has another form.
pub(super) fn pairs(answer: Value) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let Value::Array(strings) = answer else {
        return None;
    };
    let mut strings = strings.into_iter().map(|string| match string {
        Value::BulkString(bytes) => Some(bytes),
        _ => None,
    });
    let mut pairs = Vec::with_capacity(strings.len() / 2);
    while let Some(field) = strings.next() {
        pairs.push((field?, strings.next()??));
    }
    Some(pairs)
}

/// Reads an answer; `None` if it has another form.
pub(super) fn read<T: FromRedisValue>(answer: Value) -> Option<T> {
    redis::from_redis_value(answer).ok()
}
