//! How to connect to the nodes: user, password, and TLS.
//!
//! The password is not part of the address, which other users of the machine can read, and which is shown in messages.

use std::{env, fs};

use redis::{
    Client, ConnectionAddr, IntoConnectionInfo as _, RedisConnectionInfo, RedisResult,
    TlsCertificates,
};

use super::address::ClusterAddress;
use lapidary_store::StoreError;

/// The variable with the password, and the one with the file that has it.
const PASSWORD: &str = "LAPIDARY_STORE_PASSWORD";
const PASSWORD_FILE: &str = "LAPIDARY_STORE_PASSWORD_FILE";
/// The variable with a file of certificates to trust instead of the public authorities.
const AUTHORITIES: &str = "LAPIDARY_CA";

/// The variable that says whether a change must be on disk, and not just in memory.
const ON_DISK: &str = "LAPIDARY_STORE_ON_DISK";

/// Whether changes must be on the disks of the nodes before they are acknowledged.
pub(super) fn must_be_on_disk() -> bool {
    env::var(ON_DISK).is_ok_and(|value| !["", "0", "false"].contains(&value.as_str()))
}

/// What a connection needs.
pub(super) struct Login {
    tls: bool,
    settings: RedisConnectionInfo,
    authorities: Option<Vec<u8>>,
}

impl Login {
    /// Reads the variables.
    pub(super) fn to(address: &ClusterAddress) -> Result<Self, StoreError> {
        let read = |variable: &str| {
            let file = env::var_os(variable).filter(|file| !file.is_empty());
            let failed = |file: &str, e: std::io::Error| StoreError::Io {
                path: format!("{variable}={file}"),
                detail: e.to_string(),
            };
            file.map(|file| fs::read(&file).map_err(|e| failed(&file.to_string_lossy(), e)))
                .transpose()
        };
        let in_file =
            read(PASSWORD_FILE)?.map(|bytes| String::from_utf8_lossy(&bytes).trim_end().to_owned());
        let password = env::var(PASSWORD)
            .ok()
            .or(in_file)
            .filter(|password| !password.is_empty());
        let mut settings = RedisConnectionInfo::default().set_skip_set_lib_name();
        if let Some(user) = &address.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = password {
            settings = settings.set_password(password);
        }
        let authorities = if address.tls {
            read(AUTHORITIES)?
        } else {
            None
        };
        Ok(Self {
            tls: address.tls,
            settings,
            authorities,
        })
    }

    /// A client of a node.
    pub(super) fn client(&self, node: &str) -> RedisResult<Client> {
        let (host, port) = node.rsplit_once(':').unwrap_or((node, ""));
        let (host, port) = (
            host.trim_matches(['[', ']']).to_owned(),
            port.parse().unwrap_or(0),
        );
        let address = if self.tls {
            ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                tls_params: None,
            }
        } else {
            ConnectionAddr::Tcp(host, port)
        };
        let info = address
            .into_connection_info()?
            .set_redis_settings(self.settings.clone());
        if !self.tls {
            return Client::open(info);
        }
        Client::build_with_tls(
            info,
            TlsCertificates {
                client_tls: None,
                root_cert: self.authorities.clone(),
            },
        )
    }
}
